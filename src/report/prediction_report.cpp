#include "report/prediction_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/explain_report.hpp"

namespace roofcast {

std::string assumed_line(const Assumption& a) {
    return fmt::format("assumed: {} = {} ({})", a.key, a.value, a.reason);
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

Cell optional_ms(const std::optional<Seconds>& t) {
    return t ? Cell(t->in(ms)) : Cell();
}
Cell optional_number(const std::optional<double>& x) {
    return x ? Cell(*x) : Cell();
}
Cell optional_gb(const std::optional<Bytes>& b) {
    return b ? Cell(b->in(gb)) : Cell();
}

std::string main_bound(const Prediction& p) {
    const Phase* longest = nullptr;
    for (const Phase& phase : p.phases) {
        if (longest == nullptr || phase.latency > longest->latency) longest = &phase;
    }
    return longest == nullptr ? "" : longest->bound;
}

std::string weights_label(const RunShape& shape) {
    return shape.weights.label.empty() ? std::string(name(shape.weights.precision)) : shape.weights.label;
}

std::vector<Column> summary_columns() {
    return {{"model", "model"},
            {"gpu", "GPU"},
            {"precision", "precision"},
            {"weights", "weights"},
            {"batch", "batch"},
            {"prompt_tokens", "prompt"},
            {"output_tokens", "output"},
            {"execution", "execution"},
            {"latency_ms", "latency ms"},
            {"ttft_ms", "TTFT ms"},
            {"tpot_ms", "TPOT ms"},
            {"throughput_per_s", "items/s"},
            {"tokens_per_s", "tokens/s"},
            {"memory_gb", "memory GB", 3},
            {"capacity_gb", "of GB", 3},
            {"fits", "fits"},
            {"bound", "bound"}};
}

/// What the machine-readable forms hold beside the columns of the text table.
std::vector<Column> csv_columns() {
    auto columns = summary_columns();
    columns.push_back({"assumed", "assumed"});
    return columns;
}

/// Bounds of the 80 % interval; of rates, from the inverses of the times' factors. Empty where no interval is known.
std::vector<std::pair<Column, Cell>> interval_cells(const Prediction& p) {
    std::vector<std::pair<Column, Cell>> cells;
    const bool known = p.intervals && p.withheld.empty();
    const auto add = [&](const std::string& key, const std::optional<double>& value, const std::optional<IntervalRatio>& factor) {
        std::optional<double> low, high;
        if (known && value && factor) {
            low = *value * factor->low;
            high = *value * factor->high;
        }
        cells.emplace_back(Column{key + "_low", key + " low"}, optional_number(low));
        cells.emplace_back(Column{key + "_high", key + " high"}, optional_number(high));
    };
    const PredictionIntervals i = p.intervals.value_or(PredictionIntervals{});
    const IntervalRatio rate{1 / i.latency.high, 1 / i.latency.low};
    const auto in_ms = [](const std::optional<Seconds>& t) { return t ? std::optional<double>(t->in(ms)) : std::nullopt; };
    add("latency_ms", in_ms(p.latency), i.latency);
    add("ttft_ms", in_ms(p.ttft), i.ttft);
    add("tpot_ms", in_ms(p.tpot), i.tpot);
    add("throughput_per_s", p.items_per_second, rate);
    add("tokens_per_s", p.tokens_per_second, rate);
    Cell percent, basis;
    if (known) {
        percent = std::int64_t{interval_percent};
        basis = i.basis;
    }
    cells.emplace_back(Column{"interval_percent", "interval %"}, std::move(percent));
    cells.emplace_back(Column{"interval_basis", "interval from"}, std::move(basis));
    return cells;
}

/// The summary, and beside it the interval: what JSON and CSV hold. The text table of several predictions does without.
void add_intervals(Table& table, const NamedPrediction& n) {
    const bool first = table.rows.size() == 1;
    for (auto& [column, cell] : interval_cells(n.prediction)) {
        if (first) table.columns.push_back(column);
        table.rows.back().push_back(std::move(cell));
    }
}

/// " (1.41 s to 1.7 s, 80 % interval)"; empty where no interval is known.
std::string interval_text(const std::optional<IntervalRatio>& factor, Seconds t) {
    if (!factor) return {};
    return fmt::format(" ({} to {}, {} % interval)", readable_time(factor->low * t.in(s)), readable_time(factor->high * t.in(s)),
                       interval_percent);
}
std::string interval_text(const std::optional<IntervalRatio>& factor, double rate) {
    if (!factor) return {};
    return fmt::format(" ({} to {})", significant(rate / factor->high, 3), significant(rate / factor->low, 3));
}

std::vector<Cell> summary_row(const NamedPrediction& n) {
    const Prediction& p = n.prediction;
    const RunShape& shape = p.request.shape;
    const bool shown = p.withheld.empty();
    const auto unless_withheld = [shown](Cell cell) { return shown ? cell : Cell(); };
    return {n.model_id,
            n.gpu_id,
            std::string(name(shape.precision)),
            weights_label(shape),
            shape.batch,
            p.ttft || shape.prompt_tokens > 0 ? Cell(shape.prompt_tokens) : Cell(),
            p.ttft ? Cell(shape.generate_tokens) : Cell(),
            std::string(name(p.request.execution)),
            unless_withheld(p.latency.in(ms)),
            unless_withheld(optional_ms(p.ttft)),
            unless_withheld(optional_ms(p.tpot)),
            unless_withheld(p.items_per_second),
            unless_withheld(optional_number(p.tokens_per_second)),
            p.memory.total().in(gb),
            optional_gb(p.memory.capacity),
            p.memory.fits(),
            main_bound(p)};
}

std::vector<Cell> csv_row(const NamedPrediction& n) {
    auto row = summary_row(n);
    row.emplace_back(assumed_keys(n.assumed));
    return row;
}

Table phase_table(const Prediction& p) {
    Table table;
    table.columns = {{"phase", "phase"},
                     {"passes", "passes"},
                     {"latency_ms", "latency ms"},
                     {"pass_ms", "a pass ms"},
                     {"gpu_busy_ms", "GPU busy ms"},
                     {"host_ms", "host ms"},
                     {"kernels", "kernels"},
                     {"bound", "bound"},
                     {"flops_per_byte", "FLOPs/byte"},
                     {"compute_percent", "% of peak", 3},
                     {"bandwidth_percent", "% of bandwidth", 3},
                     {"power_percent", "% of TDP", 3}};
    for (const Phase& phase : p.phases) {
        const Timeline& t = phase.timeline;
        table.rows.push_back({phase.name, phase.passes, phase.latency.in(ms), t.total.in(ms), t.gpu_busy.in(ms), t.host.in(ms), t.kernels,
                              phase.bound, phase.intensity.in(FlopsPerByte{1}), 100 * phase.utilization.compute,
                              100 * phase.utilization.bandwidth, 100 * phase.utilization.power});
    }
    return table;
}

Table memory_table(const MemoryEstimate& m) {
    Table table{.title = "memory of one GPU, GB"};
    table.columns = {{"weights_gb", "weights"},
                     {"kv_cache_gb", "KV cache"},
                     {"activations_gb", "activations"},
                     {"overhead_gb", "framework"},
                     {"total_gb", "total"},
                     {"capacity_gb", "capacity"},
                     {"fits", "fits"}};
    table.rows.push_back({m.weights.in(gb), m.kv_cache.in(gb), m.activations.in(gb), m.overhead.in(gb), m.total().in(gb),
                          optional_gb(m.capacity), m.fits()});
    return table;
}

std::string headline(const NamedPrediction& n) {
    const RunShape& shape = n.prediction.request.shape;
    std::string text = fmt::format("{} on {}: {}", n.model_name, n.gpu_name, name(shape.precision));
    if (!shape.weights.label.empty()) text += fmt::format(" with {} weights", shape.weights.label);
    text += fmt::format(", batch {}", shape.batch);
    if (n.prediction.ttft) text += fmt::format(", {} prompt and {} output tokens", shape.prompt_tokens, shape.generate_tokens);
    if (!n.prediction.ttft && shape.prompt_tokens > 0) text += fmt::format(", {} tokens", shape.prompt_tokens);
    if (shape.image_size > 0) text += fmt::format(", {} pixels", shape.image_size);
    if (shape.parallel.gpus() > 1)
        text += fmt::format(", {} GPUs (tp {}, pp {}, dp {}{})", shape.parallel.gpus(), shape.parallel.tensor, shape.parallel.pipeline,
                            shape.parallel.data, shape.parallel.expert > 1 ? fmt::format(", ep {}", shape.parallel.expert) : "");
    return text + fmt::format(", {}", name(n.prediction.request.execution));
}

std::vector<std::string> result_lines(const NamedPrediction& n) {
    const Prediction& p = n.prediction;
    std::vector<std::string> lines{headline(n), ""};
    if (!p.withheld.empty()) {
        lines.push_back(fmt::format("No total: no kernel model covers {}.", fmt::join(p.withheld, ", ")));
        return lines;
    }
    const PredictionIntervals known = p.intervals.value_or(PredictionIntervals{});
    const auto latency = p.intervals ? std::optional(known.latency) : std::nullopt;
    lines.push_back(fmt::format("latency      {}{}", readable_time(p.latency.in(s)), interval_text(latency, p.latency)));
    if (p.ttft) lines.push_back(fmt::format("TTFT         {}{}", readable_time(p.ttft->in(s)), interval_text(known.ttft, *p.ttft)));
    if (p.tpot) lines.push_back(fmt::format("TPOT         {}{}", readable_time(p.tpot->in(s)), interval_text(known.tpot, *p.tpot)));
    if (p.tokens_per_second)
        lines.push_back(fmt::format("throughput   {} output tokens/s{}", significant(*p.tokens_per_second),
                                    interval_text(latency, *p.tokens_per_second)));
    if (!p.tokens_per_second)
        lines.push_back(
            fmt::format("throughput   {} items/s{}", significant(p.items_per_second), interval_text(latency, p.items_per_second)));
    if (p.intervals) lines.push_back(fmt::format("intervals    from {}", known.basis));
    lines.push_back(fmt::format("first run    {} more (not in the latency)", readable_time(p.cold_extra.in(s))));
    lines.push_back(fmt::format("bound by     {}", main_bound(p)));
    return lines;
}

std::vector<std::string> memory_lines(const NamedPrediction& n) {
    const MemoryEstimate& m = n.prediction.memory;
    if (!m.capacity) return {};
    std::vector<std::string> lines;
    const bool language = n.prediction.ttft.has_value();
    if (m.fits()) {
        lines.push_back(fmt::format("It fits. Largest batch at this size: {}.{}", n.advice.largest_batch,
                                    language ? fmt::format(" Longest context at this batch: {} tokens.", n.advice.largest_context) : ""));
        return lines;
    }
    lines.push_back(fmt::format("It does not fit: {:.1f} GB too much. The times assume that it did.", (m.total() - *m.capacity).in(gb)));
    lines.push_back(n.advice.remedies.empty()
                        ? std::string("Nothing among fewer bits, up to 16 GPUs, both together, smaller batch or context makes it fit.")
                        : fmt::format("What would fit: {}.", fmt::join(n.advice.remedies, "; ")));
    return lines;
}

nlohmann::ordered_json document_of(const NamedPrediction& n) {
    const Prediction& p = n.prediction;
    Table summary{.columns = summary_columns()};
    summary.rows.push_back(summary_row(n));
    add_intervals(summary, n);
    nlohmann::ordered_json document = as_json(summary).front();
    const RunShape& shape = p.request.shape;
    document["image_size"] = shape.image_size > 0 ? nlohmann::ordered_json(shape.image_size) : nlohmann::ordered_json();
    document["kv_precision"] = std::string(name(shape.kv_precision));
    document["parallel"] = {{"gpus", shape.parallel.gpus()},
                            {"tensor", shape.parallel.tensor},
                            {"pipeline", shape.parallel.pipeline},
                            {"data", shape.parallel.data},
                            {"expert", shape.parallel.expert}};
    document["cold_start_extra_ms"] = p.cold_extra.in(ms);
    document["phases"] = as_json(phase_table(p));
    document["memory"] = as_json(memory_table(p.memory)).front();
    document["memory"]["largest_batch"] = n.advice.largest_batch;
    document["memory"]["largest_context"] = p.ttft ? nlohmann::ordered_json(n.advice.largest_context) : nlohmann::ordered_json();
    document["memory"]["remedies"] = n.advice.remedies;
    document["withheld"] = p.withheld;
    document["notes"] = p.notes;
    document["assumed"] = as_json(n.assumed);
    return document;
}

}  // namespace

Report prediction_report(const NamedPrediction& named, const Gpu& gpu, bool explain) {
    const Prediction& p = named.prediction;
    Report report;
    report.document = document_of(named);
    report.csv.columns = csv_columns();
    report.csv.rows.push_back(csv_row(named));
    add_intervals(report.csv, named);
    report.before = result_lines(named);
    if (p.withheld.empty()) report.tables.push_back(phase_table(p));
    report.tables.push_back(memory_table(p.memory));
    report.after = memory_lines(named);
    for (const auto& text : p.notes) report.after.push_back("note: " + text);
    for (const Assumption& a : named.assumed) report.after.push_back(assumed_line(a));
    if (!explain) return report;
    auto phases = nlohmann::ordered_json::array();
    for (const Phase& phase : p.phases) {
        Table operators = costliest_operators(phase, gpu.profile), fused = fused_operators(phase);
        phases.push_back({{"phase", phase.name}, {"operators", as_json(operators)}, {"fused", as_json(fused)}});
        report.tables.push_back(std::move(operators));
        if (!fused.rows.empty()) report.tables.push_back(std::move(fused));
    }
    Table parameters = used_parameters(p.phases, gpu, p.request.shape.precision);
    report.document["explain"] = {{"phases", phases}, {"parameters", as_json(parameters)}};
    report.tables.push_back(std::move(parameters));
    return report;
}

Report predictions_report(const std::vector<NamedPrediction>& predictions) {
    Report report;
    Table table{.columns = summary_columns()};
    report.csv.columns = csv_columns();
    auto list = nlohmann::ordered_json::array();
    std::vector<std::string> assumed;
    const auto once = [](std::vector<std::string>& lines, std::string line) {
        if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
    };
    for (const auto& named : predictions) {
        table.rows.push_back(summary_row(named));
        report.csv.rows.push_back(csv_row(named));
        add_intervals(report.csv, named);
        list.push_back(document_of(named));
        for (const auto& text : named.prediction.notes) once(report.after, fmt::format("note, {}: {}", named.gpu_id, text));
        for (const Assumption& a : named.assumed) once(assumed, fmt::format("{}: {}", named.gpu_id, assumed_line(a)));
    }
    report.after.insert(report.after.end(), assumed.begin(), assumed.end());
    report.document["predictions"] = std::move(list);
    report.tables.push_back(std::move(table));
    return report;
}

}  // namespace roofcast
