#include <fmt/format.h>

#include <memory>
#include <set>

#include "charts/charts.hpp"
#include "cli/command.hpp"
#include "cli/price_options.hpp"
#include "cli/run_options.hpp"
#include "report/run_reports.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

struct CompareOptions {
    CommonOptions common;
    RunOptions run;
    PriceOptions prices;
    std::vector<std::string> gpus;
    std::string model, policy = "all", objective = "throughput";
    std::int64_t items = 1000;
    bool allow_quantization = false;
    CLI::Option* execution = nullptr;  ///< whether --execution was given
};

std::vector<Gpu> load_gpus(const CompareOptions& options, Notes& notes) {
    if (options.gpus.size() < 2)
        throw Error({.what = "a comparison needs two GPUs", .key = "--gpu", .found = "one GPU", .expected = "two or more"});
    std::vector<Gpu> gpus;
    std::set<std::string> seen;
    for (const auto& id : options.gpus) {
        GpuProfile profile = load_chosen_gpu(options.common.gpus(), id, notes);
        if (!seen.insert(profile.id).second)
            throw Error({.what = "a GPU is given twice", .key = "--gpu", .found = profile.id, .suggestion = "name each once"});
        ParameterSet parameters = load_parameters(options.common.gpus(), profile, options.common.user_fits());
        gpus.push_back({std::move(profile), std::move(parameters)});
    }
    return gpus;
}

Objective required_objective(const std::string& text) {
    if (const auto objective = parse_objective(text)) return *objective;
    const std::vector<std::string> names{"throughput", "latency", "cost", "energy"};
    throw Error({.what = "unknown objective",
                 .key = "--objective",
                 .found = text,
                 .expected = fmt::format("{}", fmt::join(names, ", ")),
                 .suggestion = did_you_mean(text, names)});
}

void check(const CompareOptions& options) {
    const std::vector<std::string> policies{"baseline", "optimized", "both", "cost", "all"};
    if (std::find(policies.begin(), policies.end(), options.policy) == policies.end())
        throw Error({.what = "unknown policy",
                     .key = "--policy",
                     .found = options.policy,
                     .expected = fmt::format("{}", fmt::join(policies, ", ")),
                     .suggestion = did_you_mean(options.policy, policies)});
    constexpr std::int64_t most_items = std::int64_t{1} << 40;
    if (options.items < 1 || options.items > most_items)
        throw Error({.what = "out of range",
                     .key = "--items",
                     .found = std::to_string(options.items),
                     .expected = fmt::format("a whole number from 1 to {}", most_items)});
}

ComparisonRequest request_of(const CompareOptions& options, const Workload& workload) {
    return {.run = run_request(options.run, workload, nullptr, options.common.models()),
            .precision_fixed = !options.run.precision.empty(),
            .weights_fixed = !options.run.weights.empty(),
            .batch_fixed = options.run.batch.has_value(),
            // An engine runs in the ways that it has, which the user chose.
            .execution_fixed = options.execution->count() > 0 || !options.run.software.empty(),
            .offload_fixed = !options.run.techniques.offload.empty(),
            .objective = required_objective(options.objective),
            .allow_quantization = options.allow_quantization};
}

void run(const CompareOptions& options) {
    check(options);
    const Date day = today(options.prices);
    const SoftwareStacks software = load_software(options.common.software());
    Notes notes;
    require_software(options.run, software, notes);
    const std::vector<Gpu> gpus = load_gpus(options, notes);
    const Workload workload = find_workload(options.common.models(), options.model);
    NamedComparison named{.model_id = workload.id,
                          .model_name = workload.name,
                          .request = request_of(options, workload),
                          .items = options.items,
                          .today = day,
                          .baseline = {},
                          .optimized = {},
                          .shows_optimized = options.policy != "cost",
                          .shows_cost = options.policy == "cost" || options.policy == "all",
                          .notes = {}};
    std::vector<Contestant> contestants;
    for (const Gpu& gpu : gpus) {
        contestants.push_back({&gpu, rent_of(gpu.profile, options.prices, day)});
        if (!contestants.back().rental_price) named.notes.push_back(no_price_text(gpu.profile, rent_query(options.prices), rent_option));
    }
    std::vector<std::pair<std::string, std::optional<PriceChoice>>> prices;
    for (const Contestant& c : contestants) prices.emplace_back(c.gpu->profile.id, c.rental_price);
    if (auto text = unlike_prices(prices)) named.notes.push_back(*std::move(text));
    const bool side_by_side = options.policy == "all" || options.policy == "both" || options.policy == "baseline";
    if (side_by_side) named.baseline = baseline_comparison(workload, contestants, named.request, software);
    if (options.policy != "baseline") named.optimized = optimized_comparison(workload, contestants, named.request, software);
    write(with_charts(comparison_report(named), comparison_charts(named)), options.common);
    notes.print(options.common);
    const auto answers = [](const std::optional<Comparison>& comparison) { return comparison && comparison->reference; };
    end_with(answers(named.baseline) || answers(named.optimized) ? ExitCode::answered : ExitCode::no);
}

}  // namespace

void add_compare_command(CLI::App& app) {
    auto options = std::make_shared<CompareOptions>();
    CLI::App* command = app.add_subcommand("compare");
    command->add_option("-g,--gpu", options->gpus, "GPU ids, aliases or profile files, two or more. The first is 1x")
        ->delimiter(',')
        ->required();
    command->add_option("-m,--model", options->model, "Model id, alias, hub id, or a file: TOML, config.json, ONNX, GGUF, safetensors")
        ->required();
    command->add_option("--policy", options->policy, "Comparisons to make: baseline, optimized, both (of these), cost or all")
        ->capture_default_str();
    command->add_option("--objective", options->objective, "What to optimize for: throughput, latency, cost or energy")
        ->capture_default_str();
    command->add_flag("--allow-quantization", options->allow_quantization, "Also search 8- and 4-bit formats where wider ones fit");
    command->add_option("--items", options->items, "Images or requests in the batch job")->capture_default_str();
    add_run_options(*command, options->run);
    add_pcie_option(*command, options->run);
    options->execution = command->get_option("--execution");
    add_rent_options(*command, options->prices);
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
