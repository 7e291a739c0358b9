#include "prediction/own_head.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

const PredictionHeads* heads_of(const Workload& workload) {
    const DecoderLlm* llm = language_model(workload);
    return llm != nullptr && llm->prediction && llm->prediction->modules > 0 ? &*llm->prediction : nullptr;
}

}  // namespace

std::shared_ptr<const Workload> own_head(const Workload& workload) {
    const PredictionHeads* heads = heads_of(workload);
    if (heads == nullptr)
        throw Error({.what = fmt::format("{} has no multi-token prediction module", workload.id),
                     .key = "techniques.speculation.own_head",
                     .suggestion = "draft with a small model of the same tokenizer: `techniques.speculation.draft`"});
    auto head = std::make_shared<Workload>(workload);
    head->id += "-mtp";
    head->name += ", prediction module";
    head->aliases.clear();
    head->notes.clear();
    DecoderLlm module = *language_model(workload);
    module.kinds = heads->layers;
    module.prediction.reset();
    module.moe.reset();
    module.cross_attention_layers.clear();
    module.tied_embeddings = false;
    module.predicts_ahead = true;
    module.layers = 0;
    for (const LayerGroup& group : module.kinds) {
        module.layers += group.layers;
        if (const auto* experts = std::get_if<MoeShape>(&group.channels)) module.moe = *experts;
    }
    head->architecture = std::move(module);
    return head;
}

std::int64_t drafting_modules(const Workload& workload, const Speculation& speculation) {
    const PredictionHeads* heads = speculation.own_head ? heads_of(workload) : nullptr;
    return heads == nullptr ? 1 : std::min(heads->modules, speculation.tokens);
}

}  // namespace roofcast
