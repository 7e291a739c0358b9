#include "report/run_parts.hpp"

#include <fmt/format.h>

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

std::string weights_text(const Run& run) {
    const std::string format(name(run.weight_format()));
    return run.expert_weights ? fmt::format("{}, experts {}", format, name(*run.expert_weights)) : format;
}

std::string parallel_text(const Parallelism& p) {
    if (p.gpus() == 1) return {};
    return fmt::format(", {} GPUs (tp {}, pp {}, dp {}{}{})", p.gpus(), p.tensor, p.pipeline, p.data,
                       p.expert > 1 ? fmt::format(", ep {}", p.expert) : "",
                       p.attention_data > 1 ? fmt::format(", attention dp {}", p.attention_data) : "");
}

Json parallel_json(const Parallelism& p) {
    return {{"gpus", p.gpus()}, {"tensor", p.tensor}, {"pipeline", p.pipeline},
            {"data", p.data},   {"expert", p.expert}, {"attention_data", p.attention_data}};
}

std::string tokens_text(const Prediction& p) {
    const Run& run = p.request;
    if (p.ttft) return fmt::format(", {} prompt and {} output tokens", run.prompt_tokens, run.generate_tokens);
    return run.prompt_tokens > 0 ? fmt::format(", {} tokens", run.prompt_tokens) : "";
}

std::string remedies_line(const std::vector<std::string>& remedies) {
    if (!remedies.empty()) return fmt::format("What would fit: {}.", fmt::join(remedies, "; "));
    return "Nothing among fewer bits, up to 16 GPUs, both together, smaller batch or context, weights in host memory makes it fit.";
}

std::vector<std::string> obstacle_lines(const NamedPrediction& n) {
    const Prediction& p = n.prediction;
    std::vector<std::string> lines;
    if (!p.withheld.empty()) lines.push_back(fmt::format("No total: no kernel model covers {}.", fmt::join(p.withheld, ", ")));
    if (p.memory.fits() != false) return lines;
    lines.push_back(
        fmt::format("It does not fit: {}, {:.1f} GB too much.", needs_text(p.memory), (p.memory.total() - *p.memory.usable).in(gb)));
    lines.push_back(remedies_line(n.advice.remedies));
    return lines;
}

std::string assumed_keys(const std::vector<Assumption>& assumed, std::string_view separator) {
    std::vector<std::string_view> keys;
    for (const Assumption& a : assumed) keys.push_back(a.key);
    return fmt::format("{}", fmt::join(keys, separator));
}

std::vector<std::string> assumed_lines(const std::vector<Assumption>& assumed, const std::string& prefix) {
    constexpr std::size_t most = 3, most_named = 8;
    if (assumed.size() > most) {
        const std::string keys = assumed.size() > most_named ? "" : ": " + assumed_keys(assumed, ", ");
        return {fmt::format("{}assumed: {} values that the profile does not state{}. `roofcast gpu show` gives them.", prefix,
                            assumed.size(), keys)};
    }
    std::vector<std::string> lines;
    for (const Assumption& a : assumed) lines.push_back(fmt::format("{}assumed: {} = {} ({})", prefix, a.key, a.value, a.reason));
    return lines;
}

Json as_json(const std::vector<Assumption>& assumed) {
    auto list = Json::array();
    for (const Assumption& a : assumed) list.push_back({{"key", a.key}, {"value", a.value}, {"reason", a.reason}});
    return list;
}

void add_assumed(Report& report, const GpuProfile& gpu) {
    report.document["assumed"][gpu.id] = as_json(gpu.assumed);
    add_lines(report.after, assumed_lines(gpu.assumed, gpu.id + ": "));
}

Json skipped_json(const SkippedRows& skipped) {
    const Fields<SkippedReason> fields{{{"rows", "rows"}, &SkippedReason::rows},
                                       {{"file", "file"}, &SkippedReason::file},
                                       {{"line", "line"}, &SkippedReason::line},
                                       {{"reason", "reason"}, &SkippedReason::reason}};
    return as_json(table_of({}, skipped.reasons(), fields));
}

Fields<Run> run_fields() {
    const Fields<Run> fields{
        {{"precision", "precision"}, &Run::precision},
        {{"weights", "weights"}, weights_text},
        {{"kv_precision", "KV"}, &Run::cache_precision},
        {{"execution", "execution"}, &Run::execution},
        {{"batch", "batch"}, &Run::batch},
        {{"prompt_tokens", "prompt"}, &Run::prompt_tokens, count_cell},
        {{"output_tokens", "output"}, &Run::generate_tokens, count_cell},
        {{"image_size", "pixels"}, &Run::image_size, count_cell},
        {{"gpus", "GPUs"}, &Run::parallel, &Parallelism::gpus},
        {{"tensor_parallel", "tp"}, &Run::parallel, &Parallelism::tensor},
        {{"pipeline_parallel", "pp"}, &Run::parallel, &Parallelism::pipeline},
        {{"data_parallel", "dp"}, &Run::parallel, &Parallelism::data},
        {{"streams", "streams"},  // without a number, an engine has its own
         [](const Run& run) { return run.streams || run.software.empty() ? Cell(std::int64_t{run.streams.value_or(1)}) : Cell(); }}};
    return shown(fields, Show::setting);
}

Fields<Speculation> speculation_fields() {
    return {{{"draft", "draft"}, [](const Speculation& x) { return x.draft->id; }},
            {{"draft_tokens", "draft tokens"}, &Speculation::tokens},
            {{"acceptance", "acceptance"}, &Speculation::acceptance}};
}

