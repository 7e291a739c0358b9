#include "report/recommendation_tables.hpp"

#include <fmt/format.h>

#include "report/cost_figures.hpp"

namespace roofcast {

namespace {

/// A cell with its column; `in_text` where the text table has room for it.
struct Entry {
    Column column;
    Cell cell;
    bool in_text = true;
};

const GpuProfile& profile_of(const NamedRecommendation& n, const Deployment& d) {
    return n.contestants[d.gpu].gpu->profile;
}

void add_settings(std::vector<Entry>& row, const NamedRecommendation& n, const Deployment& d) {
    row.push_back({{"gpu", "GPU"}, profile_of(n, d).id});
    row.push_back({{"gpus", "GPUs"}, d.parallel.gpus()});
    row.push_back({{"tensor_parallel", "tp"}, d.parallel.tensor});
    row.push_back({{"pipeline_parallel", "pp"}, d.parallel.pipeline});
    row.push_back({{"data_parallel", "dp"}, d.parallel.data});
    row.push_back({{"precision", "precision"}, std::string(name(d.precision))});
    row.push_back({{"weights", "weights"}, name(d.weights)});
    row.push_back({{"batch", "batch"}, d.batch});
}

/// A time, and the bounds of its interval.
void add_time(std::vector<Entry>& row, const std::string& key, const std::string& title, const std::optional<Seconds>& time,
              const std::optional<IntervalRatio>& interval) {
    const auto times = [&](double factor) { return Cell(time->in(ms)*factor); };
    const bool bounds = time && interval;
    row.push_back({{key + "_ms", title + " ms"}, time ? times(1) : Cell(), time.has_value()});
    row.push_back({{key + "_ms_low", ""}, bounds ? times(interval->low) : Cell(), false});
    row.push_back({{key + "_ms_high", "to"}, bounds ? times(interval->high) : Cell(), time.has_value()});
}

void add_times(std::vector<Entry>& row, const Deployment& d) {
    const DeploymentFigures figures = d.figures.value_or(DeploymentFigures{});
    std::optional<IntervalRatio> latency, ttft, tpot;
    if (const auto& known = figures.intervals) {
        latency = known->latency;
        ttft = known->ttft.value_or(known->latency);
        tpot = known->tpot.value_or(known->latency);
    }
    add_time(row, "ttft", "TTFT", figures.ttft, ttft);
    add_time(row, "tpot", "TPOT", figures.tpot, tpot);
    add_time(row, "latency", "latency", d.figures ? std::optional(figures.latency) : std::nullopt, latency);
    row.push_back({{"capacity_per_s", "can do/s"}, d.figures ? Cell(figures.capacity.in(1 / s)) : Cell()});
    row.push_back({{"watts", "W"}, figures.watts ? Cell(figures.watts->in(watt)) : Cell()});
}

/// What requests that arrive at random see.
void add_load(std::vector<Entry>& row, const NamedRecommendation& n, const Deployment& d) {
    const bool is_shown = has_queueing(n), has_tokens = n.answer.output_tokens > 0;
    const UnderLoad load = d.load.value_or(UnderLoad{});
    const auto time = [](const std::optional<Seconds>& t) { return t ? Cell(t->in(ms)) : Cell(); };
    row.push_back({{"p99_ttft_ms", "P99 TTFT"}, time(load.ttft), is_shown && has_tokens});
    row.push_back({{"p99_tpot_ms", "P99 TPOT"}, time(load.tpot), is_shown && has_tokens});
    row.push_back({{"p99_latency_ms", "P99 latency"}, time(load.latency), false});
    row.push_back({{"simulated_requests", ""}, load.requests > 0 ? Cell(load.requests) : Cell(), false});
    row.push_back({{"batch_copies", ""}, d.load ? Cell(load.batch_copies) : Cell(), false});
    const std::string reason = queueing_reason(n, d);
    row.push_back({{"queueing_reason", ""}, reason.empty() ? Cell() : Cell(reason), false});
}

void add_cost(std::vector<Entry>& row, const NamedRecommendation& n, const Deployment& d) {
    row.push_back({{"usd_per_hour", "USD/hour"}, d.cost ? Cell(d.cost->rate.in(1 * usd / hour)) : Cell()});
    const auto amounts = [&](const std::string& key, const std::string& title, double times, bool in_text) {
        const auto cell = [times](const std::optional<UsDollars>& amount) { return amount ? Cell(times * amount->in(usd)) : Cell(); };
        row.push_back({{key, title}, d.cost && times > 0 ? cell(d.cost->per_item) : Cell(), in_text});
        row.push_back({{key + "_low", "low"}, d.cost && times > 0 ? cell(d.cost->per_item_low) : Cell(), in_text});
        row.push_back({{key + "_high", "high"}, d.cost && times > 0 ? cell(d.cost->per_item_high) : Cell(), in_text});
    };
    const std::int64_t tokens = n.answer.output_tokens;
    amounts("usd_per_million_output_tokens", "USD/M output", tokens > 0 ? million / static_cast<double>(tokens) : 0, tokens > 0);
    amounts("usd_per_1000_items", "USD/1000 items", thousand, tokens == 0);
}

/// In `text` an old price is flagged in the cell itself.
void add_price(std::vector<Entry>& row, const NamedRecommendation& n, const Deployment& d, bool text) {
    const auto& price = n.contestants[d.gpu].rental_price;
    const bool dated = price && !price->given;
    const std::string date = !price ? "" : price->given ? "given" : price->price.date.empty() ? "UNDATED" : price->price.date;
    row.push_back({{"price", "price of"}, date + (text && price && price->is_old() ? " OLD" : "")});
    row.push_back({{"price_age_days", ""}, dated && price->age_days ? Cell(*price->age_days) : Cell(), false});
    row.push_back({{"price_older_than_a_year", ""}, price && price->is_old(), false});
}

std::vector<Entry> entries_of(const NamedRecommendation& n, const Deployment& d, bool text) {
    std::vector<Entry> row;
    row.push_back({{"pareto", "front"}, d.front ? Cell(std::string("*")) : Cell()});
    add_settings(row, n, d);
    add_times(row, d);
    add_load(row, n, d);
    add_cost(row, n, d);
    row.push_back({{"memory_gb", "GB/GPU"}, d.memory.total().in(gb), false});
    add_price(row, n, d, text);
    return row;
}

Table table_of(const NamedRecommendation& n, const std::vector<Deployment>& deployments, bool text) {
    if (deployments.empty()) {  // the columns alone, of any deployment
        Table table = table_of(n, {Deployment{}}, text);
        table.rows.clear();
        return table;
    }
    Table table;
    for (std::size_t i = 0; i < deployments.size(); ++i) {
        std::vector<Entry> entries = entries_of(n, deployments[i], text);
        if (!text) entries.front().cell = deployments[i].front;
        entries.insert(entries.begin(), {{"rank", "rank"}, static_cast<std::int64_t>(i + 1)});
        if (!text) {
            entries.push_back({{"outcome", ""}, std::string(name(deployments[i].outcome))});
            entries.push_back({{"excess", ""}, deployments[i].excess > 0 ? Cell(deployments[i].excess) : Cell()});
        }
        std::vector<Cell> row;
        for (const Entry& e : entries) {
            if (text && !e.in_text) continue;
            if (i == 0) table.columns.push_back(e.column);
            row.push_back(e.cell);
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

}  // namespace

bool has_queueing(const NamedRecommendation& n) {
    return n.answer.queueing.why_not.empty();
}

std::string queueing_reason(const NamedRecommendation& n, const Deployment& d) {
    if (!d.load) return {};
    if (!d.load->error.empty()) return d.load->error;
    if (!d.load->miss) return {};
    const QueueingMiss& miss = *d.load->miss;
    const std::string over = fmt::format("{} {} over {}", miss.metric, readable_time(miss.seen.in(s)), readable_time(miss.limit.in(s)));
    if (!miss.copies) return over + " of a request that is alone";
    return fmt::format("P{} {} at {}/s with {} {}", queueing_percentile, over, significant(n.request.rate->in(1 / s)), *miss.copies,
                       *miss.copies == 1 ? "copy" : "copies");
}

std::vector<std::string> gpus_with(const NamedRecommendation& n, Outcome outcome) {
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < n.contestants.size(); ++i) {
        if (n.answer.gpus[i].outcome == outcome) ids.push_back(n.contestants[i].gpu->profile.id);
    }
    return ids;
}

std::vector<Outcome> reasons_met(const NamedRecommendation& n) {
    std::vector<Outcome> reasons;
    for (std::size_t i = 1; i < outcome_count; ++i) {
        const auto outcome = static_cast<Outcome>(i);
        if (n.answer.deployments[i] > 0 || !gpus_with(n, outcome).empty()) reasons.push_back(outcome);
    }
    return reasons;
}

Table deployment_rows(const NamedRecommendation& n, const std::vector<Deployment>& deployments) {
    return table_of(n, deployments, false);
}

Table deployment_table(const NamedRecommendation& n, const std::vector<Deployment>& deployments, std::string title) {
    Table table = table_of(n, deployments, true);
    table.title = std::move(title);
    return table;
}

Table reason_table(const NamedRecommendation& n) {
    Table table{.title = "Why others fall out: GPUs by what is nearest of them, and all deployments tried",
                .columns = {{"reason", "reason"}, {"gpus", "GPUs"}, {"deployments", "deployments"}},
                .rows = {}};
    for (const Outcome outcome : reasons_met(n)) {
        const auto deployments = static_cast<std::int64_t>(n.answer.deployments[static_cast<std::size_t>(outcome)]);
        table.rows.push_back({std::string(in_words(outcome)), static_cast<std::int64_t>(gpus_with(n, outcome).size()), deployments});
    }
    return table;
}

nlohmann::ordered_json misses_json(const NamedRecommendation& n) {
    auto misses = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < n.contestants.size(); ++i) {
        const GpuVerdict& verdict = n.answer.gpus[i];
        if (verdict.meeting > 0) continue;
        nlohmann::ordered_json nearest;
        if (verdict.nearest) {
            Deployment d = *verdict.nearest;
            d.gpu = i;
            nearest = as_json(table_of(n, {d}, false)).front();
            nearest.erase("rank");
        }
        misses.push_back({{"gpu", n.contestants[i].gpu->profile.id},
                          {"reason", std::string(name(verdict.outcome))},
                          {"tried", verdict.tried},
                          {"nearest", nearest}});
    }
    return misses;
}

}  // namespace roofcast
