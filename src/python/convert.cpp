#include "python/bindings.hpp"

namespace roofcast::python {

py::object to_python(const nlohmann::ordered_json& json) {
    using Type = nlohmann::ordered_json::value_t;
    switch (json.type()) {
        case Type::boolean:
            return py::bool_(json.get<bool>());
        case Type::number_integer:
            return py::int_(json.get<std::int64_t>());
        case Type::number_unsigned:
            return py::int_(json.get<std::uint64_t>());
        case Type::number_float:
            return py::float_(json.get<double>());
        case Type::string:
            return py::str(json.get_ref<const std::string&>());
        case Type::array: {
            py::list list;
            for (const auto& inner : json) list.append(to_python(inner));
            return list;
        }
        case Type::object: {
            py::dict dict;
            for (const auto& [key, inner] : json.items()) dict[py::str(key)] = to_python(inner);
            return dict;
        }
        default:
            return py::none();
    }
}

py::object to_python(const Cell& cell) {
    return std::visit(
        [](const auto& value) -> py::object {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
                return py::none();
            } else {
                return py::cast(value);
            }
        },
        cell);
}

}  // namespace roofcast::python
