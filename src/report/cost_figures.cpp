#include "report/cost_figures.hpp"

namespace roofcast {

namespace {

/// `times` of an amount of dollars, which `amount` gives as it is or as an optional.
auto in_usd(auto amount, double times) {
    return [amount, times](const auto& costs) {
        const std::optional<UsDollars> usd_of_one = std::invoke(amount, costs);
        return usd_of_one ? Cell(times * usd_of_one->in(usd)) : Cell();
    };
}

}  // namespace

const Fields<RentalCost>& rental_fields() {
    using Rent = RentalCost;
    static const Fields<Rent> fields{
        {{"usd_per_hour", "USD/h", 4, Show::always}, &Rent::rate, usd_per_hour},
        {{"usd_per_item", "USD/item", 4, Show::data}, &Rent::per_item, usd},
        {{"usd_per_1000_items", "USD/1000 items", 4, Show::always}, in_usd(&Rent::per_item, thousand)},
        {{"prefill_usd_per_million_input_tokens", "prefill USD/M input"}, in_usd(&Rent::per_input_token, million)},
        {{"decode_usd_per_million_output_tokens", "decode USD/M output"}, in_usd(&Rent::decode_per_output_token, million)},
        {{"usd_per_million_output_tokens", "USD/M output", 4, Show::always}, in_usd(&Rent::per_output_token, million)},
        {{"usd_per_million_tokens", "USD/M tokens"}, in_usd(&Rent::per_token, million)}};
    return fields;
}

const Fields<RunEnergy>& energy_fields() {
    static const Fields<RunEnergy> fields{{{"watts_per_gpu", "W/GPU"}, &RunEnergy::watts, watt},
                                          {{"joules_per_batch", "J/batch"}, &RunEnergy::joules, joule},
                                          {{"joules_per_item", "J/item"}, &RunEnergy::joules_per_item, joule},
                                          {{"joules_per_output_token", "J/output token"}, &RunEnergy::joules_per_output_token, joule}};
    return fields;
}

const Fields<OwningCost>& owning_fields() {
    using Owning = OwningCost;
    static const Fields<Owning> fields{
        {{"purchase_usd", "purchase USD"}, &Owning::purchase, usd},
        {{"depreciation_usd_per_hour", "depreciation USD/h", 4, Show::wide}, &Owning::depreciation, usd_per_hour},
        {{"electricity_usd_per_hour", "electricity USD/h", 4, Show::wide}, &Owning::electricity, usd_per_hour},
        {{"owning_usd_per_hour", "TCO USD/h", 4, Show::always}, &Owning::rate, usd_per_hour},
        {{"owning_usd_per_item", "TCO USD/item", 4, Show::data}, &Owning::per_item, usd},
        {{"owning_usd_per_1000_items", "TCO USD/1000 items"}, in_usd(&Owning::per_item, thousand)},
        {{"owning_usd_per_million_output_tokens", "TCO USD/M output", 4, Show::always}, in_usd(&Owning::per_output_token, million)}};
    return fields;
}

const Fields<BuyOrRent>& buy_or_rent_fields() {
    static const Fields<BuyOrRent> fields{
        {{"break_even_hours", "break-even hours", 4, Show::wide}, &BuyOrRent::break_even, hour},
        {{"break_even_months", "break-even months", 3, Show::always}, &BuyOrRent::break_even, month},
        {{"return_on_investment_percent", "ROI %", 4, Show::always}, [](const BuyOrRent& x) { return 100 * x.return_on_investment; }}};
    return fields;
}

const Fields<PriceChoice>& price_fields() {
    const auto text = [](std::string Price::*value) { return [value](const PriceChoice& c) { return text_cell(c.price.*value); }; };
    static const Fields<PriceChoice> fields{
        {{"kind", "kind"}, text(&Price::kind)},
        {{"usd", "USD"}, [](const PriceChoice& c) { return c.price.usd; }, usd},
        {{"provider", "provider"}, text(&Price::provider)},
        {{"instance", "instance"}, text(&Price::instance)},
        {{"date", "date"}, text(&Price::date)},
        {{"age_days", "age in days"}, &PriceChoice::age_days},
        {{"older_than_a_year", "older than a year"}, &PriceChoice::is_old},
        {{"offers", "offers"}, &PriceChoice::offers},
        {{"provider_kind", "provider kind"}, [](const PriceChoice& c) { return c.price.provider_kind; }},
        {{"fallback", "no other cloud"}, &PriceChoice::fallback},
        {{"gpus_in_instance", "GPUs in instance"}, [](const PriceChoice& c) { return c.price.gpus_in_instance; }},
        {{"source", "source"}, text(&Price::source)}};
    return fields;
}

const Fields<CostSettings>& cost_settings_fields() {
    using Settings = CostSettings;
    static const Fields<Settings> fields{
        {{"utilization", "utilization"}, &Settings::utilization},
        {{"electricity_usd_per_kwh", "USD/kWh"}, &Settings::electricity, usd / kilowatt_hour},
        {{"pue", "PUE"}, &Settings::pue},
        {{"host_watts", "CPU W/GPU"}, &Settings::host, watt},
        {{"life_years", "life years"}, &Settings::life_years},
        {{"residual", "residual"}, &Settings::residual},
        {{"horizon_years", "horizon years"}, [](const Settings& c) { return c.horizon_years.value_or(c.life_years); }}};
    return fields;
}

nlohmann::ordered_json as_json(const std::optional<PriceChoice>& choice) {
    return choice ? json_of(*choice, price_fields()) : nlohmann::ordered_json();
}

}  // namespace roofcast
