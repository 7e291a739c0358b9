#include "prediction/degrees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// What GPUs split of one kind of layers.
struct Heads {
    std::string_view what;
    std::int64_t count = 0;
    bool replicated = false;  ///< more GPUs than there are hold copies
};

constexpr std::string_view queries = "attention heads", keys = "KV heads";

/// By which every mixer of the model is split.
std::vector<Heads> heads_of(const DecoderLlm& m) {
    if (m.kinds.empty()) {
        std::vector<Heads> heads{{queries, m.heads}};
        if (!m.mla) heads.push_back({keys, m.kv_heads, true});
        return heads;
    }
    struct OfMixer {
        std::vector<Heads>& heads;
        void operator()(std::monostate) const {}
        void operator()(const GroupedAttention& a) const { heads.insert(heads.end(), {{queries, a.heads}, {keys, a.kv_heads, true}}); }
        void operator()(const LatentAttention& a) const { heads.push_back({queries, a.heads}); }
        void operator()(const CompressedAttention& a) const { heads.push_back({queries, a.heads}); }
        void operator()(const GatedDelta& a) const {
            heads.insert(heads.end(), {{"key heads of gated delta nets", a.key_heads}, {"value heads of gated delta nets", a.value_heads}});
        }
        void operator()(const KimiDelta& a) const { heads.push_back({"heads of delta attention", a.heads}); }
        void operator()(const Mamba2& a) const { heads.push_back({"Mamba heads", a.heads}); }
    };
    std::vector<Heads> heads;
    for (const LayerGroup& group : m.kinds) std::visit(OfMixer{heads}, group.tokens);
    return heads;
}

bool splits(const Heads& heads, std::int64_t gpus) {
    return heads.count % gpus == 0 || (heads.replicated && gpus % heads.count == 0);
}

const Heads* unsplit(const std::vector<Heads>& heads, std::int64_t gpus) {
    const auto found = std::find_if(heads.begin(), heads.end(), [gpus](const Heads& h) { return !splits(h, gpus); });
    return found == heads.end() ? nullptr : &*found;
}

/// "1, 2, 4 or 8": those of 1 to `most` that `works` accepts.
template <class Works>
std::string listed(std::int64_t most, Works works) {
    constexpr std::size_t enough = 12;
    std::vector<std::string> values;
    for (std::int64_t n = 1; n <= most && values.size() < enough; ++n) {
        if (works(n)) values.push_back(std::to_string(n));
    }
    if (values.size() == 1) return values.front();
    const std::string last = std::move(values.back());
    values.pop_back();
    return fmt::format("{} or {}", fmt::join(values, ", "), last);
}

/// Attention of each group on GPUs of its own, experts on all of them.
void check_attention_groups(const Workload& workload, const DecoderLlm& llm, const Parallelism& p) {
    if (p.attention_data == 1) return;
    if (!llm.moe)
        throw Error({.what = fmt::format("{} has no experts, which attention data parallelism needs", workload.id),
                     .key = "parallel.attention_data",
                     .found = std::to_string(p.attention_data),
                     .expected = "1, or a mixture-of-experts model",
                     .suggestion = "`parallel.data` makes copies"});
    if (p.tensor % p.attention_data != 0)
        throw Error({.what = "attention data parallelism divides the tensor-parallel GPUs: `parallel.attention_data` must divide "
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
    const std::int64_t gpus = p.tensor * p.data;
    if (llm->moe->experts % p.expert != 0)
        throw Error(
            {.what = fmt::format("{} has {} experts, and {} does not divide them", workload.id, llm->moe->experts, p.expert),
             .key = "parallel.expert",
             .suggestion = fmt::format("use `parallel.expert` {} on these {} GPUs",
                                       listed(gpus, [&](std::int64_t n) { return llm->moe->experts % n == 0 && gpus % n == 0; }), gpus)});
    if (gpus % p.expert != 0)
        throw Error({.what = "expert parallelism spreads over tensor- and data-parallel GPUs: `parallel.expert` must divide "
                             "`parallel.tensor` times `parallel.data`",
                     .key = "parallel.expert",
                     .found = fmt::format("{} (tp {} x dp {} = {})", p.expert, p.tensor, p.data, gpus),
                     .expected = fmt::format("a divisor of {}", gpus),
                     .suggestion = fmt::format("`parallel.tensor` {} `parallel.expert` {}", p.expert, p.expert)});
}

void check_heads(const Workload& workload, const DecoderLlm& llm, const Parallelism& p) {
    const std::vector<Heads> heads = heads_of(llm);
    const std::int64_t gpus = p.attention_tensor(), groups = p.attention_data;
    if (const Heads* whole = unsplit(heads, gpus)) {
        const std::string each = groups > 1 ? fmt::format("{} GPUs of each group do", gpus) : fmt::format("{} does", gpus);
        const auto works = [&](std::int64_t n) { return n % groups == 0 && unsplit(heads, n / groups) == nullptr; };
        throw Error({.what = fmt::format("{} has {} {}, and {} not divide them", workload.id, whole->count, whole->what, each),
                     .key = "parallel.tensor",
                     .suggestion = fmt::format("use `parallel.tensor` {}", listed(groups * llm.heads, works))});
    }
    if (p.pipeline > llm.layers)
        throw Error({.what = fmt::format("{} has {} layers, fewer than pipeline stages", workload.id, llm.layers),
                     .key = "parallel.pipeline",
                     .found = std::to_string(p.pipeline)});
}

}  // namespace

bool splits_heads(const DecoderLlm& model, std::int64_t gpus) {
    return unsplit(heads_of(model), gpus) == nullptr;
}

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
