#include "scenario/assumptions.hpp"

#include <fmt/format.h>

#include "io/number_text.hpp"
#include "prediction/shapes.hpp"

namespace roofcast {

namespace {

/// Where the clock of a first token starts and stops, and which software it was judged on.
std::string boundary_text(const Engine* engine) {
    if (!times_clients(engine))
        return "TTFT is the engine's: from the arrival of tokens to the end of the step with the first one; tokenization and network take "
               "no time";
    const SoftwareStack& stack = engine->stack;
    return fmt::format(
        "TTFT is that of a client beside the server: tokenization and network take {} ms and {} us a prompt token{}",
        significant(stack.request_time.in(ms)), significant(stack.prompt_token_time.in(us)),
        engine->versions ? fmt::format(", as in {} {} to {}", stack.name, engine->versions->first, engine->versions->last) : "");
}

}  // namespace

bool times_clients(const Engine* engine) {
    return engine != nullptr && engine->stack.request_time > Seconds{};
}

std::vector<std::string> serving_assumptions(const ServingQuestion& question, const Workload& workload, const Engine* engine) {
    const VisionLanguage* vlm = vision_language(workload);
    const DecoderLlm& model = *language_model(workload);
    const SchedulerOptions& o = question.options;
    const Parallelism& p = question.request.parallel;
    std::vector<std::string> lines{
        "first come, first served; the simulation starts empty and ends with the last token, with no warm-up left out",
        "a step reads the weights once for prompts and decodes; sequences of a step count as their mean; nothing happens between steps",
        o.admission == Admission::output
            ? "the room for a whole prompt and its output is taken when it enters, so that none has to leave"
            : "the room for a whole prompt is taken when it enters; the latest to enter leaves when the cache is full, and its tokens are "
              "computed again",
        "every request generates exactly its output tokens; scheduling takes no time", boundary_text(engine)};
    if (o.prefix_cached > 0) lines.emplace_back("cached prefixes spare computing, not memory: each sequence counts all its blocks");
    if (vlm != nullptr) {
        const Run& run = question.request;
        const bool one = run.images == 1;
        lines.push_back(fmt::format(
            "every request has {} image{} of {} pixels a side, {} tokens before its text, encoded in a pass of {} own in the step that the "
            "request enters in, cached prefix or not",
            run.images, one ? "" : "s", image_side(*vlm, run), image_tokens(*vlm, run), one ? "its" : "their"));
    }
    if (model.sliding_window > 0) lines.emplace_back("sliding-window layers free the KV cache of tokens outside the window");
    if (p.pipeline > 1) lines.emplace_back("one step at a time passes all pipeline stages; only chunks of a prompt overlap, as in predict");
    if (p.attention_data > 1) lines.emplace_back("sequences of a step are split evenly over the attention data-parallel groups");
    if (const auto& drafting = question.request.techniques.speculation)
        lines.push_back(fmt::format("{} proposes {} token{} of each sequence in a step, accepted with probability {}: {} tokens a step",
                                    drafting->own_head ? "the prediction module" : drafting->draft->id, drafting->tokens,
                                    drafting->tokens == 1 ? "" : "s", significant(drafting->acceptance, 3),
                                    significant(expected_tokens(drafting->acceptance, drafting->tokens))));
    if (p.data > 1) lines.emplace_back("requests go to the data-parallel copies in turn");
    if (question.users > 0) lines.emplace_back("a user sends the next request at the end of the step that ended the one before");
    return lines;
}

std::vector<std::string> recommendation_assumptions(const RecommendationRequest& request, bool simulated) {
    std::vector<std::string> lines{
        "Expected deployments meet the objective at the predicted times.",
        fmt::format(
            "Upper-bound deployments (upper:) meet it even at the upper bound of the {}% interval, which one measurement in ten exceeds.",
            interval_percent)};
    if (simulated) {
        lines.emplace_back("Requests arrive as a Poisson process and go to the copies in turn.");
        lines.emplace_back("Each copy is an engine as roofcast serve-sim simulates it.");
    } else {
        lines.emplace_back("Times are those of one batch. Queueing and a varying load are not included.");
    }
    lines.emplace_back(request.rate ? "Whole copies are rented for all hours." : "The GPUs work at full load in all paid hours.");
    lines.emplace_back("Rent is that of whole instances. All GPUs of a copy are in one instance.");
    lines.emplace_back("The provider has as many instances as needed.");
    if (request.allow_quantization) lines.emplace_back("The accuracy loss of 8- and 4-bit formats is not predicted.");
    return lines;
}

std::vector<std::string> cost_assumptions(const CostSettings& c) {
    const CostSettings defaults;
    const auto source = [](bool is_default, const char* text) { return is_default ? text : "given"; };
    return {fmt::format("assumed: The GPUs work in {} % of the paid hours (`utilization`).", significant(100 * c.utilization)),
            fmt::format("assumed: Electricity costs {} USD/kWh ({}; `electricity`).", significant(c.electricity.in(usd / kilowatt_hour)),
                        source(c.electricity == defaults.electricity,
                               "mean of commercial customers in Virginia in 2023: EIA, Electric Power Annual 2023")),
            fmt::format("assumed: The data center has a PUE of {} ({}; `pue`).", significant(c.pue),
                        source(c.pue == defaults.pue, "mean of the Uptime Institute's survey of 2024")),
            fmt::format("assumed: GPUs depreciate over {} years ({}; `life_years`) to {} % of their price (`residual`).",
                        significant(c.life_years), source(c.life_years == defaults.life_years, "Amazon's servers: form 10-K of 2024"),
                        significant(100 * c.residual)),
            fmt::format("assumed: The rest of the server draws {} W for each GPU (`host`).", significant(c.host.in(watt)))};
}

std::vector<std::string> energy_remarks() {
    return {"Energy is that of the GPUs alone. It is modelled from FLOPs and DRAM bytes, and capped at TDP.",
            "It is near published figures for an H200. GeForce GPUs draw a multiple of it when they decode (docs/limits.md)."};
}

}  // namespace roofcast
