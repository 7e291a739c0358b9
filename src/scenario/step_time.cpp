#include "roofcast/step_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "prediction/own_head.hpp"
#include "prediction/pass.hpp"
#include "prediction/shapes.hpp"
#include "prediction/speculative.hpp"
#include "roofcast/error.hpp"
#include "scenario/step_parts.hpp"

namespace roofcast {

namespace {

Run with_batch(const StepModel& m, std::int64_t batch) {
    Run run = m.run;
    run.batch = batch;
    return run;
}

/// A draft model without experts takes turns in groups of attention of its own (`draft_request`).
Run draft_run(const StepDraft& d, const StepModel& m, std::int64_t sequences) {
    Run run = d.run;
    run.batch = run.parallel.attention_data == m.run.parallel.attention_data ? sequences : with_batch(m, sequences).group_batch();
    return run;
}

Seconds total(const StepModel& m, const OpGraph& graph) {
    return timeline(graph, m.gpu, m.stack).total;
}

bool contains(const Segment& segment, const std::string& node) {
    return std::any_of(segment.nodes.begin(), segment.nodes.end(), [&](const OpNode& n) { return n.name == node; });
}

/// A decode graph of `rows` sequences without attention and what a pass over a prompt does not have.
OpGraph shared_graph(const StepModel& m, std::int64_t rows) {
    const Run run = with_batch(m, rows);
    OpGraph graph = decode_graph(m.model, run, m.stack.lowering, 1);
    const OpGraph prompt = prefill_graph(m.model, run, m.stack.lowering, 1);
    for (std::size_t i = 0; i < graph.segments.size(); ++i) {
        std::erase_if(graph.segments[i].nodes, [&](const OpNode& node) {
            return std::holds_alternative<Attention>(node.op) || node.name == "repeat_kv" || !contains(prompt.segments[i], node.name);
        });
    }
    return graph;
}

std::int64_t whole(double tokens, std::int64_t least) {
    return std::max(least, static_cast<std::int64_t>(std::llround(tokens)));
}

}  // namespace

Seconds decode_step(const StepModel& m, std::int64_t sequences, std::int64_t context, bool in_prefill_kernel) {
    if (m.draft) {
        const StepDraft& d = *m.draft;
        const OpGraph verify = verify_graph(m.model, with_batch(m, sequences), m.stack.lowering, m.verified(), context - 1);
        return total(m, verify) +
               static_cast<double>(d.tokens) * total(m, decode_graph(d.model, draft_run(d, m, sequences), m.stack.lowering, context));
    }
    return total(m,
                 decode_graph(m.model, with_batch(m, sequences), m.stack.lowering, context, in_prefill_kernel && m.stack.joint_attention));
}

Seconds prompt_step(const StepModel& m, std::int64_t sequences, std::int64_t tokens, std::int64_t past) {
    const Run run = with_batch(m, sequences);
    const Seconds large = pipelined_fraction(run, m.stack, tokens) * total(m, prefill_graph(m.model, run, m.stack.lowering, tokens, past));
    if (!m.draft) return large;
    const OpGraph draft = prefill_graph(m.draft->model, draft_run(*m.draft, m, sequences), m.stack.lowering, tokens, past);
    return large + static_cast<double>(m.draft->modules) * total(m, draft);
}

Seconds vision_step(const StepModel& m, std::int64_t sequences) {
    return m.vision ? total(m, vision_graph(*m.vision, with_batch(m, sequences), m.stack.lowering)) : Seconds{};
}

Seconds shared_step(const StepModel& m, std::int64_t rows, std::int64_t logits) {
    OpGraph graph = shared_graph(m, rows);
    if (logits != rows) graph.segments.back() = shared_graph(m, logits).segments.back();
    return total(m, graph);
}

StepModel step_model(const Workload& workload, const Gpu& device, const Run& request, const SoftwareStacks& software) {
    const DecoderLlm* llm = language_model(workload);
    if (llm == nullptr)
        throw Error({.what = fmt::format("{} is not a language model", workload.id),
                     .key = "workload",
                     .found = workload.family,
                     .expected = "a model of the family llm or vlm",
                     .suggestion = "see `roofcast model list`"});
    if (llm->cross_attention_tokens > 0)
        throw Error(
            {.what = fmt::format("{} keeps images in cross-attention layers, which the simulated engine does not support", workload.id),
             .key = "workload",
             .found = workload.id,
             .expected = "a model that turns images into prompt tokens"});
    const VisionLanguage* vlm = vision_language(workload);
    SoftwareStack stack = stack_of(software, request, workload, device.profile.vendor);
    stack.lowering.head_by_sequences = false;  // a scheduler of steps gathers the last tokens
    StepModel model{*llm, vlm == nullptr ? std::nullopt : std::optional(*vlm), gpu_of(device, request, stack), stack, request};
    model.stack.prompt_host_per_kernel = {};
    if (stack.prompt_host_per_kernel > Seconds{}) {
        const OpGraph one = prefill_graph(model.model, with_batch(model, 1), stack.lowering, 1);
        model.prompt_floor = stack.host_per_pass + timeline(one, model.gpu, model.stack).kernels * stack.prompt_host_per_kernel;
    }
    if (const auto& speculation = request.techniques.speculation)
        model.draft = StepDraft{*language_model(*speculation->draft), draft_request(workload, request), speculation->tokens,
                                drafting_modules(workload, *speculation)};
    return model;
}

Seconds step_time(const StepModel& m, const StepMix& mix) {
    Seconds decode, prompt;
    const Seconds vision = mix.encoded > 0 ? vision_step(m, mix.encoded) : Seconds{};
    if (mix.decodes > 0) decode = decode_step(m, mix.decodes, whole(mix.context, 1), mix.prompts > 0);
    if (mix.prompts > 0) {
        const double each = static_cast<double>(mix.prompt_tokens) / static_cast<double>(mix.prompts);
        prompt = prompt_step(m, mix.prompts, whole(each, 1), whole(mix.past, 0));
    }
    if (mix.decodes == 0) return vision + max(prompt, m.prompt_floor);
    if (mix.prompts == 0) return vision + decode;
    const std::int64_t rows = mix.decodes * m.verified();
    const Seconds apart = shared_step(m, rows, rows) + shared_step(m, mix.prompt_tokens, mix.prompts);
    const Seconds both = decode + prompt + shared_step(m, rows + mix.prompt_tokens, rows + mix.prompts) - apart;
    return vision + max(both, m.prompt_floor);
}

}  // namespace roofcast
