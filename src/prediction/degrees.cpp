#include "prediction/degrees.hpp"

#include <fmt/format.h>

#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// Attention of each group on GPUs of its own, experts on all of them.
void check_attention_groups(const Workload& workload, const DecoderLlm& llm, const Parallelism& p) {
    if (p.attention_data == 1) return;
    if (!llm.moe)
        throw Error({.what = fmt::format("{} has no experts that groups of attention could share", workload.id),
                     .key = "parallel.attention_data",
                     .found = std::to_string(p.attention_data),
                     .expected = "1, or a mixture-of-experts model",
                     .suggestion = "`parallel.data` makes copies"});
    if (p.tensor % p.attention_data != 0)
        throw Error({.what = "groups of attention share out the tensor-parallel GPUs: `parallel.attention_data` must divide "
                             "`parallel.tensor`",
                     .key = "parallel.attention_data",
                     .found = fmt::format("{} of tp {}", p.attention_data, p.tensor)});
}

/// Experts lie on GPUs of a tensor-parallel group or of its data-parallel copies: never more ways than there are GPUs at one stage.
void check_experts(const Workload& workload, const DecoderLlm* llm, const Parallelism& p) {
    if (p.expert == 1) return;
    if (llm == nullptr || !llm->moe)
        throw Error({.what = fmt::format("{} has no experts", workload.id),
                     .key = "parallel.expert",
                     .found = std::to_string(p.expert),
                     .expected = "1, or a mixture-of-experts model"});
    if (llm->moe->experts % p.expert != 0)
        throw Error({.what = fmt::format("{} has {} experts, which `parallel.expert` must divide", workload.id, llm->moe->experts),
                     .key = "parallel.expert",
                     .found = std::to_string(p.expert)});
    if (p.tensor * p.data % p.expert != 0)
        throw Error({.what = "expert parallelism spreads over tensor- and data-parallel GPUs: `parallel.expert` must divide "
                             "`parallel.tensor` times `parallel.data`",
                     .key = "parallel.expert",
                     .found = fmt::format("{} (tp {} x dp {} = {})", p.expert, p.tensor, p.data, p.tensor * p.data),
                     .expected = fmt::format("a divisor of {}", p.tensor * p.data),
                     .suggestion = fmt::format("`parallel.tensor` {} `parallel.expert` {}", p.expert, p.expert)});
}

void check_heads(const Workload& workload, const DecoderLlm& llm, const Parallelism& p) {
    if (llm.heads % p.attention_tensor() != 0)
        throw Error({.what = fmt::format("{} has {} attention heads, which `parallel.tensor` must divide", workload.id, llm.heads),
                     .key = "parallel.tensor",
                     .found = std::to_string(p.tensor)});
    if (p.pipeline > llm.layers)
        throw Error({.what = fmt::format("{} has {} layers, fewer than pipeline stages", workload.id, llm.layers),
                     .key = "parallel.pipeline",
                     .found = std::to_string(p.pipeline)});
}

}  // namespace

void check_degrees(const Workload& workload, const Parallelism& p) {
    const DecoderLlm* llm = language_model(workload);
    check_experts(workload, llm, p);
    if (llm != nullptr) {
        check_attention_groups(workload, *llm, p);
        check_heads(workload, *llm, p);
        return;
    }
    for (const auto& [field, degree] : {std::pair("parallel.tensor", p.tensor), std::pair("parallel.pipeline", p.pipeline),
                                        std::pair("parallel.attention_data", p.attention_data)}) {
        if (degree > 1)
            throw Error(
                {.what = fmt::format("{} is not a language model: only `parallel.data` spreads it over GPUs", workload.id), .key = field});
    }
}

}  // namespace roofcast
