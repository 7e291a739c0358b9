#include "report/cost_figures.hpp"

namespace roofcast {

namespace {

/// `times` of an amount of dollars, which `amount` gives as it is or as an optional.
auto in_usd(auto amount, double times = 1) {
    return [amount, times](const auto& costs) {
        return cell_if(std::optional<UsDollars>(std::invoke(amount, costs)), [times](UsDollars x) { return times * x.in(usd); });
    };
}
auto in_usd_per_hour(auto rate) {
    return [rate](const auto& costs) { return Cell(std::invoke(rate, costs).in(usd_per_hour)); };
}
auto in_joules(auto energy) {
    return [energy](const RunEnergy& e) { return cell_in(std::optional<Joules>(std::invoke(energy, e)), joule); };
}

}  // namespace

Fields<RentalCost> rental_fields() {
    using Rent = RentalCost;
    return {{{"usd_per_hour", "USD/h", 4, Show::always}, in_usd_per_hour(&Rent::rate)},
            {{"usd_per_item", "USD/item", 4, Show::data}, in_usd(&Rent::per_item)},
            {{"usd_per_1000_items", "USD/1000 items", 4, Show::always}, in_usd(&Rent::per_item, thousand)},
            {{"prefill_usd_per_million_input_tokens", "prefill USD/M input"}, in_usd(&Rent::per_input_token, million)},
            {{"decode_usd_per_million_output_tokens", "decode USD/M output"}, in_usd(&Rent::decode_per_output_token, million)},
            {{"usd_per_million_output_tokens", "USD/M output", 4, Show::always}, in_usd(&Rent::per_output_token, million)},
            {{"usd_per_million_tokens", "USD/M tokens"}, in_usd(&Rent::per_token, million)}};
}

Fields<RunEnergy> energy_fields() {
    return {{{"watts_per_gpu", "W/GPU"}, [](const RunEnergy& e) { return e.watts.in(watt); }},
            {{"joules_per_batch", "J/batch"}, in_joules(&RunEnergy::joules)},
            {{"joules_per_item", "J/item"}, in_joules(&RunEnergy::joules_per_item)},
            {{"joules_per_output_token", "J/output token"}, in_joules(&RunEnergy::joules_per_output_token)}};
}

Fields<OwningCost> owning_fields() {
    using Owning = OwningCost;
    return {{{"purchase_usd", "purchase USD"}, in_usd(&Owning::purchase)},
            {{"depreciation_usd_per_hour", "depreciation USD/h", 4, Show::wide}, in_usd_per_hour(&Owning::depreciation)},
            {{"electricity_usd_per_hour", "electricity USD/h", 4, Show::wide}, in_usd_per_hour(&Owning::electricity)},
            {{"owning_usd_per_hour", "TCO USD/h", 4, Show::always}, in_usd_per_hour(&Owning::rate)},
            {{"owning_usd_per_item", "TCO USD/item", 4, Show::data}, in_usd(&Owning::per_item)},
            {{"owning_usd_per_1000_items", "TCO USD/1000 items"}, in_usd(&Owning::per_item, thousand)},
            {{"owning_usd_per_million_output_tokens", "TCO USD/M output", 4, Show::always}, in_usd(&Owning::per_output_token, million)}};
}

Fields<BuyOrRent> buy_or_rent_fields() {
    return {{{"break_even_hours", "break-even hours", 4, Show::wide}, [](const BuyOrRent& x) { return cell_in(x.break_even, hour); }},
            {{"break_even_months", "break-even months", 3, Show::always}, [](const BuyOrRent& x) { return cell_in(x.break_even, month); }},
            {{"return_on_investment_percent", "ROI %", 4, Show::always}, [](const BuyOrRent& x) { return 100 * x.return_on_investment; }}};
}

Fields<PriceChoice> price_fields() {
    const auto text = [](std::string Price::*value) { return [value](const PriceChoice& c) { return text_cell(c.price.*value); }; };
    return {
        {{"kind", "kind"}, text(&Price::kind)},
        {{"usd", "USD"}, [](const PriceChoice& c) { return c.price.usd.in(usd); }},
        {{"provider", "provider"}, text(&Price::provider)},
        {{"instance", "instance"}, text(&Price::instance)},
        {{"date", "date"}, text(&Price::date)},
        {{"age_days", "age in days"}, [](const PriceChoice& c) { return cell_if(c.age_days, std::identity{}); }},
        {{"older_than_a_year", "older than a year"}, [](const PriceChoice& c) { return c.is_old(); }},
        {{"offers", "offers"}, [](const PriceChoice& c) { return static_cast<std::int64_t>(c.offers); }},
        {{"provider_kind", "provider kind"},
         [](const PriceChoice& c) { return cell_if(c.price.provider_kind, [](ProviderKind kind) { return std::string(name(kind)); }); }},
        {{"fallback", "no other cloud"}, [](const PriceChoice& c) { return c.fallback; }},
        {{"gpus_in_instance", "GPUs in instance"}, [](const PriceChoice& c) { return cell_if(c.price.gpus_in_instance, std::identity{}); }},
        {{"source", "source"}, text(&Price::source)}};
}

Fields<CostSettings> cost_settings_fields() {
    using Settings = CostSettings;
    return {{{"utilization", "utilization"}, &Settings::utilization},
            {{"electricity_usd_per_kwh", "USD/kWh"}, [](const Settings& c) { return c.electricity.in(usd / kilowatt_hour); }},
            {{"pue", "PUE"}, &Settings::pue},
            {{"host_watts", "CPU W/GPU"}, [](const Settings& c) { return c.host.in(watt); }},
            {{"life_years", "life years"}, &Settings::life_years},
            {{"residual", "residual"}, &Settings::residual},
            {{"horizon_years", "horizon years"}, [](const Settings& c) { return c.horizon_years.value_or(c.life_years); }}};
}

}  // namespace roofcast
