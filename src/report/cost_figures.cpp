#include "report/cost_figures.hpp"

#include "report/describe.hpp"
#include "report/prediction_tables.hpp"

namespace roofcast {

namespace {

using Part = Figure::Part;

template <class Q>
Cell cell(const std::optional<Q>& quantity, Q unit) {
    return quantity ? Cell(quantity->in(unit)) : Cell();
}

void add_run(std::vector<Figure>& figures, const NamedCost& c) {
    const Prediction& p = c.named.prediction;
    const Run& run = p.request;
    const bool shown = p.runs();
    const auto add = [&](Column column, Cell value, bool in_text = true) {
        figures.push_back({Part::run, std::move(column), std::move(value), in_text});
    };
    add({"model", "model"}, c.named.model_id);
    add({"gpu", "GPU"}, c.named.gpu_id);
    add({"gpus", "GPUs"}, run.parallel.gpus());
    add({"precision", "precision"}, std::string(name(run.precision)));
    add({"weights", "weights"}, weights_text(run));
    add({"batch", "batch"}, run.batch);
    add({"prompt_tokens", "prompt"}, p.ttft || run.prompt_tokens > 0 ? Cell(run.prompt_tokens) : Cell(), false);
    add({"output_tokens", "output"}, p.ttft ? Cell(run.generate_tokens) : Cell(), false);
    add({"execution", "execution"}, std::string(name(p.request.execution)), false);
    add({"throughput_per_s", "items/s"}, shown ? Cell(p.items_per_second) : Cell());
}

void add_rent(std::vector<Figure>& figures, const NamedCost& c) {
    const std::optional<RentalCost>& rental = c.estimate.rental;
    const auto& intervals = c.named.prediction.intervals;
    const auto add = [&](const char* key, const std::string& title, const std::optional<UsDollars>& amount, double times,
                         bool in_text = true) {
        figures.push_back({Part::rent, {key, title}, amount ? Cell(times * amount->in(usd)) : Cell(), in_text});
    };
    const auto of = [&rental](auto member) { return rental ? std::optional<UsDollars>((*rental).*member) : std::nullopt; };
    const auto token = [&rental](auto member) { return rental ? (*rental).*member : std::nullopt; };
    const auto item = of(&RentalCost::per_item);
    std::optional<UsDollars> low, high;
    if (item && intervals) {
        low = intervals->latency.low * *item;
        high = intervals->latency.high * *item;
    }
    figures.push_back({Part::rent, {"usd_per_hour", "USD/hour"}, rental ? Cell(rental->rate.in(usd_per_hour)) : Cell()});
    add("usd_per_item", "USD/item", item, 1, false);
    add("usd_per_1000_items", "USD/1000 items", item, thousand);
    add("usd_per_1000_items_low", bound_title("low"), low, thousand);
    add("usd_per_1000_items_high", bound_title("high"), high, thousand);
    add("prefill_usd_per_million_input_tokens", "prefill USD/M input", token(&RentalCost::per_input_token), million);
    add("decode_usd_per_million_output_tokens", "decode USD/M output", token(&RentalCost::decode_per_output_token), million);
    add("usd_per_million_output_tokens", "all USD/M output", token(&RentalCost::per_output_token), million);
    add("usd_per_million_tokens", "all USD/M tokens", token(&RentalCost::per_token), million);
}

void add_energy(std::vector<Figure>& figures, const std::optional<RunEnergy>& energy) {
    const auto add = [&](const char* key, const char* title, Cell value) {
        figures.push_back({Part::energy, {key, title}, std::move(value)});
    };
    add("watts_per_gpu", "W/GPU", energy ? Cell(energy->watts.in(watt)) : Cell());
    add("joules_per_batch", "J/batch", energy ? Cell(energy->joules.in(joule)) : Cell());
    add("joules_per_item", "J/item", energy ? Cell(energy->joules_per_item.in(joule)) : Cell());
    add("joules_per_output_token", "J/output token", energy ? cell(energy->joules_per_output_token, joule) : Cell());
}

void add_owning(std::vector<Figure>& figures, const CostEstimate& estimate) {
    const std::optional<OwningCost>& owning = estimate.owning;
    const std::optional<BuyOrRent>& choice = estimate.buy_or_rent;
    const auto add = [&](const char* key, const char* title, Cell value, bool in_text = true) {
        figures.push_back({Part::owning, {key, title}, std::move(value), in_text});
    };
    const auto if_owned = [&owning](auto value) { return owning ? Cell(value(*owning)) : Cell(); };
    add("purchase_usd", "purchase USD", if_owned([](const OwningCost& o) { return o.purchase.in(usd); }));
    add("depreciation_usd_per_hour", "depreciation USD/h", if_owned([](const OwningCost& o) { return o.depreciation.in(usd_per_hour); }));
    add("electricity_usd_per_hour", "electricity USD/h", if_owned([](const OwningCost& o) { return o.electricity.in(usd_per_hour); }));
    add("owning_usd_per_hour", "TCO USD/h", if_owned([](const OwningCost& o) { return o.rate().in(usd_per_hour); }));
    add("owning_usd_per_item", "TCO USD/item", if_owned([](const OwningCost& o) { return o.per_item.in(usd); }), false);
    add("owning_usd_per_1000_items", "TCO USD/1000 items", if_owned([](const OwningCost& o) { return thousand * o.per_item.in(usd); }));
    add("owning_usd_per_million_output_tokens", "TCO USD/M output",
        owning && owning->per_output_token ? Cell(million * owning->per_output_token->in(usd)) : Cell());
    add("break_even_hours", "break-even hours", choice ? cell(choice->break_even, hour) : Cell());
    add("break_even_months", "months", choice ? cell(choice->break_even, month) : Cell());
    add("return_on_investment_percent", "ROI %", choice ? Cell(100 * choice->return_on_investment) : Cell());
}

}  // namespace

std::vector<Figure> figures_of(const NamedCost& c) {
    std::vector<Figure> figures;
    add_run(figures, c);
    add_rent(figures, c);
    add_energy(figures, c.estimate.energy);
    add_owning(figures, c.estimate);
    return figures;
}

void add_price_columns(std::vector<Figure>& figures, const std::string& key, const std::optional<PriceChoice>& choice) {
    const auto text = [&](const char* name, const std::string& value) {
        figures.push_back({Part::run, {key + name, key + name}, choice && !value.empty() ? Cell(value) : Cell()});
    };
    const Price none, &price = choice ? choice->price : none;
    figures.push_back({Part::run, {key + "_usd", key + "_usd"}, choice ? Cell(price.usd.in(usd)) : Cell()});
    text("_kind", price.kind);
    text("_provider", price.provider);
    text("_instance", price.instance);
    text("_provider_kind", price.provider_kind ? std::string(name(*price.provider_kind)) : std::string());
    figures.push_back({Part::run, {key + "_gpus_in_instance", ""}, price.gpus_in_instance ? Cell(*price.gpus_in_instance) : Cell()});
    text("_date", price.date);
    figures.push_back({Part::run, {key + "_age_days", ""}, choice && choice->age_days ? Cell(*choice->age_days) : Cell()});
    figures.push_back({Part::run, {key + "_older_than_a_year", ""}, choice ? Cell(choice->is_old()) : Cell()});
    text("_source", price.source);
}

}  // namespace roofcast
