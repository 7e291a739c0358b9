#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "charts/charts.hpp"
#include "cli/command.hpp"
#include "cli/price_options.hpp"
#include "cli/run_options.hpp"
#include "prediction/shapes.hpp"
#include "report/run_reports.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

struct CostOptions {
    CommonOptions common;
    RunOptions run;
    PriceOptions prices;
    std::vector<std::string> gpus, models;
    double usd_per_kwh = CostSettings{}.electricity.in(usd / kilowatt_hour), host_watts = 0;
    CostSettings settings;
    std::optional<double> horizon_years;
};

CostSettings settings_of(const CostOptions& options) {
    CostSettings settings = options.settings;
    // Only what is not the default goes through its unit and back.
    if (options.usd_per_kwh != CostOptions{}.usd_per_kwh) settings.electricity = options.usd_per_kwh * usd / kilowatt_hour;
    settings.host = options.host_watts * watt;
    settings.horizon_years = options.horizon_years;
    check(settings);
    return settings;
}

/// Why rent or ownership of a run is missing.
std::vector<std::string> missing(const CostOptions& options, const CostEstimate& estimate, const GpuProfile& gpu) {
    std::vector<std::string> notes;
    if (!estimate.rental_price) notes.push_back(no_price_text(gpu, rent_query(options.prices), rent_option));
    if (!estimate.purchase_price) notes.push_back(no_price_text(gpu, {.kind = PriceKind::purchase}, purchase_option));
    return notes;
}

NamedCost named_cost(const CostOptions& options, const CostSettings& settings, const Workload& workload, const Gpu& gpu,
                     const SoftwareStacks& software, Date day) {
    const Run request = run_request(options.run, workload, &gpu.profile, options.common.models());
    const auto rental_price = rent_of(gpu.profile, options.prices, day), purchase_price = purchase_of(gpu.profile, options.prices, day);
    NamedCost cost{{workload.id,
                    workload.name,
                    gpu.profile.id,
                    gpu.profile.name,
                    predict(workload, gpu, request, software),
                    {},
                    gpu.profile.assumed,
                    &gpu},
                   {},
                   {}};
    Prediction& p = cost.named.prediction;
    if (options.run.precision.empty()) p.notes.push_back(precision_note(workload, gpu.profile, p.request.precision));
    if (p.memory.fits() == false)
        cost.named.advice =
            memory_advice(workload, p.request, software, *p.memory.usable, can_offload(gpu.profile), gpu.profile.gpus_per_machine);
    if (!p.runs()) return cost;
    cost.estimate = cost_estimate(p, context_tokens(workload, p.request), gpu, rental_price, purchase_price, settings);
    for (auto& text : missing(options, cost.estimate, gpu.profile)) cost.notes.push_back(std::move(text));
    return cost;
}

bool has_no_cost(const NamedCost& cost) {
    return !cost.estimate.rental && !cost.estimate.owning;
}

/// Nothing is left to show: says why the first run has no cost.
[[noreturn]] void refuse_without_cost(const CostOptions& options, const NamedCost& cost, Date day) {
    static_cast<void>(choose_price(cost.named.gpu->profile, rent_query(options.prices), day, rent_option));
    throw Error({.what = fmt::format("{}", fmt::join(cost.notes, "; "))});
}

void run(const CostOptions& options) {
    const CostSettings settings = settings_of(options);
    const Date day = today(options.prices);
    const SoftwareStacks software = load_software(options.common.software());
    Notes notes;
    require_software(options.run, software, notes);
    std::vector<Gpu> gpus;
    for (const auto& id : options.gpus) {
        GpuProfile profile = load_chosen_gpu(options.common.gpus(), id, notes);
        ParameterSet parameters = load_parameters(options.common.gpus(), profile, options.common.user_fits());
        gpus.push_back({std::move(profile), std::move(parameters)});
    }
    std::vector<NamedCost> costs;
    for (const auto& model : options.models) {
        const Workload workload = find_workload(options.common.models(), model);
        for (const Gpu& gpu : gpus) costs.push_back(named_cost(options, settings, workload, gpu, software, day));
    }
    const auto first = std::find_if(costs.begin(), costs.end(), [](const NamedCost& cost) { return cost.named.prediction.runs(); });
    const bool any_runs = first != costs.end();
    if (any_runs && std::all_of(costs.begin(), costs.end(), has_no_cost)) refuse_without_cost(options, *first, day);
    std::vector<std::pair<std::string, std::optional<PriceChoice>>> rents;
    for (const NamedCost& cost : costs) rents.emplace_back(cost.named.gpu->profile.id, cost.estimate.rental_price);
    if (auto text = unlike_prices(rents)) costs.back().notes.push_back(*std::move(text));
    write(with_charts(cost_report(costs, settings, day), cost_charts(costs)), options.common);
    notes.print(options.common);
    end_with(any_runs ? ExitCode::answered : ExitCode::no);
}

void add_settings(CLI::App& command, CostOptions& o) {
    command.add_option("--utilization", o.settings.utilization, "Fraction of the paid hours in which the GPUs are busy")
        ->capture_default_str();
    command.add_option("--electricity", o.usd_per_kwh, "Price of electricity in US dollars per kWh, for owned GPUs")->capture_default_str();
    command.add_option("--pue", o.settings.pue, "Power usage effectiveness: power of the site over that of its machines")
        ->capture_default_str();
    command.add_option("--host-watts", o.host_watts, "Power of the rest of the machine in watts per GPU")->capture_default_str();
    command.add_option("--life-years", o.settings.life_years, "Years of use over which a purchase is depreciated")->capture_default_str();
    command.add_option("--residual", o.settings.residual, "Fraction of the purchase price that remains after --life-years")
        ->capture_default_str();
    command.add_option("--horizon-years", o.horizon_years, "Years over which the return on investment is computed (default: --life-years)");
}

}  // namespace

void add_cost_command(CLI::App& app) {
    auto options = std::make_shared<CostOptions>();
    CLI::App* command = app.add_subcommand("cost");
    command->add_option("-g,--gpu", options->gpus, "GPU id, alias or profile file. Several are allowed")->delimiter(',')->required();
    command
        ->add_option("-m,--model", options->models,
                     "Model id, alias, hub id, or a file: TOML, config.json, ONNX, GGUF, safetensors. Several are allowed")
        ->required();
    add_run_options(*command, options->run);
    add_pcie_option(*command, options->run);
    add_rent_options(*command, options->prices);
    add_purchase_option(*command, options->prices);
    add_settings(*command, *options);
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
