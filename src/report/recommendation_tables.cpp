#include "report/recommendation_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/cost_figures.hpp"

namespace roofcast {

namespace {

/// A cell with its column.
struct DeploymentFigure {
    Column column;
    Cell cell;
};

Cell milliseconds(const std::optional<Seconds>& time) {
    return time ? Cell(time->in(ms)) : Cell();
}

Cell count_if(bool known, std::int64_t count) {
    return known ? Cell(count) : Cell();
}

/// "P99 TTFT with 1 copy".
std::string shortfall_text(const Deployment& d) {
    if (!d.shortfall) return {};
    const std::string copies = fmt::format("{} {}", d.shortfall->copies, d.shortfall->copies == 1 ? "copy" : "copies");
    if (!d.shortfall->misses) return copies + " cannot sustain the rate";
    return fmt::format("{} {}", copies, in_words(*d.shortfall->misses));
}

/// `d` is any deployment where there is none: `known` empties the cells.
std::vector<DeploymentFigure> deployment_figures(const NamedRecommendation& n, const Deployment& d, bool known) {
    const std::int64_t tokens = n.answer.output_tokens;
    const auto dollars = [&](double items) { return known && d.cost && items > 0 ? Cell(items * d.cost->per_item.in(usd)) : Cell(); };
    const auto time = [&](const std::optional<Seconds>& t) { return known ? milliseconds(t) : Cell(); };
    const std::string shortfall = shortfall_text(d);
    return {{{"gpus", ""}, count_if(known, d.parallel.gpus())},
            {{"tensor_parallel", ""}, count_if(known, d.parallel.tensor)},
            {{"pipeline_parallel", ""}, count_if(known, d.parallel.pipeline)},
            {{"data_parallel", ""}, count_if(known, d.parallel.data)},
            {{"precision", ""}, known ? Cell(std::string(name(d.precision))) : Cell()},
            {{"weights", ""}, known ? Cell(name(d.weights)) : Cell()},
            {{"batch", ""}, count_if(known, d.batch)},
            {{"ttft_ms", ""}, time(d.ttft)},
            {{"tpot_ms", ""}, time(d.tpot)},
            {{"latency_ms", ""}, time(d.latency)},
            {{"capacity_per_s", ""}, known ? Cell(d.capacity.in(1 / s)) : Cell()},
            {{"usd_per_hour", ""}, known && d.cost ? Cell(d.cost->rate.in(1 * usd / hour)) : Cell()},
            {{"instance", ""}, known && d.cost && d.cost->instance ? Cell(instance_name(*d.cost->instance)) : Cell()},
            {{"instances", ""}, count_if(known && d.cost && d.cost->instance, d.cost ? d.cost->instances : 0)},
            {{"listed_instance", ""}, known && d.cost ? Cell(d.cost->listed) : Cell()},
            {{"usd_per_million_output_tokens", ""}, dollars(tokens > 0 ? million / static_cast<double>(tokens) : 0)},
            {{"usd_per_1000_items", ""}, dollars(thousand)},
            {{"simulated_requests", ""}, count_if(known && d.requests > 0, d.requests)},
            {{"one_copy_less", ""}, known && !shortfall.empty() ? Cell(shortfall) : Cell()}};
}

const GpuProfile& profile_of(const NamedRecommendation& n, const RecommendedRow& row) {
    return n.contestants[row.at(n.request.confidence)->gpu].gpu->profile;
}

/// Limits on sequences matter to read where one is not the default.
bool limits_differ(const NamedRecommendation& n, const std::vector<RecommendedRow>& rows) {
    const std::int64_t usual = SchedulerOptions{}.max_sequences;
    return !is_simulated(n) ||
           std::any_of(rows.begin(), rows.end(), [&](const RecommendedRow& row) { return row.at(n.request.confidence)->batch != usual; });
}

/// How the table shows one deployment; `prefix` stands before the first heading.
struct TextColumns {
    bool formats = false, limits = false, times = true, has_tokens = true;
    std::string prefix;
};

void add_text(std::vector<DeploymentFigure>& row, const NamedRecommendation& n, const std::optional<Deployment>& known,
              const TextColumns& show) {
    const Deployment d = known.value_or(Deployment{});
    const auto text = [&known](std::string value) { return known ? Cell(std::move(value)) : Cell(); };
    const std::string percentile = is_simulated(n) ? "P99 " : "";
    row.push_back({{"gpus", show.prefix + "GPUs"}, count_if(known.has_value(), d.parallel.gpus())});
    row.push_back({{"copies", "copies"}, text(copies_text(d))});
    if (show.formats) row.push_back({{"format", "format"}, text(format_text(d))});
    if (show.limits) row.push_back({{"batch", is_simulated(n) ? "max seqs" : "batch"}, count_if(known.has_value(), d.batch)});
    if (show.times && show.has_tokens) {
        row.push_back({{"ttft_ms", percentile + "TTFT"}, milliseconds(d.ttft)});
        row.push_back({{"tpot_ms", percentile + "TPOT"}, milliseconds(d.tpot)});
    }
    if (show.times && (!show.has_tokens || n.request.objective.latency))
        row.push_back({{"latency_ms", percentile + (show.has_tokens ? "latency" : "latency ms")}, milliseconds(d.latency)});
    if (show.times && !n.request.rate) {
        const double items = show.has_tokens ? million / static_cast<double>(n.answer.output_tokens) : thousand;
        row.push_back(
            {{"usd_per_many", show.has_tokens ? "USD/M tokens" : "USD/1000"}, d.cost ? Cell(items * d.cost->per_item.in(usd)) : Cell()});
    }
    row.push_back({{"usd_per_hour", "USD/h"}, d.cost ? Cell(d.cost->rate.in(1 * usd / hour)) : Cell()});
}

/// Rents of the rows, numbered as they are.
void add_rent(Table& table, Date today, std::int64_t rank, const std::string& which, const std::optional<Deployment>& d) {
    if (!d || !d->cost) return;
    const DeploymentCost& cost = *d->cost;
    const bool known = cost.instance.has_value();
    const auto text = [known](const std::string& value) { return known ? Cell(value) : Cell(); };
    table.rows.push_back({rank, which, known ? Cell(cost.instances) : Cell(),
                          known         ? Cell(instance_name(*cost.instance))
                          : cost.listed ? Cell(std::string("given price"))
                                        : Cell(std::string("no listed instance")),
                          known && !cost.instance->any_number ? Cell(cost.instance->gpus) : Cell(),
                          known && cost.instance->provider_kind ? text(std::string(name(*cost.instance->provider_kind))) : Cell(),
                          known ? text(price_date(*cost.instance, today)) : Cell()});
}

}  // namespace

std::string instance_name(const Instance& instance) {
    return instance.provider + (instance.provider.empty() || instance.name.empty() ? "" : " ") + instance.name;
}

std::string price_date(const Instance& instance, Date today) {
    const auto date = parse_date(instance.date);
    if (!date) return "UNDATED";
    return instance.date + (days_between(*date, today) > old_price_days ? " OLDER THAN A YEAR" : "");
}

Table rent_rows_of(const NamedRecommendation& n) {
    Table table{.title = "Rented as", .columns = {}, .rows = {}};
    table.columns = {{"rank", "rank"},         {"for", "for"},        {"instances", "count"},
                     {"instance", "instance"}, {"gpus", "GPUs each"}, {"provider_kind", "provider"},
                     {"date", "price of"}};
    std::int64_t rank = 0;
    for (const RecommendedRow& row : shown_rows(n)) {
        ++rank;
        const auto rents = table.rows.size();
        for (const Confidence c : confidences) add_rent(table, n.today, rank, std::string(name(c)), row.at(c));
        // One line where both rent the same.
        if (table.rows.size() != rents + 2) continue;
        auto &first = table.rows[rents], &second = table.rows[rents + 1];
        if (!std::equal(first.begin() + 2, first.end(), second.begin() + 2)) continue;
        first[1] = std::string("both");
        table.rows.pop_back();
    }
    return table;
}

bool is_simulated(const NamedRecommendation& n) {
    return n.answer.load.why_not.empty();
}

std::vector<RecommendedRow> shown_rows(const NamedRecommendation& n) {
    const auto& rows = n.answer.rows;
    return {rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(std::min(n.top, rows.size()))};
}

std::string copies_text(const Deployment& d) {
    std::string one = d.parallel.tensor > 1 ? fmt::format("tp {}", d.parallel.tensor) : "";
    if (d.parallel.pipeline > 1) one += fmt::format("{}pp {}", one.empty() ? "" : " ", d.parallel.pipeline);
    if (one.empty()) one = "1 GPU";
    return d.parallel.data > 1 ? fmt::format("{} x {}", d.parallel.data, one) : one;
}

std::string format_text(const Deployment& d) {
    const std::string weights = name(d.weights);
    return weights.empty() || weights == name(d.precision) ? std::string(name(d.precision))
                                                           : fmt::format("{}, {} weights", name(d.precision), weights);
}

nlohmann::ordered_json deployment_json(const NamedRecommendation& n, const std::optional<Deployment>& d) {
    if (!d) return nullptr;
    Table one;
    one.columns = {{"gpu", ""}};
    one.rows = {{n.contestants[d->gpu].gpu->profile.id}};
    for (const DeploymentFigure& figure : deployment_figures(n, *d, true)) {
        one.columns.push_back(figure.column);
        one.rows.front().push_back(figure.cell);
    }
    return as_json(one).front();
}

Table csv_rows_of(const NamedRecommendation& n) {
    Table table;
    std::int64_t rank = 0;
    const auto add = [&](const RecommendedRow& row, const std::string& gpu) {
        std::vector<DeploymentFigure> all{{{"rank", ""}, ++rank}, {{"gpu", ""}, gpu}};
        for (DeploymentFigure& f : deployment_figures(n, row.expected.value_or(Deployment{}), row.expected.has_value()))
            all.push_back(std::move(f));
        for (DeploymentFigure& f : deployment_figures(n, row.upper.value_or(Deployment{}), row.upper.has_value())) {
            f.column.key = "upper_" + f.column.key;
            all.push_back(std::move(f));
        }
        table.columns.clear();
        table.rows.emplace_back();
        for (DeploymentFigure& f : all) {
            table.columns.push_back(f.column);
            table.rows.back().push_back(std::move(f.cell));
        }
    };
    for (const RecommendedRow& row : shown_rows(n)) add(row, profile_of(n, row).id);
    if (!table.rows.empty()) return table;
    add({}, "");
    table.rows.clear();  // the columns alone
    return table;
}

Table text_rows_of(const NamedRecommendation& n) {
    const std::vector<RecommendedRow> rows = shown_rows(n);
    const bool upper_ranks = n.request.confidence == Confidence::upper;
    TextColumns first{.formats = n.request.allow_quantization, .limits = limits_differ(n, rows), .prefix = {}};
    first.has_tokens = n.answer.output_tokens > 0;
    TextColumns second = first;
    second.times = second.formats = second.limits = false;
    second.prefix = upper_ranks ? "expected: " : "upper: ";
    Table table;
    std::int64_t rank = 0;
    for (const RecommendedRow& row : rows) {
        std::vector<DeploymentFigure> all{{{"rank", "rank"}, ++rank}, {{"gpu", "GPU"}, profile_of(n, row).id}};
        add_text(all, n, row.at(n.request.confidence), first);
        add_text(all, n, upper_ranks ? row.expected : row.upper, second);
        table.columns.clear();
        table.rows.emplace_back();
        for (DeploymentFigure& f : all) {
            table.columns.push_back(f.column);
            table.rows.back().push_back(std::move(f.cell));
        }
    }
    return table;
}

}  // namespace roofcast
