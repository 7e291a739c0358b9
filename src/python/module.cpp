#include "python/bindings.hpp"
#include "roofcast/version.hpp"

PYBIND11_MODULE(_roofcast, m) {
    using namespace roofcast::python;
    m.doc() = "The C++ part of the package, which alone uses it.";
    m.attr("version") = std::string(roofcast::named_version().substr(sizeof "roofcast"));
    bind_errors(m);
    bind_reports(m);
    bind_answers(m);
    bind_data(m);
    bind_columns(m);
    bind_sweeps(m);
    bind_steps(m);
}
