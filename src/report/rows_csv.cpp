#include <fmt/format.h>

#include <iterator>

#include "document/table.hpp"
#include "graph/op_text.hpp"
#include "measurement/row_text.hpp"
#include "report/validation_report.hpp"

namespace roofcast {

namespace {

constexpr std::string_view header =
    "gpu,op,function,kernel,model,precision,weight_precision,shape,metric,measured,predicted,roofline,ape_percent,compute_us,dram_us,l2_us,"
    "launch_us,power_us,"
    "communication_us,host_us,bound,launch,cache,software,source,repeats,spread,file,line,family,phase,"
    "low,high\n";

/// The columns from `measured` to `bound`.
std::string prediction_fields(const JudgedRow& row) {
    std::string out = fmt::format("{:.6g},{:.12g},{},{:.4g},", row.measured, row.predicted,
                                  row.roofline ? fmt::format("{:.6g}", *row.roofline) : "", row.ape_percent());
    if (!row.terms) return out + ",,,,,,,";
    const PredictedTerms& t = *row.terms;
    for (const Seconds term : {t.compute, t.dram, t.l2, t.launch, t.power, t.communication})
        fmt::format_to(std::back_inserter(out), "{:.5g},", term.in(us));
    if (t.host) fmt::format_to(std::back_inserter(out), "{:.5g}", t.host->in(us));
    return out + ',' + t.bound;
}

/// The columns `low` and `high`.
std::string interval_fields(const JudgedRow& row) {
    if (!row.low || !row.high) return ",\n";
    return fmt::format("{:.6g},{:.6g}\n", *row.low, *row.high);
}

/// The columns from `software` to `line`.
std::string origin_fields(const Origin& origin, const Repeats& repeats) {
    return fmt::format("{},{},{},{:.4g},{},{},", csv_field(origin.software), csv_field(origin.source), repeats.rows, repeats.spread,
                       csv_field(origin.file), origin.line);
}

void add_kernel(std::string& out, const JudgedRow& row, const KernelRow& k) {
    fmt::format_to(std::back_inserter(out), "{},{},{},{},,{},{},{},latency_us,{},{},{},{}", csv_field(k.gpu), k.op_name,
                   csv_field(k.function), csv_field(k.kernel), name(k.precision), k.weights ? name(*k.weights) : "", shape_text(k.op),
                   prediction_fields(row), k.launch_included ? "included" : "excluded", name(k.cache),
                   origin_fields(k.origin, k.repeats) + ",," + interval_fields(row));
}

void add_model(std::string& out, const JudgedRow& row, const ModelRow& m) {
    fmt::format_to(std::back_inserter(out), "{},{},{},,{},{},{},{},{},{},{},,{}", csv_field(m.gpu), m.block ? m.block->op_name : "model",
                   m.block ? csv_field(m.block->function) : "", csv_field(m.model), m.precision ? name(*m.precision) : "",
                   m.weights ? name(*m.weights) : "", csv_field(shape_text(m)), name(m.metric), prediction_fields(row),
                   !m.block                   ? ""
                   : m.block->launch_included ? "included"
                                              : "excluded",
                   origin_fields(m.origin, m.repeats) + csv_field(m.family) + ',' + csv_field(m.phase) + ',' + interval_fields(row));
}

}  // namespace

std::string rows_csv(const Validation& validation, const Measurements& measurements) {
    std::string out(header);
    for (const JudgedRow& row : validation.rows) {
        if (row.is_model) {
            add_model(out, row, measurements.models[row.index]);
        } else {
            add_kernel(out, row, measurements.kernels[row.index]);
        }
    }
    return out;
}

}  // namespace roofcast
