#include <fmt/format.h>

#include "document/field.hpp"
#include "graph/op_text.hpp"
#include "graph/published.hpp"
#include "io/number_text.hpp"
#include "prediction/shapes.hpp"
#include "report/data_reports.hpp"
#include "roofcast/decoder_figures.hpp"
#include "roofcast/op_graph.hpp"

namespace roofcast {

namespace {

/// `sizes`: what the user set; else the model's own.
Run default_run(const Workload& workload, const Run& sizes = {}) {
    Run run = sizes;
    run.precision = workload.default_precision;
    return run;
}

std::string verdict(const Agreement& agreement) {
    if (!agreement.worst) return "no published figure";
    return agreement.holds ? "agrees" : "DISAGREES";
}

Table operators(const OpGraph& graph) {
    struct Row {
        const Segment& segment;
        const OpNode& node;
        [[nodiscard]] double repeat() const { return static_cast<double>(node.repeat); }
    };
    const Fields<Row> fields{
        {{"segment", "segment", Show::wide}, [](const Row& row) { return row.segment.name; }},
        {{"repeat", "×"}, [](const Row& row) { return row.segment.repeat * row.node.repeat; }},
        {{"operator", "operator", Show::always}, [](const Row& row) { return row.node.name; }},
        {{"op", "kind", Show::wide}, [](const Row& row) { return op_class(row.node.op); }},
        {{"shape", "shape", Show::usual, true}, [](const Row& row) { return sizes_text(row.node.op); }},
        {{"gflops", "GFLOPs", Show::always}, [](const Row& row) { return op_flops(row.node.op).in(gflop)*row.repeat(); }},
        {{"parameters", "parameters", 12}, [](const Row& row) { return row.node.weights * row.repeat(); }}};
    std::vector<Row> rows;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) rows.push_back({segment, node});
    }
    return table_of("Operators at the default shape", rows, fields);
}

Table weights_by_precision(const Workload& workload, const Run& sizes) {
    // Convolutions have no weights in fewer bits than they compute in.
    const bool convolves = std::holds_alternative<ConvNet>(workload.architecture);
    const auto weights = [&](const std::string& format) {
        Run run = default_run(workload, sizes);
        run.weights = parse_weight_format(format).value();
        if (run.weights->precision == Precision::fp32 || convolves) run.precision = run.weights->precision;
        return weight_size(forward_graph(workload, run, Lowering{}));
    };
    const Fields<std::string> fields{{{"precision", "precision"}, std::identity{}}, {{"weights_gb", "GB"}, weights, gb}};
    std::vector<std::string> formats{"fp32", "fp16", "bf16", "int8", "int4"};
    if (convolves) formats.pop_back();
    return table_of("Weights by precision", formats, fields);
}

/// What publishers of language models state beside the parameters.
void add_decoder_figures(const Workload& workload, const DecoderLlm& decoder, double all_parameters, Report& report) {
    const DecoderParameters parameters = decoder_parameters(decoder);
    Run run = default_run(workload);
    if (workload.native_cache) run.kv_precision = workload.native_cache;
    const double token = cache_per_token(decoder, run).in(byte), fixed = fixed_cache(decoder, run).in(byte);
    const double with_embedding = parameters.active + (decoder.tied_embeddings ? 0 : parameters.tables / 2);
    const double checkpoint = all_parameters + parameters.prediction;
    report.document.update({{"language_parameters", parameters.all},
                            {"active_parameters", parameters.active},
                            {"active_parameters_with_embedding", with_embedding},
                            {"prediction_parameters", parameters.prediction},
                            {"checkpoint_parameters", checkpoint},
                            {"kv_precision", name(run.cache_precision())},
                            {"kv_bytes_per_token", token},
                            {"kv_bytes_per_sequence", fixed}});
    const auto add = [&report](const char* name, std::string value) { report.facts.emplace_back(name, std::move(value)); };
    add("active", fmt::format("{:.0f} parameters a token, {:.0f} with the input embedding", parameters.active, with_embedding));
    if (parameters.prediction > 0)
        add("checkpoint",
            fmt::format("{:.0f} parameters, with the multi-token prediction modules that ordinary decoding leaves out", checkpoint));
    add("KV cache", fmt::format("{:.0f} bytes a token in {}{}", token, name(run.cache_precision()),
                                fixed > 0 ? fmt::format(", and {:.0f} bytes a sequence (windows, states)", fixed) : std::string()));
}

}  // namespace

