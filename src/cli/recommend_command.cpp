#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <set>

#include "cli/command.hpp"
#include "cli/price_options.hpp"
#include "cli/run_options.hpp"
#include "cli/serving_options.hpp"
#include "report/recommendation_report.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

struct RecommendOptions {
    CommonOptions common;
    RunOptions run;
    PriceOptions prices;
    std::vector<std::string> gpus;
    std::string model, slo, rate, queueing = "on";
    std::optional<double> budget;
    std::int64_t top = 10;
    bool allow_quantization = false, by_bound = false;
};

void check(const RecommendOptions& o) {
    const std::pair<const char*, bool> degrees[] = {{"--gpus", o.run.gpus.has_value()},
                                                    {"--tp", o.run.tensor.has_value()},
                                                    {"--pp", o.run.pipeline.has_value()},
                                                    {"--dp", o.run.data.has_value()},
                                                    {"--ep", o.run.expert.has_value()}};
    for (const auto& [option, is_given] : degrees) {
        if (is_given)
            throw Error({.what = "how many GPUs to take is what is searched for",
                         .key = option,
                         .suggestion = "leave it out; roofcast predict takes it"});
    }
    constexpr std::int64_t most_rows = 1000;
    if (o.top < 1 || o.top > most_rows)
        throw Error({.what = "out of range",
                     .key = "--top",
                     .found = std::to_string(o.top),
                     .expected = fmt::format("a whole number from 1 to {}", most_rows)});
    constexpr double most_usd_per_hour = 1e7;
    if (o.budget && !(std::isfinite(*o.budget) && *o.budget > 0 && *o.budget <= most_usd_per_hour))
        throw Error({.what = "out of range",
                     .key = "--budget",
                     .found = fmt::format("{}", *o.budget),
                     .expected = fmt::format("US dollars per hour for all GPUs, above 0 and at most {}", most_usd_per_hour)});
    if (o.prices.usd_per_hour && o.gpus.size() != 1)
        throw Error({.what = "one price cannot be that of several GPUs",
                     .key = rent_option,
                     .found = fmt::format("{}", *o.prices.usd_per_hour),
                     .suggestion = "name the GPU with one --gpu"});
}

/// Those asked for, else the catalogue.
std::vector<Gpu> load_gpus(const RecommendOptions& o, Notes& notes) {
    const auto folder = o.common.gpus();
    std::vector<GpuProfile> profiles;
    if (o.gpus.empty()) profiles = load_gpu_catalogue(folder);
    for (const auto& id : o.gpus) profiles.push_back(load_chosen_gpu(folder, id, notes));
    std::vector<Gpu> gpus;
    std::set<std::string> seen;
    for (GpuProfile& profile : profiles) {
        if (!seen.insert(profile.id).second)
            throw Error({.what = "a GPU stands twice", .key = "--gpu", .found = profile.id, .suggestion = "name it once"});
        ParameterSet parameters = load_parameters(folder, profile, o.common.user_fits());
        gpus.push_back({std::move(profile), std::move(parameters)});
    }
    return gpus;
}

RecommendationRequest request_of(const RecommendOptions& o, const Workload& workload) {
    RecommendationRequest request{.run = run_request(o.run, workload, nullptr, o.common.models()),
                                  .precision_fixed = !o.run.precision.empty(),
                                  .weights_fixed = !o.run.weights.empty(),
                                  .batch_fixed = o.run.batch.has_value(),
                                  .allow_quantization = o.allow_quantization,
                                  .objective = service_objective(o.slo),
                                  .rate = {},
                                  .budget = {},
                                  .by_bound = o.by_bound,
                                  .queueing = {}};
    if (o.queueing == "on") request.queueing = QueueingTest{.finalists = static_cast<std::size_t>(o.top)};
    if (!o.rate.empty()) request.rate = required_rate(o.rate);
    if (o.budget) request.budget = *o.budget * usd / hour;
    return request;
}

void run(const RecommendOptions& o) {
    check(o);
    const Date day = today(o.prices);
    const SoftwareStacks software = load_software(o.common.gpus());
    require_software(o.run, software);
    Notes notes;
    const Workload workload = find_workload(o.common.models(), o.model);
    NamedRecommendation named{.model_id = workload.id,
                              .model_name = workload.name,
                              .request = request_of(o, workload),
                              .contestants = {},
                              .answer = {},
                              .top = static_cast<std::size_t>(o.top),
                              .today = day,
                              .notes = {}};
    const std::vector<Gpu> gpus = load_gpus(o, notes);
    require_offer(gpus, rent_query(o.prices));
    // A GPU that the user names is ranked at the price that it has.
    const auto rents = o.gpus.empty() ? like_rents(gpus, o.prices, day, named.notes) : std::vector<std::optional<PriceChoice>>{};
    for (std::size_t i = 0; i < gpus.size(); ++i)
        named.contestants.push_back({&gpus[i], o.gpus.empty() ? rents[i] : rent_of(gpus[i].profile, o.prices, day)});
    std::vector<std::pair<std::string, std::optional<PriceChoice>>> prices;
    for (const Contestant& c : named.contestants) prices.emplace_back(c.gpu->profile.id, c.rental_price);
    if (auto text = unlike_prices(prices); text && !o.gpus.empty()) named.notes.push_back(*std::move(text));
    named.answer = recommend(workload, named.contestants, named.request, software);
    named.request.run = completed_sizes(named.request.run, workload);
    write(recommendation_report(named), o.common);
    notes.print();
}

}  // namespace

void add_recommend_command(CLI::App& app) {
    auto options = std::make_shared<RecommendOptions>();
    CLI::App* command = app.add_subcommand("recommend", "Which GPUs to rent for a model that is to answer in time, cheapest first");
    command->add_option("--model", options->model, "Model id, TOML file or Hugging Face config.json")->required();
    command->add_option("--slo", options->slo, "Limits: ttft=200ms,tpot=30ms,latency=5s, or some of them")->required();
    command->add_option("--rate", options->rate, "Requests per second of all copies: 5 or 5/s (default: one copy at full load)");
    command->add_option("--budget", options->budget, "US dollars per hour that the rent of all GPUs may come to");
    command->add_option("--gpu", options->gpus, "Only these: GPU id, alias or profile file (default: all of roofcast gpu list)");
    command->add_flag("--allow-quantization", options->allow_quantization, "Formats of 8 and 4 bits, too");
    command->add_flag("--by-bound", options->by_bound, "Limits and rate are to hold at the upper bound of the interval of the times");
    command
        ->add_option("--queueing", options->queueing,
                     "on: with --rate, the deployments shown hold --slo under random arrivals; off: only one batch at a time")
        ->check(CLI::IsMember({"on", "off"}))
        ->capture_default_str();
    command->add_option("--top", options->top, "Rows of the ranking")->capture_default_str();
    add_run_options(*command, options->run);
    add_rent_options(*command, options->prices);
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
