#include "document/html.hpp"
#include "document/html_fragment.hpp"
#include "document/svg.hpp"
#include "document/text_table.hpp"
#include "python/bindings.hpp"

namespace roofcast::python {

namespace {

/// Keys of the main table, and its columns as lists.
py::dict table_columns(const Report& report) {
    const Table& table = report.data();
    py::dict columns;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        py::list values;
        for (const auto& row : table.rows) values.append(to_python(row[c]));
        columns[py::str(table.columns[c].key)] = values;
    }
    return columns;
}

py::list charts(const Report& report) {
    py::list drawn;
    for (const Chart& chart : report.charts) {
        if (chart.has_points()) drawn.append(as_svg(chart));
    }
    return drawn;
}

}  // namespace

void bind_reports(py::module_& m) {
    py::class_<Report, std::shared_ptr<Report>>(m, "Report")
        .def("document", [](const Report& report) { return to_python(report.document); })
        .def("columns", &table_columns)
        .def("charts", &charts)
        .def(
            "text", [](const Report& report, std::size_t width) { return as_text(report, {.width = width}); }, py::arg("width") = 0)
        .def("fragment", &as_html_fragment)
        .def("page", &as_html);
}

}  // namespace roofcast::python
