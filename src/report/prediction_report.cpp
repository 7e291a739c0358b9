#include <fmt/format.h>

#include <ranges>
#include <span>

#include "io/number_text.hpp"
#include "prediction/longest_phase.hpp"
#include "report/run_parts.hpp"
#include "report/run_reports.hpp"

namespace roofcast {

namespace {

/// Bounds of the figures but the latency, for JSON and CSV.
Fields<Prediction> more_bounds() {
    using Intervals = PredictionIntervals;
    const auto bounds = [](const char* key, auto factors) {
        const auto figure = picked(time_fields<Prediction>(), {key}).front().cell;
        return bound_fields<Prediction>(key, 4, Show::data, figure, [factors](const Prediction& p) {
            return p.intervals ? std::optional<IntervalRatio>(std::invoke(factors, *p.intervals)) : std::nullopt;
        });
    };
    const auto inverse = [](const Intervals& i) { return std::optional(IntervalRatio{1 / i.latency.high, 1 / i.latency.low}); };
    return bounds("ttft_ms", &Intervals::ttft) + bounds("tpot_ms", &Intervals::tpot) + bounds("throughput_per_s", inverse) +
           bounds("tokens_per_s", inverse) +
           part_fields(&Prediction::intervals,
                       {{{"interval_percent", "interval %", Show::data}, [](const Intervals&) { return interval_percent; }},
                        {{"interval_basis", "interval from", Show::data}, &Intervals::basis}});
}

/// A row a phase; none where the prediction does not run.
Table phase_table(const Prediction& p) {
    const Fields<Phase> fields{{{"phase", "phase", Show::always}, &Phase::name},
                               {{"passes", "passes"}, &Phase::launches},
                               {{"latency_ms", "latency ms", Show::always}, &Phase::latency, ms},
                               {{"pass_ms", "ms a pass"}, [](const Phase& x) { return x.timeline.total; }, ms},
                               {{"gpu_busy_ms", "GPU busy ms", Show::wide}, [](const Phase& x) { return x.timeline.gpu_busy; }, ms},
                               {{"host_ms", "CPU ms", Show::wide}, [](const Phase& x) { return x.timeline.host; }, ms},
                               {{"kernels", "kernels", Show::wide}, [](const Phase& x) { return x.timeline.kernels; }},
                               {{"bound", "bound", Show::always}, &Phase::bound},
                               {{"flops_per_byte", "FLOPs/byte"}, &Phase::intensity, FlopsPerByte{1}}};
    return table_of({}, p.phases | std::views::filter([&p](const Phase&) { return p.runs(); }),
                    fields + part_fields(&Phase::utilization, utilization_fields()));
}

Table memory_table(const MemoryEstimate& m) {
    const Fields<MemoryEstimate> usable{{{"capacity_gb", "usable"}, &MemoryEstimate::usable, gb}};
    return table_of("Memory of one GPU, GB", std::span(&m, 1), memory_part_fields("") + usable + picked(memory_fields(), {"fits"}));
}

/// " (1.41 s to 1.7 s)"; empty where no interval is known.
std::string interval_text(const std::optional<IntervalRatio>& factor, Seconds t) {
    if (!factor) return {};
    return fmt::format(" ({} to {})", readable_time(factor->low * t.in(s)), readable_time(factor->high * t.in(s)));
}
std::string interval_text(const std::optional<IntervalRatio>& factor, double rate) {
    if (!factor) return {};
    return fmt::format(" ({} to {})", significant(rate / factor->high, 3), significant(rate / factor->low, 3));
}

Fields<Techniques> technique_fields() {
    return Fields<Techniques>{{{"cached_prefix", "cached prefix"}, &Techniques::cached_prefix},
                              {{"prefill_chunk", "prefill chunk"}, &Techniques::prefill_chunk, count_cell},
                              {{"kv_block", "KV block"}, &Techniques::kv_block},
                              {{"offload", "offload"}, &Techniques::offload}} +
           part_fields(&Techniques::speculation, speculation_fields());
}

Json outcome_of(const SpeculationOutcome& o) {
    return {{"tokens_per_iteration", o.tokens_per_iteration},
            {"iteration_ms", o.iteration.in(ms)},
            {"plain_tpot_ms", o.plain_tpot.in(ms)},
            {"speedup", o.speedup}};
}

Json document_of(const NamedPrediction& n) {
    const Prediction& p = n.prediction;
    Json document = json_of(n, prediction_fields());
    document.erase("assumed");  // below, in full
    const Run& run = p.request;
    document["image_size"] = count_cell(run.image_size);
    for (const auto& [symbol, size] : run.dimensions) document["dimensions"][symbol] = size;
    const auto if_it_runs = [&p](Cell cell) { return as_json(p.runs() ? cell : Cell()); };
    if (p.step) {
        document["steps"] = run.steps;
        document["step_ms"] = if_it_runs(p.step->in(ms));
    }
    document["kv_precision"] = name(run.cache_precision());
    document["parallel"] = parallel_json(run.parallel);
    document["pcie"] = cell_of(p.pcie);
    if (run.techniques.any()) document["techniques"] = json_of(run.techniques, technique_fields());
    if (p.speculation) document["speculation"] = p.runs() ? outcome_of(*p.speculation) : Json();
    document["cold_start_extra_ms"] = if_it_runs(p.cold_extra.in(ms));
    document["phases"] = as_json(phase_table(p));
    document["memory"] = as_json(memory_table(p.memory)).front();
    document["memory"]["largest_batch"] = p.memory.usable ? Cell(n.advice.largest_batch) : Cell();
    document["memory"]["largest_context"] = as_json(p.memory.usable && p.ttft ? Cell(n.advice.largest_context) : Cell());
    document["memory"]["remedies"] = n.advice.remedies;
    document["obstacle"] = text_cell(obstacle(p));
    document["withheld"] = p.withheld;
    document["notes"] = p.notes;
    document["assumed"] = as_json(n.assumed);
    return document;
}

/// Adds the reasons to `document`, and their tables to `tables` with `prefix` before each title.
void add_explanation(const NamedPrediction& n, const std::string& prefix, Json& document, std::vector<Table>& tables) {
    const auto add = [&](Table table) {
        table.title = prefix + table.title;
        add_table(tables, std::move(table));
    };
    auto phases = Json::array();
    for (const Phase& phase : n.prediction.phases) {
        if (!n.prediction.runs()) break;
        Table operators = costliest_operators(phase, n.gpu->profile), fused = fused_operators(phase);
        phases.push_back({{"phase", phase.name}, {"operators", as_json(operators)}, {"fused", as_json(fused)}});
        add(std::move(operators));
        add(std::move(fused));
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
    add_table(report.tables, phase_table(p));
    report.tables.push_back(memory_table(p.memory));
    report.after = memory_lines(named);
}

}  // namespace

Fields<NamedPrediction> prediction_fields() {
    const auto of_run = [](std::initializer_list<std::string_view> keys) {
        return part_fields(&Prediction::request, picked(run_fields(), keys));
    };
    const Fields<Prediction> output{{{"output_tokens", "output", Show::setting},
                                     [](const Prediction& p) { return p.ttft ? Cell(p.request.generate_tokens) : Cell(); }}};
    const Fields<Prediction> bound{{{"bound", "bound", Show::wide}, [](const Prediction& p) { return longest_phase(p).bound; }}};
    using Named = NamedPrediction;
    return Fields<Named>{{{"model", "model", Show::always}, &Named::model_id}, {{"gpu", "GPU", Show::always}, &Named::gpu_id}} +
           part_fields(&Named::prediction, of_run({"precision", "weights", "batch", "prompt_tokens"}) + output + of_run({"execution"}) +
                                               if_it_runs(time_fields<Prediction>()) + part_fields(&Prediction::memory, memory_fields()) +
                                               if_it_runs(bound)) +
           Fields<Named>{{{"assumed", "assumed", Show::data}, [](const Named& n) { return assumed_keys(n.assumed); }}} +
           part_fields(&Named::prediction, if_it_runs(more_bounds()));
}

std::string headline(const NamedPrediction& n) {
    const Run& run = n.prediction.request;
    std::string text = fmt::format("{} on {}: {}", n.model_name, n.gpu_name, name(run.precision));
    if (const std::string label = run.weight_format().label; !label.empty()) text += fmt::format(" with {} weights", label);
    if (run.expert_weights) text += fmt::format(" with {} experts", name(*run.expert_weights));
    text += fmt::format(", batch {}{}", run.batch, tokens_text(n.prediction));
    if (run.image_size > 0) text += fmt::format(", {} pixels", run.image_size);
    text += parallel_text(run.parallel);
    if (n.prediction.ttft && element_size(run.cache_precision()) < element_size(activation_precision(run.precision)))
        text += fmt::format(", KV cache in {}", name(run.cache_precision()));
    text += fmt::format(", {}", name(run.execution));
    if (!run.software.empty()) text += fmt::format(" under {}", run.software);
    if (run.channels_last) text += *run.channels_last ? ", channels last" : ", channels first";
    if (run.streams > 1) text += fmt::format(", {} streams", *run.streams);
    return text;
}

std::vector<std::pair<std::string, std::string>> result_facts(const NamedPrediction& n) {
    const Prediction& p = n.prediction;
    if (!p.runs()) return {};
    const PredictionIntervals known = p.intervals.value_or(PredictionIntervals{});
    const auto latency = latency_interval(p);
    std::vector<std::pair<std::string, std::string>> facts;
    const auto add = [&facts](const char* name, std::string value) { facts.emplace_back(name, std::move(value)); };
    const auto add_time = [&](const char* name, const std::optional<Seconds>& t, const std::optional<IntervalRatio>& interval) {
        if (t) add(name, readable_time(t->in(s)) + interval_text(interval, *t));
    };
    add_time("latency", p.latency, latency);
    add_time("TTFT", p.ttft, known.ttft);
    add_time("TPOT", p.tpot, known.tpot);
    if (p.step)
        add("step",
            fmt::format("{}, {} steps/s of {} in an image", readable_time(p.step->in(s)), significant(1 / p.step->in(s)), p.request.steps));
    const double rate = p.tokens_per_second.value_or(p.items_per_second);
    add("throughput",
        fmt::format("{} {}{}", significant(rate), p.tokens_per_second ? "output tokens/s" : "items/s", interval_text(latency, rate)));
    if (p.intervals) add("interval", fmt::format("{} % of measurements, from {}", interval_percent, known.basis));
    add("first run", fmt::format("about {} more (assumed, not in the latency)", readable_time(p.cold_extra.in(s))));
    add("bound by", longest_phase(p).bound);
    return facts;
}

Report prediction_report(const std::vector<NamedPrediction>& predictions, bool explain) {
    Report report;
    report.csv = table_of({}, predictions, prediction_fields());
    const bool one = predictions.size() == 1;
    if (one) {
        add_answer(predictions.front(), report);
    } else {
        report.tables.push_back(report.csv);
    }
    auto& list = report.document["predictions"] = Json::array();
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
