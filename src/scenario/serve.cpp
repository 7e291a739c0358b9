#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "roofcast/error.hpp"
#include "roofcast/serving.hpp"
#include "scenario/serving_bounds.hpp"

namespace roofcast {

namespace {

constexpr std::array<std::string_view, refusal_count> refusal_reasons{
    "exceeds the model's context length", "exceeds the KV cache",
    "the prompt exceeds a scheduler step, and the engine does not chunk prompts"};

/// What can be served, and the counts of the rest.
std::vector<ServingRequest> accepted(const ServingEngine& engine, const std::vector<ServingRequest>& requests, ServingAnswer& answer) {
    std::vector<ServingRequest> served;
    for (const ServingRequest& request : requests) {
        if (const auto reason = refusal(engine, request)) {
            ++answer.refused[static_cast<std::size_t>(*reason)];
            continue;
        }
        served.push_back(request);
        answer.mean_prompt += static_cast<double>(request.prompt_tokens);
        answer.mean_output += static_cast<double>(request.output_tokens);
    }
    answer.served = static_cast<std::int64_t>(served.size());
    if (!served.empty()) {
        const double count = static_cast<double>(served.size());
        answer.mean_prompt /= count;
        answer.mean_output /= count;
        const Seconds span = served.back().arrival - served.front().arrival;
        if (span > Seconds{} && engine.users == 0) answer.rate = (count - 1) / span;
        return served;
    }
    const auto most = std::max_element(answer.refused.begin(), answer.refused.end()) - answer.refused.begin();
    throw NoAnswer(
        {.what = "no request can be served",
         .found = fmt::format("{} of {}: {}", answer.refused[static_cast<std::size_t>(most)], requests.size(),
                              refusal_reasons[static_cast<std::size_t>(most)]),
         .expected = fmt::format("prompt and output of at most {} tokens in the cache{}{}",
                                 engine.cache_blocks / engine.groups * engine.options.block_tokens,
                                 engine.max_context > 0 ? fmt::format(", {} in the context", engine.max_context) : "",
                                 engine.options.chunked ? "" : fmt::format(", prompts of {} in a step", engine.options.max_tokens)),
         .suggestion = answer.image_tokens > 0
                           ? fmt::format("smaller `image_size` or fewer `images` ({} tokens of each prompt), a larger "
                                         "`max_tokens`, or more memory",
                                         answer.image_tokens)
                           : std::string("shorter `prompt_tokens` or `generate_tokens`, a larger `max_tokens`, or more memory")});
}

/// All requests are there before the first of them is answered.
bool is_burst(const ServingRun& run) {
    const auto first =
        std::min_element(run.times.begin(), run.times.end(), [](const auto& a, const auto& b) { return a.finished < b.finished; });
    return run.times.back().arrived <= first->finished;
}

ServingCase served_at(ServingEngine& engine, double time_scale, const ServingQuestion& question, std::vector<ServingRequest> requests) {
    engine.time_scale = time_scale;
    ServingCase result{.time_scale = time_scale, .statistics = {}, .load = {}, .search = {}, .overload = {}};
    if (question.attainment) {
        result.search = highest_rate(engine, requests, question.objective, *question.attainment);
        requests = spread_out(std::move(requests), 1 / result.search->rate.value_or(result.search->lowest).in(1 / s));
    }
    const ServingRun run = simulated(engine, requests);
    result.load = run.load;
    result.statistics = statistics(engine, requests, run, question.objective);
    if (time_scale == 1) result.series = series_of(requests, run);
    if (!question.attainment && !(question.finite && is_burst(run))) result.overload = overload(engine, requests, run);
    return result;
}

/// With the tokens that images put before each prompt.
std::vector<ServingRequest> with_images(std::vector<ServingRequest> requests, std::int64_t tokens) {
    for (ServingRequest& request : requests) request.prompt_tokens += tokens;
    return requests;
}

/// A run of mean tokens at `batch`: the interval of its steps is that of the simulation's.
Prediction typical_run(const Workload& workload, const Gpu& gpu, const SoftwareStacks& software, Run request, const ServingAnswer& answer,
                       double batch) {
    request.batch = std::max<std::int64_t>(1, std::llround(batch));
    request.prompt_tokens = static_cast<std::int64_t>(answer.mean_prompt) - answer.image_tokens;
    request.generate_tokens = static_cast<std::int64_t>(answer.mean_output);
    return predict(workload, gpu, request, software);
}

}  // namespace

StepRange step_range(const SchedulerOptions& options, const std::vector<ServingRequest>& requests) {
    std::int64_t longest = 1;
    for (const ServingRequest& request : requests) longest = std::max(longest, request.prompt_tokens + request.output_tokens);
    StepRange range{
        .sequences = options.max_sequences, .tokens = options.max_tokens, .prompt_tokens = options.max_tokens, .context = longest};
    if (options.chunked) {
        range.prompt_tokens = std::min(range.prompt_tokens, options.chunk.value_or(range.prompt_tokens));
    } else {
        range.prompt_tokens = std::max(options.max_tokens, longest);  // what left the engine comes back whole
        range.tokens = range.prompt_tokens + (options.batching == Batching::mixed ? options.max_sequences : 0);
    }
    return range;
}

ServingAnswer serve(const Workload& workload, const Gpu& gpu, const SoftwareStacks& software, const ServingQuestion& question,
                    const std::vector<ServingRequest>& requests) {
    const StepModel model = step_model(workload, gpu, question.request, software);
    ServingAnswer answer;
    if (model.vision) answer.image_tokens = image_tokens(*model.vision, model.run);
    answer.room = cache_room(workload, question.request, software, gpu.profile, question.options);
    ServingEngine engine{.steps = {},
                         .options = question.options,
                         .cache_blocks = answer.room.blocks * question.request.parallel.attention_data,
                         .groups = question.request.parallel.attention_data,
                         .state_blocks = answer.room.state_blocks,
                         .copies = question.request.parallel.data,
                         .max_context = model.model.max_context,
                         .request_time = model.stack.request_time,
                         .prompt_token_time = model.stack.prompt_token_time,
                         .tokens_per_step = tokens_per_step(question.request.techniques),
                         .users = question.users};
    const std::vector<ServingRequest> served = accepted(engine, with_images(requests, answer.image_tokens), answer);
    const Prediction one = typical_run(workload, gpu, software, question.request, answer, 1);
    if (!one.withheld.empty())
        throw NoAnswer({.what = fmt::format("no kernel model covers an operator of {}", workload.id),
                        .key = "workload",
                        .found = one.withheld.front()});
    engine.steps = tabulated(model, step_range(question.options, served));
    answer.predicted = served_at(engine, 1, question, served);
    answer.intervals = typical_run(workload, gpu, software, question.request, answer, answer.predicted.statistics.mean_batch).intervals;
    if (answer.intervals) {
        answer.low = served_at(engine, answer.intervals->latency.low, question, served);
        answer.high = served_at(engine, answer.intervals->latency.high, question, served);
        if (!question.attainment && !answer.predicted.overload)
            answer.bounds = with_load(bounds_of(answer.predicted, *answer.low, *answer.high), answer.predicted.statistics, gpu.parameters);
    }
    return answer;
}

}  // namespace roofcast
