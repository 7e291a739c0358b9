#pragma once
/// A model's multi-token prediction module as the draft model of speculative decoding.

#include <cstdint>
#include <memory>

#include "roofcast/techniques.hpp"

namespace roofcast {

/// The module of `workload` as a language model: its layers behind the projection of hidden state and embedding, with the embedding and LM
/// head of `workload`, whose weights it does not count. Throws Error, which names the model, where it has none.
std::shared_ptr<const Workload> own_head(const Workload& workload);

/// Modules that `speculation` on `workload` runs one after the other, each with weights and a cache of its own: of several each proposes a
/// token, and the last goes on. 1 of other draft models.
std::int64_t drafting_modules(const Workload& workload, const Speculation& speculation);

}  // namespace roofcast
