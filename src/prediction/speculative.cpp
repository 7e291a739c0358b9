#include "prediction/speculative.hpp"

#include <algorithm>
#include <cmath>

#include "prediction/own_head.hpp"
#include "prediction/shapes.hpp"

namespace roofcast {

double expected_tokens(double acceptance, std::int64_t draft_tokens) {
    const double most = static_cast<double>(draft_tokens) + 1;
    if (acceptance >= 1) return most;
    return (1 - std::pow(acceptance, most)) / (1 - acceptance);
}

double tokens_per_step(const Techniques& techniques) {
    return techniques.speculation ? expected_tokens(techniques.speculation->acceptance, techniques.speculation->tokens) : 1;
}

Run draft_request(const Workload& workload, const Run& request) {
    const Workload& model = *request.techniques.speculation->draft;
    Run draft = request;
    if (request.techniques.speculation->own_head) {
        draft.parallel.pipeline = 1;  // the last stage has it
    } else {
        draft.weights = stored_by_tensor(stored_weights(model, request.precision), model);
    }
    draft.techniques.offload = 0;
    draft.techniques.speculation.reset();
    draft.prompt_tokens = context_tokens(workload, request);  // images reach it as tokens
    draft.image_size = 0;
    if (!std::get<DecoderLlm>(model.architecture).moe) {
        draft.parallel.expert = 1;
        // Each group of attention has a draft model of its own.
        draft.batch = request.group_batch();
        draft.parallel.tensor = request.parallel.attention_tensor();
        draft.parallel.attention_data = 1;
    }
    return draft;
}

SpeculativeDecode speculative_decode(const PhaseSetting& large, const PhaseSetting& draft, std::int64_t context, std::int64_t steps) {
    const Speculation& speculation = *large.request.techniques.speculation;
    const std::int64_t k = speculation.tokens, first = context + 1, last = context + steps;
    SpeculativeDecode result;
    result.outcome.tokens_per_iteration = expected_tokens(speculation.acceptance, k);
    // The last iteration may yield more than is asked for, but takes its time.
    const double iterations = std::max(1.0, static_cast<double>(steps) / result.outcome.tokens_per_iteration);
    // The cache grows by one in each of the k draft steps: their mean is the middle one.
    const std::int64_t mean = (k - 1) / 2;
    const auto check = [&](OpGraph& graph, std::int64_t kv_len) {
        graph = verify_graph(*large.llm, large.request, large.stack().lowering, k + 1, kv_len - 1);
    };
    result.draft = growing_phase(decode_steps(draft), first + mean, last + mean, static_cast<double>(k) * iterations, draft);
    result.draft.name = "draft_decode";
    result.verify = growing_phase(check, first, last, iterations, large);
    result.outcome.iteration = (result.draft.latency + result.verify.latency) / iterations;
    result.outcome.plain_tpot = decode_phase(large, context, steps).latency / static_cast<double>(steps);
    result.outcome.speedup = result.outcome.tokens_per_iteration * (result.outcome.plain_tpot / result.outcome.iteration);
    return result;
}

Bytes draft_cache_per_token(const Workload& workload, const Run& request) {
    const auto& speculation = request.techniques.speculation;
    if (!speculation) return {};
    const Run draft = draft_request(workload, request);
    const DecoderLlm& model = *language_model(*speculation->draft);
    const auto modules = static_cast<double>(drafting_modules(workload, *speculation));
    return modules * (kv_cache_size(model, draft, 2) - kv_cache_size(model, draft, 1));
}

void add_draft_memory(MemoryEstimate& large, const Workload& workload, const Run& request, const SoftwareStacks& software,
                      const Lowering& lowering) {
    const Speculation& speculation = *request.techniques.speculation;
    const MemoryEstimate draft = memory_estimate(*speculation.draft, draft_request(workload, request), software);
    const auto modules = static_cast<double>(drafting_modules(workload, speculation));
    large.weights += modules * draft.weights;
    large.kv_cache += modules * draft.kv_cache;
    const OpGraph verify =
        verify_graph(*language_model(workload), request, lowering, speculation.tokens + 1, context_tokens(workload, request));
    large.activations = max(max(large.activations, draft.activations), verify.peak_activations);
}

}  // namespace roofcast
