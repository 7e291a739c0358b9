#include "prediction/techniques.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "prediction/offload.hpp"
#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t most_draft_tokens = 1024, largest_block = std::int64_t{1} << 20;

void require_fraction(const char* field, double fraction, bool below_one) {
    if (fraction >= 0 && (below_one ? fraction < 1 : fraction <= 1)) return;
    throw Error({.what = "out of range",
                 .key = field,
                 .found = fmt::format("{}", fraction),
                 .expected = below_one ? "a fraction from 0 to below 1" : "a fraction from 0 to 1"});
}

void require_tokens(const char* field, std::int64_t tokens, std::int64_t least, std::int64_t most) {
    if (tokens >= least && tokens <= most) return;
    throw Error({.what = "out of range",
                 .key = field,
                 .found = std::to_string(tokens),
                 .expected = fmt::format("a whole number of tokens from {} to {}", least, most)});
}

void check_speculation(const Speculation& speculation, const Workload& workload) {
    const bool own = speculation.own_head;
    require_tokens(own ? "techniques.speculation.own_head" : "techniques.speculation.tokens", speculation.tokens, 1, most_draft_tokens);
    require_fraction("techniques.speculation.acceptance", speculation.acceptance, false);
    if (own) return;  // `own_head` looks for it
    const Workload& draft = *speculation.draft;
    if (!std::holds_alternative<DecoderLlm>(draft.architecture))
        throw Error({.what = "only a language model can draft",
                     .key = "techniques.speculation.draft",
                     .found = draft.id,
                     .expected = "a model of family llm"});
    if (draft.id == workload.id)
        throw Error({.what = "the draft model is the model itself, so speculation gains nothing",
                     .key = "techniques.speculation.draft",
                     .found = draft.id,
                     .expected = "a smaller model with the same tokenizer"});
}

}  // namespace

void check_techniques(const Run& request, const Workload& workload) {
    const Techniques& t = request.techniques;
    require_fraction("techniques.cached_prefix", t.cached_prefix, true);
    require_fraction("techniques.offload", t.offload, false);
    require_tokens("techniques.prefill_chunk", t.prefill_chunk, 0, largest_run_count);
    require_tokens("techniques.kv_block", t.kv_block, 1, largest_block);
    const auto refuse = [&workload](bool given, const char* field, const char* why) {
        if (given) throw Error({.what = fmt::format("{} {}", workload.id, why), .key = field, .suggestion = "leave it out"});
    };
    const DecoderLlm* llm = language_model(workload);
    refuse(t.cached_prefix > 0 && llm == nullptr, "techniques.cached_prefix", "has no KV cache");
    refuse(t.prefill_chunk > 0 && llm == nullptr, "techniques.prefill_chunk", "has no KV cache");
    refuse(t.kv_block > 1 && llm == nullptr, "techniques.kv_block", "has no KV cache");
    const bool own = t.speculation && t.speculation->own_head;
    refuse(t.speculation && llm == nullptr, own ? "techniques.speculation.own_head" : "techniques.speculation.draft", "generates no text");
    refuse(t.offload > 0 && !has_layers(workload), "techniques.offload", "is neither a language model nor an encoder");
    // Their image keys are projected once, which passes over parts of the prompt are not modelled for.
    const bool cross = llm != nullptr && !llm->cross_attention_layers.empty();
    refuse(t.prefill_chunk > 0 && cross, "techniques.prefill_chunk",
           "has cross-attention layers, for which chunked prefill is not modelled");
    if (t.speculation) check_speculation(*t.speculation, workload);
}

std::int64_t share_of(double fraction, std::int64_t tokens) {
    constexpr double rounding = 1e-9;  // 0.29 of 100 are 29
    return static_cast<std::int64_t>(std::floor(fraction * static_cast<double>(tokens) + rounding));
}

std::int64_t cached_tokens(const Run& request) {
    const std::int64_t cached = share_of(request.techniques.cached_prefix, request.prompt_tokens);
    return std::clamp<std::int64_t>(cached, 0, request.prompt_tokens - 1);
}

std::int64_t prefill_budget(const Run& request, const SoftwareStack& stack, const DecoderLlm& llm) {
    return request.techniques.prefill_chunk == 0 && llm.cross_attention_layers.empty() ? stack.prefill_chunk : 0;
}

std::int64_t pass_tokens(const Run& request, const SoftwareStack& stack, const DecoderLlm& llm, std::int64_t fresh) {
    std::int64_t chunk = request.techniques.prefill_chunk;
    if (const std::int64_t budget = prefill_budget(request, stack, llm); budget > 0)
        chunk = std::max<std::int64_t>(1, budget / request.batch);
    return chunk > 0 ? std::min(chunk, fresh) : fresh;
}

std::int64_t paged_tokens(const Run& request, std::int64_t tokens) {
    const std::int64_t block = request.techniques.kv_block;
    return (tokens + block - 1) / block * block;
}

std::vector<std::string> technique_notes(const Prediction& p, const Workload& workload) {
    const Techniques& t = p.request.techniques;
    std::vector<std::string> notes;
    if (!t.any()) return notes;
    if (t.cached_prefix > 0)
        notes.push_back(fmt::format("cached prefix: {} of {} prompt tokens are in the KV cache; every sequence holds its own copy of them",
                                    cached_tokens(p.request), p.request.prompt_tokens));
    if (t.prefill_chunk > 0)
        notes.push_back(fmt::format("chunked prefill: passes of {} tokens a sequence, each attending to all before it", t.prefill_chunk));
    if (t.kv_block > 1) notes.push_back(fmt::format("paged KV cache: each sequence takes whole blocks of {} tokens", t.kv_block));
    if (t.offload > 0)
        notes.push_back(
            fmt::format("offload: each pass copies {:.4g} % of every layer's weights from pinned host memory; pass = max(compute, "
                        "layers x t) + t, t = PCIe copy time of one layer; assumed: a PCIe link per GPU and fast enough host memory",
                        100 * t.offload));
    if (p.speculation) {
        const SpeculationOutcome& o = *p.speculation;
        notes.push_back(fmt::format(
            "{}: {:.4g} tokens expected of {} draft step{} and a verification, (1 - a^(k+1)) / (1 - a) with "
            "a = {:.4g}, k = {} (Leviathan et al. 2023)",
            t.speculation->own_head ? "multi-token prediction" : "speculative decoding", o.tokens_per_iteration, t.speculation->tokens,
            t.speculation->tokens == 1 && t.speculation->own_head ? "" : "s", t.speculation->acceptance, t.speculation->tokens));
        if (p.runs())
            notes.back() += fmt::format("; TPOT {:.4g} ms without: {:.3g} times as fast{}", o.plain_tpot.in(ms), o.speedup,
                                        o.speedup < 1 ? ", SLOWER than without" : "");
    }
    if (const DecoderLlm* llm = language_model(workload); t.speculation && llm != nullptr) {
        const auto& draft = std::get<DecoderLlm>(t.speculation->draft->architecture);
        if (draft.vocabulary != llm->vocabulary)
            notes.push_back(fmt::format("{} has {} tokens in its vocabulary, {} {}: a draft needs the same tokenizer", workload.id,
                                        llm->vocabulary, t.speculation->draft->id, draft.vocabulary));
    }
    if (p.intervals) notes.emplace_back("no measured row covers these techniques; the interval is that of plain passes");
    return notes;
}

}  // namespace roofcast
