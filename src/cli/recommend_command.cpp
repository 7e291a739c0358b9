#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <set>

#include "charts/charts.hpp"
#include "cli/check_command.hpp"
#include "cli/command.hpp"
#include "cli/emit.hpp"
#include "cli/exit_code.hpp"
#include "cli/price_options.hpp"
#include "cli/progress.hpp"
#include "cli/run_options.hpp"
#include "cli/serving_options.hpp"
#include "io/number_text.hpp"
#include "report/recommendation_tables.hpp"
#include "report/run_reports.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

struct RecommendOptions {
    CommonOptions common;
    RunOptions run;
    PriceOptions prices;
    std::vector<std::string> gpus;
    std::string model, slo, rate, emit, confidence{name(Confidence::expected)};
    std::optional<double> budget;
    std::optional<std::int64_t> most_gpus, top;
    bool allow_quantization = false, all = false;
};

constexpr std::int64_t usual_rows = 10, most_rows = 1'000'000;

void check(const RecommendOptions& o) {
    const std::pair<const char*, bool> degrees[] = {{"--gpus", o.run.gpus.has_value()},
                                                    {"--dp", o.run.data.has_value()},
                                                    {"--ep", o.run.expert.has_value()},
                                                    {"--attention-dp", o.run.attention_data.has_value()}};
    for (const auto& [option, is_given] : degrees) {
        if (is_given)
            throw Error({.what = "recommend searches for the number of GPUs itself",
                         .key = option,
                         .suggestion = "use --tp and --pp for the GPUs of one copy, and --max-gpus for all GPUs"});
    }
    const auto within = [](const char* option, const std::optional<std::int64_t>& value, std::int64_t most) {
        if (value && (*value < 1 || *value > most))
            throw Error({.what = "out of range",
                         .key = option,
                         .found = std::to_string(*value),
                         .expected = fmt::format("a whole number from 1 to {}", most)});
    };
    within("--top", o.top, most_rows);
    within("--max-gpus", o.most_gpus, largest_run_count);
    constexpr double most_usd_per_hour = 1e7;
    if (o.budget && !(std::isfinite(*o.budget) && *o.budget > 0 && *o.budget <= most_usd_per_hour))
        throw Error({.what = "out of range",
                     .key = "--budget",
                     .found = fmt::format("{}", *o.budget),
                     .expected = fmt::format("US dollars per hour for all GPUs, above 0, at most {}", most_usd_per_hour)});
    if (o.prices.usd_per_hour && o.gpus.size() != 1)
        throw Error({.what = "one price cannot stand for several GPUs",
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
            throw Error({.what = "a GPU is given twice", .key = "--gpu", .found = profile.id, .suggestion = "name each once"});
        ParameterSet parameters = load_parameters(folder, profile, o.common.user_fits());
        gpus.push_back({std::move(profile), std::move(parameters)});
    }
    return gpus;
}

RecommendationRequest request_of(const RecommendOptions& o, const Workload& workload) {
    RecommendationRequest request;
    request.run = run_request(o.run, workload, nullptr, o.common.models());
    request.precision_fixed = !o.run.precision.empty();
    request.weights_fixed = !o.run.weights.empty();
    request.batch_fixed = o.run.batch.has_value();
    request.allow_quantization = o.allow_quantization;
    request.tensor = o.run.tensor;
    request.pipeline = o.run.pipeline;
    request.most_gpus = o.most_gpus;
    request.objective = service_objective(o.slo);
    if (!o.rate.empty()) request.rate = required_rate(o.rate);
    if (o.budget) request.budget = *o.budget * usd / hour;
    request.confidence = o.confidence == name(Confidence::upper) ? Confidence::upper : Confidence::expected;
    request.all_settings = o.all;
    request.without_prices = !o.gpus.empty();
    return request;
}

/// All rows where GPUs are named or --all asks for them.
std::size_t rows_shown(const RecommendOptions& o) {
    const bool few = !o.all && o.gpus.empty();
    return static_cast<std::size_t>(o.top.value_or(few ? usual_rows : most_rows));
}

/// With what rents it; a price that the user gives is of any number of GPUs.
Contestant contestant_of(const Gpu& gpu, std::optional<PriceChoice> price, const PriceOptions& options) {
    Contestant contestant{.gpu = &gpu, .rental_price = std::move(price)};
    if (contestant.rental_price && !contestant.rental_price->given) contestant.instances = instances(gpu.profile, rent_query(options));
    return contestant;
}

/// The deployment that ranks first, under the load that it was found for.
LaunchRequest launch_request(const NamedRecommendation& named, const Deployment& d) {
    LaunchRequest request;
    request.run = named.request.run;
    request.run.parallel = d.parallel;
    request.run.precision = d.precision;
    request.run.weights = d.weights;
    request.run.batch = d.batch;
    if (named.request.rate) request.rate = named.request.rate->in(1 / s);
    constexpr std::int64_t usual_requests = 1'000;
    request.requests = d.requests > 0 ? d.requests : usual_requests;
    const GpuProfile& gpu = named.contestants[d.gpu].gpu->profile;
    request.remarks = {fmt::format("{} on {} x {} ({})", named.model_name, d.parallel.gpus(), gpu.name, copies_text(d))};
    const std::string percentile = is_simulated(named) ? fmt::format("P{} ", load_percentile) : "";
    if (d.ttft) request.remarks.push_back(fmt::format("Predicted {}TTFT: {}", percentile, readable_time(d.ttft->in(s))));
    if (d.tpot) request.remarks.push_back(fmt::format("Predicted {}TPOT: {}", percentile, readable_time(d.tpot->in(s))));
    return request;
}

void run(const RecommendOptions& o) {
    check(o);
    const Date day = today(o.prices);
    const SoftwareStacks software = load_software(o.common.software());
    Notes notes;
    require_software(o.run, software, notes);
    const Workload workload = find_workload(o.common.models(), o.model);
    NamedRecommendation named{.model_id = workload.id,
                              .model_name = workload.name,
                              .request = request_of(o, workload),
                              .contestants = {},
                              .answer = {},
                              .top = rows_shown(o),
                              .today = day,
                              .notes = {}};
    const std::vector<Gpu> gpus = load_gpus(o, notes);
    require_offer(gpus, rent_query(o.prices));
    // A GPU that the user names is ranked at the price that it has.
    const auto rents = o.gpus.empty() ? like_rents(gpus, o.prices, day, named.notes) : std::vector<std::optional<PriceChoice>>{};
    for (std::size_t i = 0; i < gpus.size(); ++i)
        named.contestants.push_back(contestant_of(gpus[i], o.gpus.empty() ? rents[i] : rent_of(gpus[i].profile, o.prices, day), o.prices));
    std::vector<std::pair<std::string, std::optional<PriceChoice>>> prices;
    for (const Contestant& c : named.contestants) prices.emplace_back(c.gpu->profile.id, c.rental_price);
    if (auto text = unlike_prices(prices); text && !o.gpus.empty()) named.notes.push_back(*std::move(text));
    {
        Progress progress(static_cast<std::int64_t>(gpus.size()));
        named.request.progress = [&progress](std::size_t done, std::size_t) { progress.show(static_cast<std::int64_t>(done)); };
        named.answer = recommend(workload, named.contestants, named.request, software);
        named.request.progress = {};
    }
    named.request.run = completed_sizes(named.request.run, workload);
    named.check = check_command(named, o.model, o.gpus);
    const auto& best = named.answer.cheapest(named.request.confidence);
    if (!o.emit.empty() && !best)
        throw NoAnswer({.what = "no deployment meets the limits", .key = "--emit", .suggestion = "leave it out to see why"});
    if (!o.emit.empty())
        emit(o.emit, workload, named.contestants[best->gpu].gpu->profile, launch_request(named, *best), software, o.common);
    else
        write(with_charts(recommendation_report(named), recommendation_charts(named)), o.common);
    notes.print(o.common);
    end_with(named.answer.rows.empty() ? ExitCode::no : ExitCode::answered);
}

}  // namespace

