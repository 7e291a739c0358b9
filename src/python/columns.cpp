#include "python/columns.hpp"

#include "python/bindings.hpp"

namespace roofcast::python {

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
py::buffer_info buffer_of(std::vector<T>& values, const std::string& format) {
    return {values.data(), static_cast<py::ssize_t>(sizeof(T)), format, 1, {values.size()}, {sizeof(T)}, true};
}

py::buffer_info buffer(PythonColumn& column) {
    return std::visit(
        [](auto& values) {
            using Value = typename std::decay_t<decltype(values)>::value_type;
            const bool is_flag = std::is_same_v<Value, std::uint8_t>;
            return buffer_of(values, is_flag ? "?" : py::format_descriptor<Value>::format());
        },
        column.values);
}

template <class To>
std::vector<To> converted(const std::vector<double>& numbers) {
    std::vector<To> values;
    values.reserve(numbers.size());
    for (const double number : numbers) values.push_back(static_cast<To>(number));
    return values;
}

}  // namespace

std::int32_t ColumnBuilder::code_of(const std::string& text) {
    const auto [place, is_new] = known_.emplace(text, static_cast<std::int32_t>(categories.size()));
    if (is_new) categories.push_back(text);
    return place->second;
}

void ColumnBuilder::add_number(double number) {
    numbers.resize(rows, no_number);
    numbers.push_back(number);
}

void ColumnBuilder::add(const Cell& cell) {
    if (const auto* fraction = std::get_if<double>(&cell)) {
        add_number(*fraction);
        has_fraction = true;
    } else if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
        add_number(static_cast<double>(*whole));
        has_whole = true;
    } else if (const auto* flag = std::get_if<bool>(&cell)) {
        add_number(*flag ? 1 : 0);
        has_flag = true;
    } else if (const auto* text = std::get_if<std::string>(&cell)) {
        codes.resize(rows, -1);
        codes.push_back(code_of(*text));
    } else {
        has_null = true;
    }
    ++rows;
}

void ColumnBuilder::append(const ColumnBuilder& other) {
    has_null = has_null || other.has_null;
    has_fraction = has_fraction || other.has_fraction;
    has_whole = has_whole || other.has_whole;
    has_flag = has_flag || other.has_flag;
    if (!other.numbers.empty()) {
        numbers.resize(rows, no_number);
        numbers.insert(numbers.end(), other.numbers.begin(), other.numbers.end());
    }
    if (!other.codes.empty()) {
        std::vector<std::int32_t> own;
        for (const std::string& text : other.categories) own.push_back(code_of(text));
        codes.resize(rows, -1);
        for (const std::int32_t code : other.codes) codes.push_back(code < 0 ? -1 : own[static_cast<std::size_t>(code)]);
    }
    rows += other.rows;
}

PythonColumn finished(ColumnBuilder column) {
    const bool only_flags = column.has_flag && !column.has_null && !column.has_fraction && !column.has_whole;
    const bool only_whole = column.has_whole && !column.has_null && !column.has_fraction && !column.has_flag;
    PythonColumn done;
    column.numbers.resize(column.codes.empty() ? column.rows : 0, no_number);
    if (!column.codes.empty()) {
        column.codes.resize(column.rows, -1);
        done.texts = true;
        done.categories = std::move(column.categories);
        done.values = std::move(column.codes);
    } else if (only_flags) {
        done.values = converted<std::uint8_t>(column.numbers);
    } else if (only_whole) {
        done.values = converted<std::int64_t>(column.numbers);
    } else {
        done.values = std::move(column.numbers);
    }
    return done;
}

void bind_columns(py::module_& m) {
    py::class_<PythonColumn, std::shared_ptr<PythonColumn>>(m, "Column", py::buffer_protocol())
        .def_buffer(&buffer)
        .def("__len__",
             [](const PythonColumn& column) { return std::visit([](const auto& values) { return values.size(); }, column.values); })
        .def_readonly("texts", &PythonColumn::texts)
        .def_property_readonly("categories", [](const PythonColumn& column) { return column.categories; });
}

}  // namespace roofcast::python
