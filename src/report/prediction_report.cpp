#include "report/prediction_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/describe.hpp"
#include "report/explain_report.hpp"
#include "report/prediction_lines.hpp"
#include "report/prediction_tables.hpp"

namespace roofcast {

std::vector<std::string> assumed_lines(const std::vector<Assumption>& assumed, const std::string& prefix) {
    constexpr std::size_t most = 3;
    std::vector<std::string> lines;
    if (assumed.size() > most) {
        std::vector<std::string> keys;
        for (const Assumption& a : assumed) keys.push_back(a.key);
        lines.push_back(fmt::format("{}assumed: {} values that the profile does not state: {}. `roofcast gpu show` gives them.", prefix,
                                    assumed.size(), fmt::join(keys, ", ")));
        return lines;
    }
    for (const Assumption& a : assumed) lines.push_back(fmt::format("{}assumed: {} = {} ({})", prefix, a.key, a.value, a.reason));
    return lines;
}

std::string assumed_keys(const std::vector<Assumption>& assumed) {
    std::string keys;
    for (const Assumption& a : assumed) keys += (keys.empty() ? "" : ";") + a.key;
    return keys;
}

nlohmann::ordered_json as_json(const std::vector<Assumption>& assumed) {
    auto list = nlohmann::ordered_json::array();
    for (const Assumption& a : assumed) list.push_back({{"key", a.key}, {"value", a.value}, {"reason", a.reason}});
    return list;
}

namespace {

nlohmann::ordered_json techniques_of(const Techniques& t) {
    nlohmann::ordered_json document{{"cached_prefix", t.cached_prefix},
                                    {"prefill_chunk", t.prefill_chunk},
                                    {"kv_block", t.kv_block},
                                    {"offload", t.offload},
                                    {"draft", nullptr},
                                    {"draft_tokens", nullptr},
                                    {"acceptance", nullptr}};
    if (t.prefill_chunk == 0) document["prefill_chunk"] = nullptr;
    if (t.speculation) {
        document["draft"] = t.speculation->draft->id;
        document["draft_tokens"] = t.speculation->tokens;
        document["acceptance"] = t.speculation->acceptance;
    }
    return document;
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
    document["image_size"] = run.image_size > 0 ? nlohmann::ordered_json(run.image_size) : nlohmann::ordered_json();
    for (const auto& [symbol, size] : run.dimensions) document["dimensions"][symbol] = size;
    if (p.step) {
        document["steps"] = run.steps;
        document["step_ms"] = p.runs() ? nlohmann::ordered_json(p.step->in(ms)) : nlohmann::ordered_json();
    }
    document["kv_precision"] = std::string(name(run.cache_precision()));
    document["parallel"] = parallel_json(run.parallel);
    document["pcie"] = p.pcie ? nlohmann::ordered_json(name(*p.pcie)) : nlohmann::ordered_json();
    if (p.request.techniques.any()) document["techniques"] = techniques_of(p.request.techniques);
    if (p.speculation) document["speculation"] = p.runs() ? outcome_of(*p.speculation) : nlohmann::ordered_json();
    document["cold_start_extra_ms"] = p.runs() ? nlohmann::ordered_json(p.cold_extra.in(ms)) : nlohmann::ordered_json();
    document["phases"] = as_json(phase_table(p));
    document["memory"] = as_json(memory_table(p.memory)).front();
    const auto known = [&p](std::int64_t largest, bool has) {
        return has && p.memory.usable ? nlohmann::ordered_json(largest) : nlohmann::ordered_json();
    };
    document["memory"]["largest_batch"] = known(n.advice.largest_batch, true);
    document["memory"]["largest_context"] = known(n.advice.largest_context, p.ttft.has_value());
    document["memory"]["remedies"] = n.advice.remedies;
    document["obstacle"] = p.runs() ? nlohmann::ordered_json() : nlohmann::ordered_json(obstacle(p));
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

/// The figures of one prediction, its phases and its memory.
void add_answer(const NamedPrediction& named, Report& report) {
    const Prediction& p = named.prediction;
    report.before = {headline(named)};
    for (std::string& line : obstacle_lines(named)) report.before.push_back(std::move(line));
    report.facts = result_facts(named);
    if (p.runs()) report.tables.push_back(phase_table(p));
    report.tables.push_back(memory_table(p.memory));
    report.after = memory_lines(named);
}

}  // namespace

Report prediction_report(const std::vector<NamedPrediction>& predictions, bool explain) {
    Report report;
    std::vector<Table> explanations;
    const bool one = predictions.size() == 1;
    auto list = nlohmann::ordered_json::array();
    std::vector<std::string> assumed;
    const auto once = [](std::vector<std::string>& lines, std::string line) {
        if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
    };
    report.csv = table_of<NamedPrediction>({}, predictions, prediction_fields());
    if (one) {
        add_answer(predictions.front(), report);
    } else {
        report.tables.push_back(report.csv);
    }
    for (const NamedPrediction& named : predictions) {
        list.push_back(document_of(named));
        const std::string what = one ? "" : fmt::format("{} on {}", named.model_id, named.gpu_id);
        if (explain) add_explanation(named, one ? "" : what + ", ", list.back(), explanations);
        for (const auto& line : obstacle_lines(named)) {
            if (!one) report.after.push_back(what + ": " + line);
        }
        const std::string gpu = one ? "" : named.gpu_id + ": ";
        for (const auto& text : named.prediction.notes) once(report.after, fmt::format("note: {}{}", gpu, text));
        for (std::string& line : assumed_lines(named.assumed, gpu)) once(assumed, std::move(line));
    }
    report.after.insert(report.after.end(), assumed.begin(), assumed.end());
    report.document["predictions"] = std::move(list);
    for (Table& explanation : explanations) report.tables.push_back(std::move(explanation));
    return report;
}

}  // namespace roofcast