void add_recommend_command(CLI::App& app) {
    auto options = std::make_shared<RecommendOptions>();
    CLI::App* command = app.add_subcommand("recommend");
    command->add_option("-m,--model", options->model, "Model id, alias, hub id, or a file: TOML, config.json, ONNX, GGUF, safetensors")
        ->required();
    command->add_option("--slo", options->slo, "Latency limits: ttft=200ms,tpot=30ms,latency=5s, or some of them")->required();
    command->add_option("--rate", options->rate,
                        "Arrival rate for all copies together: 5/s, 300/min or 1000/h (default: each copy at full load)");
    command
        ->add_option("--confidence", options->confidence,
                     "Times that must meet the limits: expected, or upper (the upper bound of the interval)")
        ->check(CLI::IsMember(std::vector<std::string>{confidence_names.begin(), confidence_names.end()}))
        ->capture_default_str();
    command->add_option("--budget", options->budget, "Most US dollars per hour for all GPUs (default: no limit)");
    command->add_option("--max-gpus", options->most_gpus, "Most GPUs of all copies together (default: no limit)");
    command
        ->add_option("-g,--gpu", options->gpus, "GPU to search: id, alias or profile file. Several are allowed (default: all shipped GPUs)")
        ->delimiter(',');
    command->add_flag("--allow-quantization", options->allow_quantization, "Also search 8- and 4-bit formats");
    command->add_flag("--all", options->all, "Show a row for each number format and degree of parallelism, not only the best of each GPU");
    command->add_option("--top", options->top, "Most rows to show (default: 10; with --gpu or --all: all)");
    add_emit_option(*command, options->emit);
    add_run_options(*command, options->run);
    add_pcie_option(*command, options->run);
    add_rent_options(*command, options->prices);
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
