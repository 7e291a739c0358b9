#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "charts/charts.hpp"
#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "cli/serving_options.hpp"
#include "prediction/pass.hpp"
#include "report/run_reports.hpp"
#include "roofcast/error.hpp"
#include "scenario/assumptions.hpp"

namespace roofcast::cli {

namespace {

struct ServeSimOptions {
    CommonOptions common;
    RunOptions run;
    ServingOptions serving;
    std::string gpu, model;
};

void refuse_useless(const ServeSimOptions& o) {
    if (o.run.batch)
        throw Error({.what = "the scheduler forms its own batches", .key = "--batch", .suggestion = "use --max-seqs to limit them"});
    refuse_contradictions(o.serving, o.run.prompt || o.run.generate);
}

/// More output tokens would take minutes.
void refuse_endless(const std::vector<ServingRequest>& requests) {
    constexpr double most = 0x1p32;
    double tokens = 0;
    for (const ServingRequest& request : requests) tokens += static_cast<double>(request.output_tokens);
    if (tokens > most)
        throw Error({.what = "the requests have too many output tokens to simulate",
                     .key = "--requests",
                     .found = fmt::format("{:.4g} in all", tokens),
                     .expected = fmt::format("at most {:.4g}", most)});
}

/// The run that all requests are of, on its way to being completed; those of a trace say themselves how long they are.
Run request_of(const ServeSimOptions& o, const Workload& workload, const Gpu& gpu) {
    Run request = run_request(o.run, workload, &gpu.profile);
    Techniques others = request.techniques;
    others.speculation.reset();
    if (others.any())
        throw Error({.what = "the simulated engine has its own options for cached prefixes, chunks and blocks, and no offloading",
                     .key = "--cached-prefix, --prefill-chunk, --kv-block, --offload",
                     .suggestion = "use --prefix-cached, --chunk or --block-size"});
    if (!o.serving.trace.empty()) request.prompt_tokens = request.generate_tokens = 1;
    return completed(std::move(request), workload, gpu);
}

/// Lengths of a trace, for what needs typical ones: how the cache is divided.
void set_mean_lengths(Run& request, const std::vector<ServingRequest>& requests) {
    double prompt = 0, output = 0;
    for (const ServingRequest& r : requests) {
        prompt += static_cast<double>(r.prompt_tokens);
        output += static_cast<double>(r.output_tokens);
    }
    const auto mean = [&](double sum) { return std::max<std::int64_t>(1, std::llround(sum / static_cast<double>(requests.size()))); };
    request.prompt_tokens = mean(prompt);
    request.generate_tokens = mean(output);
}

/// Nothing where there is room for a KV cache. Remedies are those of one request, beside the activations of the largest step.
std::optional<MemoryMisfit> misfit(const ServingQuestion& question, const Workload& workload, const Gpu& gpu,
                                   const SoftwareStacks& software, CacheRoom& room) {
    static_cast<void>(step_model(workload, gpu, question.request, software));  // refuses what cannot be served on any GPU
    room = cache_room_left(workload, question.request, software, gpu.profile, question.options);
    if (room.blocks >= 1) return std::nullopt;
    Run one = question.request;
    one.batch = 1;
    const Bytes step = max(Bytes{}, room.activations - memory_estimate(workload, one, software).activations);
    const MemoryAdvice advice =
        memory_advice(workload, one, software, max(Bytes{}, room.available - step), false, gpu.profile.gpus_per_machine);
    return MemoryMisfit{room.taken(question.options.block_tokens), room.available, advice.remedies};
}

void run(const ServeSimOptions& o) {
    refuse_useless(o);
    const auto gpus_folder = o.common.gpus();
    const SoftwareStacks software = load_software(o.common.software());
    Notes notes;
    require_software(o.run, software, notes);
    Gpu gpu;
    gpu.profile = load_chosen_gpu(gpus_folder, o.gpu, notes);
    gpu.parameters = load_parameters(gpus_folder, gpu.profile, o.common.user_fits());
    const Workload workload = find_workload(o.common.models(), o.model);
    NamedServing named{.model_id = workload.id, .model_name = workload.name, .gpu_id = gpu.profile.id, .gpu_name = gpu.profile.name};
    named.question = {.request = request_of(o, workload, gpu),
                      .options = {},
                      .objective = service_objective(o.serving.slo),
                      .attainment = o.serving.find_rate ? std::optional(share_to_meet(o.serving)) : std::nullopt};
    named.question.options = scheduler_options(o.serving, engine_scheduler(workload, named.question.request, software, gpu.profile));
    named.question.users = concurrent_users(o.serving, named.question.request.parallel);
    named.trace = o.serving.trace;
    named.question.finite = !named.trace.empty();
    if (named.trace.empty()) named.process = arrival_process(o.serving, named.question.request);
    const std::vector<ServingRequest> requests = named.process ? drawn(*named.process) : read_trace(named.trace);
    refuse_endless(requests);
    if (!named.process) set_mean_lengths(named.question.request, requests);
    named.offered = static_cast<std::int64_t>(requests.size());
    named.misfit = misfit(named.question, workload, gpu, software, named.answer.room);
    if (!named.misfit) named.answer = serve(workload, gpu, software, named.question, requests);
    if (const Run& run = named.question.request; !run.software.empty()) named.engine = software.engine(run.execution, run.software);
    named.assumptions = serving_assumptions(named.question, workload, named.engine);
    named.assumed = gpu.profile.assumed;
    if (o.run.precision.empty())
        named.notes.push_back(fmt::format("precision {}; --precision sets another", name(named.question.request.precision)));
    if (auto text = pcie_note(named.question.request, gpu.profile); !text.empty()) named.notes.push_back(std::move(text));
    write(with_charts(serving_report(named), serving_charts(named)), o.common);
    notes.print(o.common);
    end_with(has_answer(named) ? ExitCode::answered : ExitCode::no);
}

}  // namespace

void add_serve_sim_command(CLI::App& app) {
    auto options = std::make_shared<ServeSimOptions>();
    CLI::App* command = app.add_subcommand("serve-sim");
    command->add_option("-g,--gpu", options->gpu, "GPU id, alias or profile file")->required();
    command->add_option("-m,--model", options->model, "Model id, alias, hub id, or a file: TOML, config.json, ONNX, GGUF, safetensors")
        ->required();
    add_serving_options(*command, options->serving);
    add_run_options(*command, options->run);
    add_pcie_option(*command, options->run);
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
