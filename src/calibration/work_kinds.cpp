#include <algorithm>

#include "prediction/interval.hpp"
#include "roofcast/accuracy.hpp"

namespace roofcast {

const std::vector<WorkKind>& work_kinds() {
    constexpr std::string_view language = "language models", others = "encoders, other models", served = "served loads", memory = "memory";
    static const std::vector<WorkKind> all{
        {"gemm", "GEMM", "", "GEMM", {"gemm"}},
        {"attention", "attention", "", "attention", {"attention"}},
        {"convolution", "convolution", "", "convolution", {"conv2d"}},
        {"memory_bound",
         "element-wise, norms, softmax",
         "",
         "element-wise, norms, softmax",
         {"elementwise", "layernorm", "rmsnorm", "softmax"}},
        {"quantization", "quantization", "", "quantization", {"quantize"}},
        {"recurrent",
         "recurrence, hyper-connections",
         "",
         "recurrent layers, hyper-connections",
         {"causal_convolution", "recurrence", "hyper_connection"}},
        {"sparse_attention", "sparse attention", "", "sparse attention", {"index_scores", "top_k", "sparse_attention"}},
        {"experts", "mixture of experts", "", "mixture of experts", {"moe"}},
        {"collectives", "collectives, copies", "", "collectives, copies", {"all_", "reduce_scatter", "memcpy"}},
        {"llm_prefill", "language models, prefill", "prefill", language, {"model_llm_prefill"}},
        {"llm_decode", "language models, decode", "decode", language, {"model_llm_decode"}},
        {"llm_generate", "language models, requests", "requests", language, {"model_llm_generate"}},
        {"vision", "image models, detectors", "images", "image models, detectors", {"model_cnn", "model_vit", "model_detector"}},
        {"encoder", "encoders", "", others, {"model_encoder"}},
        {"other_model", "other models", "", others, {"model_"}},
        {"serving_ttft", "TTFT", "", served, {}},
        {"serving_tpot", "TPOT", "", served, {}},
        {"serving_throughput", "throughput", "", served, {}},
        {"serving_latency", "latency of a batch", "latency", served, {}},
        {"memory_weights", "memory of weights", "weights", memory, {}},
        {"memory_kv_cache", "memory of the KV cache", "KV cache", memory, {}},
        {"memory_other", "activations, CUDA graphs", "activations", memory, {}},
        {"memory_peak", "peak memory of a run", "peak memory", memory, {}}};
    return all;
}

const WorkKind* kind_of_class(std::string_view op_class) {
    const auto belongs = [op_class](const WorkKind& kind) {
        return std::any_of(kind.classes.begin(), kind.classes.end(),
                           [op_class](std::string_view start) { return op_class.starts_with(start); });
    };
    const auto found = std::find_if(work_kinds().begin(), work_kinds().end(), belongs);
    return found == work_kinds().end() ? nullptr : &*found;
}

const WorkKind* work_kind(std::string_view key) {
    const auto found = std::find_if(work_kinds().begin(), work_kinds().end(), [key](const WorkKind& kind) { return kind.key == key; });
    return found == work_kinds().end() ? nullptr : &*found;
}

std::vector<std::string> kinds_of_work(const Workload& workload) {
    if (workload.family == "llm" || workload.family == "vlm")
        return {"llm_prefill",        "llm_decode",      "llm_generate",   "serving_ttft",    "serving_tpot",
                "serving_throughput", "serving_latency", "memory_weights", "memory_kv_cache", "memory_other"};
    // Phases tell the classes of language models alone.
    const WorkKind* kind = kind_of_class(model_class(workload.family, "forward"));
    return {std::string(kind->key), "memory_peak"};
}

}  // namespace roofcast
