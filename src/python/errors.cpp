#include <algorithm>
#include <cctype>

#include "cli/option_names.hpp"
#include "document/texts.hpp"
#include "io/field_names.hpp"
#include "python/bindings.hpp"

namespace roofcast::python {

namespace {

/// "--attention-dp" as a keyword.
std::string keyword_of(std::string_view option) {
    std::string keyword(option.substr(std::min(option.size(), option.find_first_not_of('-'))));
    std::replace(keyword.begin(), keyword.end(), '-', '_');
    return keyword;
}

std::optional<std::string> keyword_of_field(std::string_view field) {
    const auto options = cli::field_options();
    const auto known = std::find_if(options.begin(), options.end(), [field](const cli::FieldOption& one) { return one.field == field; });
    return known == options.end() ? std::nullopt : std::optional(keyword_of(known->option));
}

bool is_of_option(char c) {
    return std::islower(static_cast<unsigned char>(c)) != 0 || c == '-';
}

/// Options that stand in running text, as keywords.
std::string without_dashes(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const bool begins = (at == 0 || !is_of_option(text[at - 1])) && text.substr(at).starts_with("--") && at + 2 < text.size() &&
                            std::islower(static_cast<unsigned char>(text[at + 2])) != 0;
        if (!begins) {
            out += text[at++];
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && is_of_option(text[end])) ++end;
        out += keyword_of(text.substr(at, end - at));
        at = end;
    }
    return out;
}

/// Raises the exception `kind` of the package's `_errors` with all fields.
void raise(const char* kind, const Error& error) {
    const ErrorDetail detail = with_keywords(error.detail());
    const py::object line = detail.line == 0 ? py::object(py::none()) : py::object(py::int_(detail.line));
    const auto text = [](const std::string& value) { return value.empty() ? py::object(py::none()) : py::object(py::str(value)); };
    const py::object type = py::module_::import("roofcast._errors").attr(kind);
    const py::object raised = type(Error(detail).what(), text(detail.what), text(detail.file), line, text(detail.key), text(detail.found),
                                   text(detail.expected), text(detail.suggestion));
    PyErr_SetObject(type.ptr(), raised.ptr());
}

}  // namespace

std::string with_keywords(std::string_view text) {
    return without_dashes(with_field_names(text, keyword_of_field, Backquotes::dropped));
}

ErrorDetail with_keywords(ErrorDetail detail) {
    detail = with_field_names(std::move(detail), keyword_of_field, Backquotes::dropped);
    for (std::string* text : {&detail.what, &detail.key, &detail.expected, &detail.suggestion}) *text = without_dashes(*text);
    if (detail.what == "unknown option") {
        detail.what = "unknown keyword";
        detail.found = without_dashes(detail.found);
    }
    return detail;
}

Report with_keywords(Report report) {
    return with_texts(std::move(report), [](std::string_view text) { return with_keywords(text); });
}

void bind_errors(py::module_& m) {
    static_cast<void>(m);
    py::register_exception_translator([](std::exception_ptr thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const NoAnswer& e) {
            raise("NoAnswer", e);
        } catch (const Error& e) {
            raise("Error", e);
        }
    });
}

}  // namespace roofcast::python
