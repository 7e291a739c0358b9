#include "report/comparison_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/describe.hpp"
#include "report/prediction_tables.hpp"

namespace roofcast {

namespace {

/// Builds a table row by row from cells that name their columns.
class Rows {
public:
    explicit Rows(Table& table) : table_(table) {}
    void begin() {
        first_ = table_.columns.empty();
        table_.rows.emplace_back();
    }
    void add(Column column, Cell cell) {
        if (first_) table_.columns.push_back(std::move(column));
        table_.rows.back().push_back(std::move(cell));
    }

private:
    Table& table_;
    bool first_ = true;
};

/// The cell that `value` gives of the run's prediction; empty where there is none.
Cell of(const ContestantRun& run, const auto& value) {
    return run.prediction ? Cell(value(*run.prediction)) : Cell();
}

Cell in_ms(const std::optional<Seconds>& t) {
    return t ? Cell(t->in(ms)) : Cell();
}

bool offloads(const ContestantRun& run) {
    return run.prediction && run.prediction->request.techniques.offload > 0;
}

void add_settings(Rows& rows, const ContestantRun& run, bool offload) {
    rows.add({"gpu", "GPU"}, run.contestant.gpu->profile.id);
    rows.add({"precision", "precision"}, of(run, [](const Prediction& p) { return std::string(name(p.request.precision)); }));
    rows.add({"weights", "weights"}, of(run, [](const Prediction& p) { return weights_text(p.request); }));
    rows.add({"batch", "batch"}, of(run, [](const Prediction& p) { return p.request.batch; }));
    rows.add({"execution", "execution"}, of(run, [](const Prediction& p) { return std::string(name(p.request.execution)); }));
    if (offload)
        rows.add({"offload_percent", "offload %"}, of(run, [](const Prediction& p) { return 100 * p.request.techniques.offload; }));
}

void add_speed(Rows& rows, const ContestantRun& run, std::int64_t items) {
    rows.add({"latency_ms", "latency ms"}, of(run, [](const Prediction& p) { return p.latency.in(ms); }));
    const auto bound = [&run](double IntervalRatio::*side) {
        return run.prediction && run.prediction->intervals ? Cell(run.prediction->intervals->latency.*side * run.prediction->latency.in(ms))
                                                           : Cell();
    };
    rows.add({"latency_ms_low", bound_title("low")}, bound(&IntervalRatio::low));
    rows.add({"latency_ms_high", bound_title("high")}, bound(&IntervalRatio::high));
    rows.add({"time_per_item_ms", "ms/item"}, of(run, [](const Prediction& p) { return time_per_item(p).in(ms); }));
    rows.add({"items_per_minute", "items/min"}, of(run, [](const Prediction& p) { return 60 * p.items_per_second; }));
    const bool has_tokens = run.prediction && run.prediction->tokens_per_second;
    rows.add({"tokens_per_s", "tokens/s"}, has_tokens ? Cell(*run.prediction->tokens_per_second) : Cell());
    rows.add({"job_s", fmt::format("{} items, s", items)}, of(run, [&](const Prediction& p) { return job_time(p, items).in(s); }));
}

void add_resources(Rows& rows, const ContestantRun& run) {
    const auto share = [](const Prediction& p) { return p.memory.usable ? Cell(100 * p.memory.total().in(*p.memory.usable)) : Cell(); };
    const auto& energy = run.energy;
    rows.add({"memory_gb", "memory GB", 3}, of(run, [](const Prediction& p) { return p.memory.total().in(gb); }));
    rows.add({"memory_percent", "% of memory", 3}, of(run, share));
    rows.add({"compute_percent", "% of peak", 3}, of(run, [&](const Prediction&) { return 100 * run.utilization.compute; }));
    rows.add({"bandwidth_percent", "% of bandwidth", 3}, of(run, [&](const Prediction&) { return 100 * run.utilization.bandwidth; }));
    rows.add({"watts_per_gpu", "W/GPU"}, energy ? Cell(energy->watts.in(watt)) : Cell());
    rows.add({"joules_per_item", "J/item"}, energy ? Cell(energy->joules_per_item.in(joule)) : Cell());
    rows.add({"usd_per_hour", "USD/hour"}, run.rental ? Cell(run.rental->rate.in(usd_per_hour)) : Cell());
    rows.add({"usd_per_1000_items", "USD/1000 items"}, run.rental ? Cell(1000 * run.rental->per_item.in(usd)) : Cell());
}

void add_more(Rows& rows, const ContestantRun& run) {
    const bool per_token = run.rental && run.rental->per_output_token;
    rows.add({"gpus", "GPUs"}, of(run, [](const Prediction& p) { return p.request.parallel.gpus(); }));
    rows.add({"ttft_ms", ""}, of(run, [](const Prediction& p) { return in_ms(p.ttft); }));
    rows.add({"tpot_ms", ""}, of(run, [](const Prediction& p) { return in_ms(p.tpot); }));
    rows.add({"joules_per_output_token", ""},
             run.energy && run.energy->joules_per_output_token ? Cell(run.energy->joules_per_output_token->in(joule)) : Cell());
    rows.add({"usd_per_item", ""}, run.rental ? Cell(run.rental->per_item.in(usd)) : Cell());
    rows.add({"usd_per_million_output_tokens", ""}, per_token ? Cell(1e6 * run.rental->per_output_token->in(usd)) : Cell());
}

/// `key` and its bounds.
void add_ratio(Rows& rows, const std::string& key, const std::optional<SpeedUp>& ratio) {
    const bool bounded = ratio && ratio->interval;
    rows.add({key, key}, ratio ? Cell(ratio->ratio) : Cell());
    rows.add({key + "_low", ""}, bounded ? Cell(ratio->interval->low) : Cell());
    rows.add({key + "_high", ""}, bounded ? Cell(ratio->interval->high) : Cell());
    rows.add({key + "_decides", ""}, bounded ? Cell(ratio->decides()) : Cell());
}

std::optional<SpeedUp> dollars_against_reference(const Comparison& comparison, const ContestantRun& run) {
    return comparison.reference ? per_dollar_ratio(comparison.runs[*comparison.reference], run) : std::nullopt;
}

}  // namespace

bool any_offloads(const Comparison& comparison) {
    return std::any_of(comparison.runs.begin(), comparison.runs.end(), offloads);
}

Table full_rows(const Comparison& comparison, const NamedComparison& named) {
    Table table;
    Rows rows(table);
    for (const ContestantRun& run : comparison.runs) {
        rows.begin();
        add_settings(rows, run, true);
        add_speed(rows, run, named.items);
        add_resources(rows, run);
        add_more(rows, run);
        add_ratio(rows, "speedup", run.speedup);
        rows.add({"reason", ""}, run.reason.empty() ? Cell() : Cell(run.reason));
    }
    return table;
}

Table speed_table(const Comparison& comparison, const NamedComparison& named) {
    Table table;
    Rows rows(table);
    for (const ContestantRun& run : comparison.runs) {
        rows.begin();
        add_settings(rows, run, any_offloads(comparison));
        add_speed(rows, run, named.items);
        rows.add({"speedup", "speed-up"}, run.speedup ? text_of(*run.speedup) : run.reason);
    }
    return table;
}

Table resource_table(const Comparison& comparison) {
    Table table;
    Rows rows(table);
    for (const ContestantRun& run : comparison.runs) {
        if (!run.prediction) continue;
        rows.begin();
        rows.add({"gpu", "GPU"}, run.contestant.gpu->profile.id);
        add_resources(rows, run);
    }
    return table;
}

Table cost_table(const Comparison& comparison, bool in_text) {
    Table table;
    Rows rows(table);
    for (const ContestantRun& run : comparison.runs) {
        rows.begin();
        add_settings(rows, run, !in_text || any_offloads(comparison));
        const auto ratio = dollars_against_reference(comparison, run);
        rows.add({"usd_per_hour", "USD/hour"}, run.rental ? Cell(run.rental->rate.in(usd_per_hour)) : Cell());
        rows.add({"usd_per_item", "USD/item"}, run.rental ? Cell(run.rental->per_item.in(usd)) : Cell());
        rows.add({"items_per_usd", "items/USD"}, run.rental ? Cell(1 / run.rental->per_item.in(usd)) : Cell());
        if (in_text) rows.add({"ratio", "items/USD against the first"}, ratio ? Cell(text_of(*ratio)) : Cell(run.reason));
        if (!in_text) add_ratio(rows, "items_per_usd_ratio", ratio);
        rows.add({"joules_per_item", "J/item"}, run.energy ? Cell(run.energy->joules_per_item.in(joule)) : Cell());
    }
    return table;
}

}  // namespace roofcast