Report model_list_report(const std::vector<Workload>& workloads) {
    struct Listed {
        const Workload& workload;
        Agreement agreement;
    };
    constexpr double mega = 1e6, percent = 100;
    const auto gmacs = [](const Listed& l) {
        const Published& published = l.workload.published;
        return published.gmacs || !published.gflops ? published.gmacs : std::optional(*published.gflops / 2);
    };
    const Fields<Listed> fields{
        {{"id", "id", Show::always}, [](const Listed& l) { return l.workload.id; }},
        {{"family", "family", Show::always}, [](const Listed& l) { return l.workload.family; }},
        {{"parameters_millions", "parameters M", Show::always}, [](const Listed& l) { return l.agreement.parameters / mega; }},
        {{"gmacs", "GMACs", Show::always}, [](const Listed& l) { return l.agreement.gmacs; }},
        {{"published_parameters_millions", "published M", Show::wide},
         [](const Listed& l) {
             const auto& published = l.workload.published.parameters;
             return published ? Cell(*published / mega) : Cell();
         }},
        {{"published_gmacs", "published GMACs", Show::wide}, gmacs},
        {{"deviation_percent", "deviation %", 2, Show::wide},
         [](const Listed& l) { return l.agreement.worst ? Cell(*l.agreement.worst * percent) : Cell(); }},
        {{"agreement", "published figures", Show::usual, false, tone_of("DISAGREES", Tone::bad)},
         [](const Listed& l) { return verdict(l.agreement); }}};
    std::vector<Listed> listed;
    for (const Workload& workload : workloads) listed.push_back({workload, agreement_with_published(workload)});
    return table_report("models", table_of({}, listed, fields));
}

Report model_report(const Workload& workload, const Run& sizes) {
    const OpGraph graph = forward_graph(workload, default_run(workload, sizes), Lowering{});
    const Agreement agreement = agreement_with_published(workload, sizes);
    Report report;
    report.document = {{"id", workload.id},
                       {"name", workload.name},
                       {"family", workload.family},
                       {"aliases", workload.aliases},
                       {"source", workload.source},
                       {"file", workload.file},
                       {"parameters", agreement.parameters},
                       {"notes", workload.notes},
                       {"gmacs", total_macs(graph) / 1e9},
                       {"gflops", total_flops(graph).in(gflop)},
                       {"published_agreement", verdict(agreement)}};
    report.before = {fmt::format("{} ({}, {})", workload.name, workload.id, workload.family)};
    report.facts = {{"source", workload.source},
                    {"parameters", fmt::format("{:.0f}", agreement.parameters)},
                    {"default pass",
                     fmt::format("{} GMACs, {} GFLOPs", significant(total_macs(graph) / 1e9), significant(total_flops(graph).in(gflop)))},
                    {"published", agreement.worst ? fmt::format("{} within {} % ({})", verdict(agreement),
                                                                significant(100 * *agreement.worst, 2), workload.published.source)
                                                  : std::string("no figures")}};
    if (const DecoderLlm* decoder = language_model(workload)) add_decoder_figures(workload, *decoder, agreement.parameters, report);
    add_lines(report.after, workload.notes, "note: ");
    report.tables = {operators(graph), weights_by_precision(workload, sizes)};
    report.document["operators"] = as_json(report.tables[0]);
    report.document["weights"] = as_json(report.tables[1]);
    return report;
}

}  // namespace roofcast
