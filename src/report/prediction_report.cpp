#include "report/prediction_report.hpp"

#include <fmt/format.h>

#include "report/run_parts.hpp"

namespace roofcast {

namespace {

nlohmann::ordered_json techniques_of(const Techniques& t) {
    const auto speculation = [&t](auto get) { return t.speculation ? cell_of(std::invoke(get, *t.speculation)) : Cell(); };
    return {{"cached_prefix", t.cached_prefix},
            {"prefill_chunk", as_json(count_cell(t.prefill_chunk))},
            {"kv_block", t.kv_block},
            {"offload", t.offload},
            {"draft", as_json(speculation([](const Speculation& s) { return s.draft->id; }))},
            {"draft_tokens", as_json(speculation(&Speculation::tokens))},
            {"acceptance", as_json(speculation(&Speculation::acceptance))}};
}

nlohmann::ordered_json outcome_of(const SpeculationOutcome& o) {
    return {{"tokens_per_iteration", o.tokens_per_iteration},
            {"iteration_ms", o.iteration.in(ms)},
            {"plain_tpot_ms", o.plain_tpot.in(ms)},
            {"speedup", o.speedup}};
}

nlohmann::ordered_json document_of(const NamedPrediction& n) {
    const Prediction& p = n.prediction;
    nlohmann::ordered_json document = json_of(n, prediction_fields());
    document.erase("assumed");  // below, in full
    const Run& run = p.request;
    document["image_size"] = as_json(count_cell(run.image_size));
    for (const auto& [symbol, size] : run.dimensions) document["dimensions"][symbol] = size;
    const auto if_it_runs = [&p](Cell cell) { return as_json(p.runs() ? cell : Cell()); };
    if (p.step) {
        document["steps"] = run.steps;
        document["step_ms"] = if_it_runs(p.step->in(ms));
    }
    document["kv_precision"] = name(run.cache_precision());
    document["parallel"] = parallel_json(run.parallel);
    document["pcie"] = as_json(cell_of(p.pcie));
    if (run.techniques.any()) document["techniques"] = techniques_of(run.techniques);
    if (p.speculation) document["speculation"] = p.runs() ? outcome_of(*p.speculation) : nlohmann::ordered_json();
    document["cold_start_extra_ms"] = if_it_runs(p.cold_extra.in(ms));
    document["phases"] = as_json(phase_table(p));
    document["memory"] = as_json(memory_table(p.memory)).front();
    document["memory"]["largest_batch"] = as_json(p.memory.usable ? Cell(n.advice.largest_batch) : Cell());
    document["memory"]["largest_context"] = as_json(p.memory.usable && p.ttft ? Cell(n.advice.largest_context) : Cell());
    document["memory"]["remedies"] = n.advice.remedies;
    document["obstacle"] = as_json(text_cell(obstacle(p)));
    document["withheld"] = p.withheld;
    document["notes"] = p.notes;
    document["assumed"] = as_json(n.assumed);
    return document;
}

/// Adds the reasons to `document`, and their tables to `tables` with `prefix` before each title.
void add_explanation(const NamedPrediction& n, const std::string& prefix, nlohmann::ordered_json& document, std::vector<Table>& tables) {
    const auto add = [&](Table table) {
        table.title = prefix + table.title;
        tables.push_back(std::move(table));
    };
    auto phases = nlohmann::ordered_json::array();
    for (const Phase& phase : n.prediction.phases) {
        if (!n.prediction.runs()) break;
        Table operators = costliest_operators(phase, n.gpu->profile), fused = fused_operators(phase);
        phases.push_back({{"phase", phase.name}, {"operators", as_json(operators)}, {"fused", as_json(fused)}});
        add(std::move(operators));
        if (!fused.rows.empty()) add(std::move(fused));
    }
    Table parameters = used_parameters(n.prediction, *n.gpu);
    document["explain"] = {{"phases", phases}, {"parameters", as_json(parameters)}};
    add(std::move(parameters));
}

/// That it fits, and how much more would.
std::vector<std::string> memory_lines(const NamedPrediction& n) {
    const MemoryEstimate& m = n.prediction.memory;
    if (!m.usable) return {"Whether it fits is not known: the device has no capacity of its own."};
    if (!*m.fits()) return {};
    const bool language = n.prediction.ttft.has_value();
    return {fmt::format("It fits. Largest batch at this size: {}.{}", n.advice.largest_batch,
                        language ? fmt::format(" Longest context at this batch: {} tokens.", n.advice.largest_context) : "")};
}

/// The figures of one prediction, its phases and its memory.
void add_answer(const NamedPrediction& named, Report& report) {
    const Prediction& p = named.prediction;
    report.before = {headline(named)};
    add_lines(report.before, obstacle_lines(named));
    report.facts = result_facts(named);
    if (p.runs()) report.tables.push_back(phase_table(p));
    report.tables.push_back(memory_table(p.memory));
    report.after = memory_lines(named);
}

}  // namespace

Report prediction_report(const std::vector<NamedPrediction>& predictions, bool explain) {
    Report report;
    report.csv = table_of({}, predictions, prediction_fields());
    const bool one = predictions.size() == 1;
    if (one) {
        add_answer(predictions.front(), report);
    } else {
        report.tables.push_back(report.csv);
    }
    auto& list = report.document["predictions"] = nlohmann::ordered_json::array();
    std::vector<std::string> assumed;
    for (const NamedPrediction& named : predictions) {
        list.push_back(document_of(named));
        const std::string what = one ? "" : fmt::format("{} on {}", named.model_id, named.gpu_id), gpu = one ? "" : named.gpu_id + ": ";
        if (explain) add_explanation(named, one ? "" : what + ", ", list.back(), report.tables);
        if (!one) add_lines(report.after, obstacle_lines(named), what + ": ");
        add_once(report.after, named.prediction.notes, "note: " + gpu);
        add_once(assumed, assumed_lines(named.assumed, gpu));
    }
    add_lines(report.after, assumed);
    return report;
}

}  // namespace roofcast
