// How sequences enter the engine, decode and leave, and what becomes of their blocks.
#include <algorithm>

#include "prediction/techniques.hpp"
#include "scenario/engine_copy.hpp"

namespace roofcast {

std::int64_t EngineCopy::blocks(std::int64_t tokens) const {
    return engine_.state_blocks + (tokens + engine_.options.block_tokens - 1) / engine_.options.block_tokens;
}

/// Blocks that sequence `i` takes on admission: for its present tokens, or for all that it will have. The last token needs no place.
std::int64_t EngineCopy::entry_blocks(std::size_t i) const {
    return blocks(reserves_output() ? request(i).prompt_tokens + request(i).output_tokens - 1 : sequences_[i].target);
}

/// Whole blocks of the prompt that are there already; its last token is always computed, for it yields the first of the output.
std::int64_t EngineCopy::cached_prefix(std::size_t i) const {
    const std::int64_t prompt = request(i).prompt_tokens, block = engine_.options.block_tokens;
    const std::int64_t cached = share_of(engine_.options.prefix_cached, prompt);
    return std::min(cached / block * block, prompt - 1);
}

std::size_t EngineCopy::phase(const Sequence& q) const {
    const std::int64_t block = engine_.options.block_tokens;
    return static_cast<std::size_t>(((q.joined - q.target) % block + block) % block);
}

bool EngineCopy::head_may_enter() const {
    return waiting() > 0 && running_ < engine_.options.max_sequences && entry_blocks(head()) <= free_blocks_;
}

std::size_t EngineCopy::enter() {
    const std::size_t i = head();
    if (preempted_.empty()) {
        times(i).started = clock_;
        ++entered_;
    } else {
        preempted_.pop_back();
    }
    Sequence& q = sequences_[i];
    free_blocks_ -= entry_blocks(i);
    q.computed = cached_prefix(i);
    q.running = true;
    q.admission = ++admissions_;
    order_.emplace_back(i, q.admission);
    computing_prompts_.push_back(i);
    ++running_;
    ++begun_;
    return i;
}

/// Takes the blocks that the next decode step needs; whether sequences had to leave for them.
bool EngineCopy::make_room_for_decodes() {
    if (reserves_output()) return false;
    const std::size_t now = static_cast<std::size_t>(decode_steps_ % engine_.options.block_tokens);
    bool left = false;
    while (free_blocks_ < block_phases_[now]) {
        preempt_latest();
        left = true;
    }
    free_blocks_ -= block_phases_[now];
    return left;
}

/// The latest to enter gives its blocks back and waits, before all others, to have its tokens computed again.
void EngineCopy::preempt_latest() {
    const auto stale = [this](const auto& entry) {
        const Sequence& q = sequences_[entry.first];
        return !q.running || q.admission != entry.second;
    };
    while (stale(order_.back())) order_.pop_back();
    const std::size_t i = order_.back().first;
    order_.pop_back();
    Sequence& q = sequences_[i];
    const std::int64_t generated = q.generated + decoded(q);
    release(i);
    std::erase(computing_prompts_, i);
    q.generated = generated;
    q.target = request(i).prompt_tokens + generated;
    preempted_.push_back(i);
    ++load_.preemptions;
}

void EngineCopy::begin_decoding(std::size_t i) {
    Sequence& q = sequences_[i];
    q.decoding = true;
    q.joined = decode_steps_;
    ++decoding_;
    context_sum_ += q.target + 1 - q.joined;
    ++block_phases_[phase(q)];
    ends_.emplace(q.joined + request(i).output_tokens - q.generated, i, q.admission);
}

void EngineCopy::finish(std::size_t i) {
    times(i).finished = clock_;
    if (misses_ != nullptr) misses_->count.add(request(i), times(i), misses_->end.objective);
    ++finished_;
    if (users_ > 0) ends_of_requests_.push_back(clock_);
    release(i);
}

/// Takes sequence `i` out of the engine.
void EngineCopy::release(std::size_t i) {
    Sequence& q = sequences_[i];
    free_blocks_ += reserves_output() ? entry_blocks(i) : blocks(q.target + decoded(q));
    if (q.decoding) {
        --decoding_;
        context_sum_ -= q.target + 1 - q.joined;
        --block_phases_[phase(q)];
    }
    q.running = q.decoding = false;
    --running_;
    // Those that left stay in `order_` until they are most of it.
    constexpr std::size_t worth_it = 1024;
    if (order_.size() > worth_it + 2 * static_cast<std::size_t>(running_))
        std::erase_if(order_, [this](const auto& e) { return !sequences_[e.first].running || sequences_[e.first].admission != e.second; });
}

}  // namespace roofcast
