#include "report/prediction_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/describe.hpp"

namespace roofcast {

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
Cell optional_flag(const std::optional<bool>& b) {
    return b ? Cell(*b) : Cell();
}

/// Bounds of the 80 % interval; of rates, from the inverses of the times' factors. Empty where no interval is known.
std::vector<std::pair<Column, Cell>> interval_cells(const Prediction& p) {
    std::vector<std::pair<Column, Cell>> cells;
    const bool known = p.intervals && p.runs();
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

}  // namespace

std::string main_bound(const Prediction& p) {
    const Phase* longest = nullptr;
    for (const Phase& phase : p.phases) {
        if (longest == nullptr || phase.latency > longest->latency) longest = &phase;
    }
    return longest == nullptr ? "" : longest->bound;
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

std::vector<Cell> summary_row(const NamedPrediction& n) {
    const Prediction& p = n.prediction;
    const Run& run = p.request;
    const auto if_it_runs = [runs = p.runs()](const Cell& cell) { return runs ? cell : Cell(); };
    return {n.model_id,
            n.gpu_id,
            std::string(name(run.precision)),
            weights_text(run),
            run.batch,
            p.ttft || run.prompt_tokens > 0 ? Cell(run.prompt_tokens) : Cell(),
            p.ttft ? Cell(run.generate_tokens) : Cell(),
            std::string(name(p.request.execution)),
            if_it_runs(p.latency.in(ms)),
            if_it_runs(optional_ms(p.ttft)),
            if_it_runs(optional_ms(p.tpot)),
            if_it_runs(p.items_per_second),
            if_it_runs(optional_number(p.tokens_per_second)),
            p.memory.total().in(gb),
            optional_gb(p.memory.usable),
            optional_flag(p.memory.fits()),
            if_it_runs(main_bound(p))};
}

Table full_summary(const NamedPrediction& n, bool assumed) {
    Table table{.columns = summary_columns()};
    table.rows.push_back(summary_row(n));
    const auto add = [&table](Column column, Cell cell) {
        table.columns.push_back(std::move(column));
        table.rows.back().push_back(std::move(cell));
    };
    if (assumed) add({"assumed", "assumed"}, assumed_keys(n.assumed));
    for (auto& [column, cell] : interval_cells(n.prediction)) add(column, std::move(cell));
    return table;
}

Table text_summary(const std::vector<NamedPrediction>& predictions) {
    Table table;
    for (const NamedPrediction& n : predictions) {
        Table one{.title = {}, .columns = summary_columns(), .rows = {summary_row(n)}};
        const auto at = [&one](std::string_view key) {
            return std::find_if(one.columns.begin(), one.columns.end(), [key](const Column& c) { return c.key == key; }) -
                   one.columns.begin();
        };
        const Prediction& p = n.prediction;
        const auto latency = at("latency_ms");
        if (!p.runs())
            one.rows[0][static_cast<std::size_t>(latency)] = std::string(p.memory.fits() == false ? "does not fit" : "no kernel model");
        std::vector<Cell> bounds(2);
        if (p.runs() && p.intervals) bounds = {p.intervals->latency.low * p.latency.in(ms), p.intervals->latency.high * p.latency.in(ms)};
        one.columns.insert(one.columns.begin() + latency + 1,
                           {{"latency_ms_low", bound_title("low")}, {"latency_ms_high", bound_title("high")}});
        one.rows[0].insert(one.rows[0].begin() + latency + 1, bounds.begin(), bounds.end());
        table.columns = one.columns;
        table.rows.push_back(std::move(one.rows[0]));
    }
    return table;
}

std::string bound_title(std::string_view bound) {
    return fmt::format("{}% {}", interval_percent, bound);
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
    if (!p.runs()) return table;
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
                     {"capacity_gb", "usable"},
                     {"fits", "fits"}};
    table.rows.push_back({m.weights.in(gb), m.kv_cache.in(gb), m.activations.in(gb), m.overhead.in(gb), m.total().in(gb),
                          optional_gb(m.usable), optional_flag(m.fits())});
    return table;
}

}  // namespace roofcast