Fields<MemoryEstimate> memory_fields() {
    using Memory = MemoryEstimate;
    return {{{"memory_gb", "memory GB", 3}, &Memory::total, gb},
            {{"capacity_gb", "usable GB", 3, Show::wide}, &Memory::usable, gb},
            {{"fits", "fits", Show::always, false, tone_of(false, Tone::bad)}, &Memory::fits}};
}

Fields<MemoryEstimate> memory_part_fields(const std::string& unit) {
    using Memory = MemoryEstimate;
    return {{{"weights_gb", "weights" + unit}, &Memory::weights, gb},
            {{"kv_cache_gb", "KV cache" + unit}, &Memory::kv_cache, gb},
            {{"activations_gb", "activations" + unit}, &Memory::activations, gb},
            {{"overhead_gb", "framework" + unit}, &Memory::overhead, gb},
            {{"total_gb", "total" + unit}, &Memory::total, gb}};
}

Fields<Utilization> utilization_fields() {
    return {{{"compute_percent", "% of peak", 3}, &Utilization::compute, percent},
            {{"bandwidth_percent", "% of bandwidth", 3}, &Utilization::bandwidth, percent},
            {{"power_percent", "% of TDP", 3, Show::wide}, &Utilization::power, percent}};
}

std::string bound_title(std::string_view bound) {
    return fmt::format("{}% {}", interval_percent, bound);
}

Fields<RentalCost> rental_fields() {
    using Rent = RentalCost;
    return {{{"usd_per_hour", "USD/h", Show::always}, &Rent::rate, usd_per_hour},
            {{"usd_per_item", "USD/item", Show::data}, &Rent::per_item, usd},
            {{"usd_per_1000_items", "USD/1000 items", Show::always}, in_usd(&Rent::per_item, thousand)},
            {{"prefill_usd_per_million_input_tokens", "prefill USD/M input"}, in_usd(&Rent::per_input_token, million)},
            {{"decode_usd_per_million_output_tokens", "decode USD/M output"}, in_usd(&Rent::decode_per_output_token, million)},
            {{"usd_per_million_output_tokens", "USD/M output", Show::always}, in_usd(&Rent::per_output_token, million)},
            {{"usd_per_million_tokens", "USD/M tokens"}, in_usd(&Rent::per_token, million)}};
}

Fields<RunEnergy> energy_fields() {
    return {{{"watts_per_gpu", "W/GPU"}, &RunEnergy::watts, watt},
            {{"joules_per_batch", "J/batch"}, &RunEnergy::joules, joule},
            {{"joules_per_item", "J/item"}, &RunEnergy::joules_per_item, joule},
            {{"joules_per_output_token", "J/output token"}, &RunEnergy::joules_per_output_token, joule}};
}

Fields<OwningCost> owning_fields() {
    using Owning = OwningCost;
    return {{{"purchase_usd", "purchase USD"}, &Owning::purchase, usd},
            {{"depreciation_usd_per_hour", "depreciation USD/h", Show::wide}, &Owning::depreciation, usd_per_hour},
            {{"electricity_usd_per_hour", "electricity USD/h", Show::wide}, &Owning::electricity, usd_per_hour},
            {{"owning_usd_per_hour", "TCO USD/h", Show::always}, &Owning::rate, usd_per_hour},
            {{"owning_usd_per_item", "TCO USD/item", Show::data}, &Owning::per_item, usd},
            {{"owning_usd_per_1000_items", "TCO USD/1000 items"}, in_usd(&Owning::per_item, thousand)},
            {{"owning_usd_per_million_output_tokens", "TCO USD/M output", Show::always}, in_usd(&Owning::per_output_token, million)}};
}

Fields<BuyOrRent> buy_or_rent_fields() {
    return {{{"break_even_hours", "break-even hours", Show::wide}, &BuyOrRent::break_even, hour},
            {{"break_even_months", "break-even months", 3, Show::always}, &BuyOrRent::break_even, month},
            {{"return_on_investment_percent", "ROI %", Show::always}, &BuyOrRent::return_on_investment, percent}};
}

Fields<PriceChoice> price_fields() {
    const auto text = [](std::string Price::*value) { return [value](const PriceChoice& c) { return text_cell(c.price.*value); }; };
    return {{{"kind", "kind"}, text(&Price::kind)},
            {{"usd", "USD"}, [](const PriceChoice& c) { return c.price.usd; }, usd},
            {{"provider", "provider"}, text(&Price::provider)},
            {{"instance", "instance"}, text(&Price::instance)},
            {{"date", "date"}, text(&Price::date)},
            {{"age_days", "age in days"}, &PriceChoice::age_days},
            {{"older_than_a_year", "older than a year"}, &PriceChoice::is_old},
            {{"offers", "offers"}, &PriceChoice::offers},
            {{"provider_kind", "provider kind"}, &PriceChoice::price, &Price::provider_kind},
            {{"fallback", "no other cloud"}, &PriceChoice::fallback},
            {{"gpus_in_instance", "GPUs in instance"}, &PriceChoice::price, &Price::gpus_in_instance},
            {{"source", "source"}, text(&Price::source)}};
}

Fields<CostSettings> cost_settings_fields() {
    using Settings = CostSettings;
    return {{{"utilization", "utilization"}, &Settings::utilization},
            {{"electricity_usd_per_kwh", "USD/kWh"}, &Settings::electricity, usd / kilowatt_hour},
            {{"pue", "PUE"}, &Settings::pue},
            {{"host_watts", "CPU W/GPU"}, &Settings::host, watt},
            {{"life_years", "life years"}, &Settings::life_years},
            {{"residual", "residual"}, &Settings::residual},
            {{"horizon_years", "horizon years"}, [](const Settings& c) { return c.horizon_years.value_or(c.life_years); }}};
}

}  // namespace roofcast
