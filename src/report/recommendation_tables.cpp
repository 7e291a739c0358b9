#include "report/recommendation_tables.hpp"

#include <fmt/format.h>

#include <ranges>

#include "report/run_parts.hpp"

namespace roofcast {

namespace {

constexpr const char *undated_price = "UNDATED", *old_price = " (old)";

/// "misses TTFT with 2 copies".
std::string shortfall_text(const Deployment& d) {
    if (!d.shortfall) return {};
    return fmt::format("{} with {} {}", d.shortfall->misses ? in_words(*d.shortfall->misses) : "cannot sustain the rate",
                       d.shortfall->copies, d.shortfall->copies == 1 ? "copy" : "copies");
}

/// `fields` of the cost of a deployment that has one, or of the instance that is rented.
Fields<Deployment> of_cost(const Fields<DeploymentCost>& fields) {
    return part_fields(&Deployment::cost, fields);
}
Fields<Deployment> of_instance(const Fields<Instance>& fields) {
    return of_cost(part_fields(&DeploymentCost::instance, fields));
}

/// The columns of the confidence that ranks, or the few of the other one that text shows.
Fields<RankedRow> fields_at(const NamedRecommendation& n, Confidence c) {
    Fields<Deployment> fields = deployment_fields(n);
    if (c != n.request.confidence) {
        for (auto& [column, cell] : fields) {
            const bool shown = column.key == "gpus" || column.key == "usd_per_hour";
            column.show = shown ? Show::usual : Show::data;
            column.title = fmt::format("{}: {}", name(c), column.title);
        }
    }
    const auto at = [c](const RankedRow& r) -> const auto& {
        return r.row.at(c);
    };
    return prefixed(c == Confidence::upper ? "upper_" : "", part_fields<RankedRow>(at, fields));
}

/// Rent of a row at one confidence, or at both.
struct RentedAs {
    std::int64_t rank = 0;
    std::string at;
    Deployment deployment;
};

Tone tone_of_price_date(const Cell& cell) {
    const auto* date = std::get_if<std::string>(&cell);
    return date != nullptr && (*date == undated_price || date->ends_with(old_price)) ? Tone::warning : Tone::plain;
}

Fields<Deployment> rented_fields(Date today) {
    const auto name_of = [](const DeploymentCost& c) {
        return c.instance ? instance_name(*c.instance) : std::string(c.listed ? "given price" : "no listed instance");
    };
    return of_cost({{{"instances", "count"}, [](const DeploymentCost& c) { return c.instance ? Cell(c.instances) : Cell(); }},
                    {{"instance", "instance", Show::always, true}, name_of}}) +
           of_instance({{{"gpus", "GPUs each"}, [](const Instance& i) { return i.any_number ? Cell() : cell_of(i.gpus); }},
                        {{"provider_kind", "provider"}, &Instance::provider_kind},
                        {{"date", "price of", Show::always, true, tone_of_price_date},
                         [today](const Instance& i) { return price_date(i, today); }}});
}

}  // namespace

bool is_simulated(const NamedRecommendation& n) {
    return n.answer.load.why_not.empty();
}

const std::string& gpu_id(const NamedRecommendation& n, std::size_t gpu) {
    return n.contestants[gpu].gpu->profile.id;
}

std::vector<RankedRow> shown_rows(const NamedRecommendation& n) {
    std::vector<RankedRow> rows;
    for (const RecommendedRow& row : n.answer.rows | std::views::take(n.top))
        rows.push_back({static_cast<std::int64_t>(rows.size()) + 1, gpu_id(n, row.at(n.request.confidence)->gpu), row});
    return rows;
}

std::string copies_text(const Deployment& d) {
    std::string one = d.parallel.tensor > 1 ? fmt::format("tp {}", d.parallel.tensor) : "";
    if (d.parallel.pipeline > 1) one += fmt::format("{}pp {}", one.empty() ? "" : " ", d.parallel.pipeline);
    if (one.empty()) one = "1 GPU";
    return d.parallel.data > 1 ? fmt::format("{} x {}", d.parallel.data, one) : one;
}

std::string instance_name(const Instance& instance) {
    return instance.provider + (instance.provider.empty() || instance.name.empty() ? "" : " ") + instance.name;
}

std::string price_date(const Instance& instance, Date today) {
    const auto date = parse_date(instance.date);
    if (!date) return undated_price;
    return instance.date + (days_between(*date, today) > old_price_days ? old_price : "");
}

Fields<Deployment> deployment_fields(const NamedRecommendation& n) {
    const bool simulated = is_simulated(n), text = n.answer.output_tokens > 0;
    const std::string percentile = simulated ? fmt::format("P{} ", load_percentile) : "";
    const Show format = n.request.allow_quantization ? Show::setting : Show::wide;
    const Show item_cost = n.request.rate ? Show::wide : Show::always;  // at a rate it follows from the rent
    const auto dollars_of = [](double items) {
        return [items](const DeploymentCost& c) { return items > 0 ? Cell(items * c.per_item.in(usd)) : Cell(); };
    };
    using D = Deployment;
    return Fields<D>{{{"gpus", "GPUs", Show::always}, &D::parallel, &Parallelism::gpus},
                     {{"tensor_parallel", "tp", Show::setting}, &D::parallel, &Parallelism::tensor},
                     {{"pipeline_parallel", "pp", Show::setting}, &D::parallel, &Parallelism::pipeline},
                     {{"data_parallel", "copies", Show::usual}, &D::parallel, &Parallelism::data},
                     {{"precision", "precision", format}, &D::precision},
                     {{"weights", "weights", format}, &D::weights},
                     {{"batch", simulated ? "max seqs" : "batch", Show::setting}, &D::batch},
                     {{"ttft_ms", percentile + "TTFT ms", Show::always}, &D::ttft, ms},
                     {{"tpot_ms", percentile + "TPOT ms", Show::always}, &D::tpot, ms},
                     {{"latency_ms", percentile + "latency ms", text && !n.request.objective.latency ? Show::wide : Show::always},
                      &D::latency,
                      ms},
                     {{"capacity_per_s", text ? "max req/s" : "max items/s", Show::wide}, &D::capacity, 1 / s}} +
           of_cost({{{"usd_per_hour", "USD/h", Show::always}, &DeploymentCost::rate, usd_per_hour}}) +
           of_instance({{{"instance", "instance", Show::data}, instance_name}}) +
           of_cost(
               {{{"instances", "instances", Show::data}, [](const DeploymentCost& c) { return c.instance ? Cell(c.instances) : Cell(); }},
                {{"listed_instance", "instance listed", Show::data}, &DeploymentCost::listed},
                {{"usd_per_million_output_tokens", "USD/M output", item_cost},
                 dollars_of(text ? million / static_cast<double>(n.answer.output_tokens) : 0)},
                {{"usd_per_1000_items", "USD/1000 items", text ? Show::data : item_cost}, dollars_of(thousand)}}) +
           Fields<D>{
               {{"simulated_requests", "simulated requests", Show::data}, &D::requests, count_cell},
               {{"one_copy_less", "why not one copy fewer", Show::wide, true}, [](const D& d) { return text_cell(shortfall_text(d)); }}};
}

Table deployment_table(const NamedRecommendation& n) {
    const Confidence first = n.request.confidence, second = first == Confidence::expected ? Confidence::upper : Confidence::expected;
    const Fields<RankedRow> fields{{{"rank", "rank", Show::always}, &RankedRow::rank}, {{"gpu", "GPU", Show::always}, &RankedRow::gpu}};
    return table_of(n.request.all_settings ? "All deployments, cheapest first" : "Cheapest deployment of each GPU", shown_rows(n),
                    fields + fields_at(n, first) + fields_at(n, second));
}

Table rent_table(const NamedRecommendation& n) {
    const Fields<Deployment> rented = rented_fields(n.today);
    std::vector<RentedAs> rents;
    for (const RankedRow& r : shown_rows(n)) {
        const auto &expected = r.row.expected, &upper = r.row.upper;
        const bool same = expected && upper && cells_of(*expected, rented) == cells_of(*upper, rented);
        if (expected && expected->cost) rents.push_back({r.rank, same ? "both" : "expected", *expected});
        if (upper && upper->cost && !same) rents.push_back({r.rank, "upper", *upper});
    }
    const Fields<RentedAs> fields{{{"rank", "rank", Show::always}, &RentedAs::rank}, {{"for", "for", Show::always}, &RentedAs::at}};
    return table_of("Rented as", rents, fields + part_fields(&RentedAs::deployment, rented));
}

}  // namespace roofcast
