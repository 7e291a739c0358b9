#include <fmt/format.h>

#include <iterator>

#include "report/describe.hpp"
#include "report/validation_report.hpp"

namespace roofcast {

namespace {

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

constexpr std::string_view header =
    "gpu,op,function,model,precision,shape,metric,measured,predicted,roofline,ape_percent,compute_us,dram_us,l2_us,launch_us,power_us,"
    "communication_us,bound,launch,cache,software,source,repeats,spread,file,line\n";

std::string roofline_text(const JudgedRow& row) {
    return row.roofline ? fmt::format("{:.6g}", *row.roofline) : "";
}

void add_kernel(std::string& out, const JudgedRow& row, const KernelRow& k, const KernelCost& c) {
    fmt::format_to(
        std::back_inserter(out),
        "{},{},{},,{},{},latency_us,{:.6g},{:.6g},{},{:.4g},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g},{},{},{},{},{},{},{:.4g},{},{}\n",
        csv_field(k.gpu), k.op_name, csv_field(k.function), name(k.precision), shape_text(k.op), row.measured, row.predicted,
        roofline_text(row), row.ape_percent(), c.compute.in(us), c.dram.in(us), c.l2.in(us), c.launch.in(us), c.power.in(us),
        c.communication.in(us), name(c.bound), k.launch_included ? "included" : "excluded", name(k.cache), csv_field(k.origin.software),
        csv_field(k.origin.source), k.repeats.rows, k.repeats.spread, csv_field(k.origin.file), k.origin.line);
}

void add_model(std::string& out, const JudgedRow& row, const ModelRow& m) {
    fmt::format_to(std::back_inserter(out), "{},model,,{},{},{},{},{:.6g},{:.6g},{},{:.4g},,,,,,,,,,{},{},{},{:.4g},{},{}\n",
                   csv_field(m.gpu), csv_field(m.model), name(m.precision), csv_field(shape_text(m)), name(m.metric), row.measured,
                   row.predicted, roofline_text(row), row.ape_percent(), csv_field(m.origin.software), csv_field(m.origin.source),
                   m.repeats.rows, m.repeats.spread, csv_field(m.origin.file), m.origin.line);
}

}  // namespace

std::string rows_csv(const Validation& validation, const Measurements& measurements,
                     const std::function<const Gpu*(const std::string&)>& gpu) {
    std::string out(header);
    for (const JudgedRow& row : validation.rows) {
        if (row.is_model) {
            add_model(out, row, measurements.models[row.index]);
            continue;
        }
        const KernelRow& k = measurements.kernels[row.index];
        const Gpu* known = gpu(k.gpu);
        add_kernel(out, row, k, known != nullptr ? predicted_cost(k, *known) : KernelCost{});
    }
    return out;
}

}  // namespace roofcast
