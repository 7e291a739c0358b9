#include "scenario/engine_copy.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {

namespace {

double as_double(std::int64_t n) {
    return static_cast<double>(n);
}

}  // namespace

EngineCopy::EngineCopy(const ServingEngine& engine, const std::vector<ServingRequest>& requests, std::size_t first,
                       std::vector<RequestTimes>& times)
    : engine_(engine),
      requests_(requests),
      times_(times),
      first_(first),
      stride_(static_cast<std::size_t>(engine.copies)),
      count_(requests.size() > first ? (requests.size() - first + stride_ - 1) / stride_ : 0),
      sequences_(count_),
      free_blocks_(engine.cache_blocks),
      block_phases_(static_cast<std::size_t>(engine.options.block_tokens)) {}

EngineLoad EngineCopy::run() {
    while (arrived_ < count_ || waiting() > 0 || running_ > 0) {
        if (waiting() == 0 && running_ == 0) clock_ = max(clock_, request(arrived_).arrival);
        receive();
        parts_.clear();
        scores_ = 0;
        engine_.options.chunked ? plan_mixed() : plan_apart();
        advance(mix());
        if (decodes_ > 0) end_decodes();
        end_prompts();
    }
    load_.end = clock_;
    load_.blocks_left = engine_.cache_blocks - free_blocks_;
    return load_;
}

std::int64_t EngineCopy::blocks(std::int64_t tokens) const {
    return (tokens + engine_.options.block_tokens - 1) / engine_.options.block_tokens;
}

/// Whole blocks of the prompt that are there already; its last token is always computed, for it yields the first of the output.
std::int64_t EngineCopy::cached_prefix(std::size_t i) const {
    const std::int64_t prompt = request(i).prompt_tokens, block = engine_.options.block_tokens;
    const auto share = static_cast<std::int64_t>(engine_.options.prefix_cached * as_double(prompt));
    return std::min(share / block * block, prompt - 1);
}

std::size_t EngineCopy::phase(const Sequence& q) const {
    const std::int64_t block = engine_.options.block_tokens;
    return static_cast<std::size_t>(((q.joined - q.target) % block + block) % block);
}

/// What arrived while the last step ran has waited since.
void EngineCopy::receive() {
    for (; arrived_ < count_ && request(arrived_).arrival <= clock_; ++arrived_) {
        sequences_[arrived_].target = request(arrived_).prompt_tokens;
        load_.waiting += clock_ - request(arrived_).arrival;
    }
    load_.most_waiting = std::max(load_.most_waiting, waiting());
}

bool EngineCopy::head_may_enter() const {
    return waiting() > 0 && running_ < engine_.options.max_sequences && blocks(sequences_[head()].target) <= free_blocks_;
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
    free_blocks_ -= blocks(q.target);
    q.computed = cached_prefix(i);
    q.running = true;
    q.admission = ++admissions_;
    order_.emplace_back(i, q.admission);
    computing_prompts_.push_back(i);
    ++running_;
    return i;
}

void EngineCopy::compute_prompt(std::size_t i, std::int64_t& budget) {
    const Sequence& q = sequences_[i];
    const std::int64_t tokens = std::min(budget, q.target - q.computed);
    if (tokens <= 0) return;
    parts_.push_back({i, tokens});
    scores_ += as_double(tokens) * (as_double(q.computed) + as_double(tokens) / 2);
    budget -= tokens;
}

/// Decodes first, then prompts begun before, then new ones, as far as the budget of tokens goes.
void EngineCopy::plan_mixed() {
    const SchedulerOptions& o = engine_.options;
    const bool full = make_room_for_decodes();
    decodes_ = decoding_;
    std::int64_t budget = std::min(o.max_tokens - decodes_, o.chunk.value_or(o.max_tokens));
    for (const std::size_t i : computing_prompts_) compute_prompt(i, budget);
    while (!full && budget > 0 && head_may_enter()) compute_prompt(enter(), budget);
}

/// Whole prompts in a step of their own where any may enter, else decodes. A prompt longer than a step, which one that was preempted can
/// have grown to, goes alone.
void EngineCopy::plan_apart() {
    std::int64_t budget = engine_.options.max_tokens;
    while (head_may_enter()) {
        std::int64_t tokens = sequences_[head()].target - cached_prefix(head());
        if (!parts_.empty() && tokens > budget) break;
        budget -= tokens;
        compute_prompt(enter(), tokens);
    }
    decodes_ = 0;
    if (!parts_.empty()) return;
    make_room_for_decodes();
    decodes_ = decoding_;
}

/// Takes the blocks that the next decode step needs; whether sequences had to leave for them.
bool EngineCopy::make_room_for_decodes() {
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

/// Sequences as their mean; `past` such that q·(h + q/2) of the mean is the mean of q·(h + q/2).
StepMix EngineCopy::mix() const {
    StepMix m;
    m.decodes = decodes_;
    if (decodes_ > 0) m.context = as_double(context_sum_) / as_double(decodes_) + as_double(decode_steps_);
    m.prompts = static_cast<std::int64_t>(parts_.size());
    for (const Part& part : parts_) m.prompt_tokens += part.tokens;
    if (m.prompts > 0) {
        const double each = as_double(m.prompt_tokens) / as_double(m.prompts);
        m.past = std::max(0.0, scores_ / as_double(m.prompt_tokens) - each / 2);
    }
    return m;
}

void EngineCopy::advance(const StepMix& m) {
    const Seconds time = engine_.time_scale * step_time(engine_.steps, m);
    const std::int64_t used = engine_.cache_blocks - free_blocks_;
    load_.most_blocks = std::max(load_.most_blocks, used);
    load_.busy += time;
    load_.waiting += as_double(waiting()) * time;
    load_.in_engine += as_double(running_) * time;
    load_.blocks_used += as_double(used) * time;
    load_.batch += as_double(m.decodes + m.prompts) * time;
    ++load_.steps;
    clock_ += time;
}

void EngineCopy::end_decodes() {
    ++decode_steps_;
    load_.tokens += decodes_;
    for (; !ends_.empty() && std::get<0>(ends_.top()) <= decode_steps_; ends_.pop()) {
        const auto [step, i, admission] = ends_.top();
        if (!sequences_[i].decoding || sequences_[i].admission != admission) continue;
        times(i).finished = clock_;
        release(i);
    }
}

void EngineCopy::end_prompts() {
    for (const Part& part : parts_) {
        const std::size_t i = part.sequence;
        Sequence& q = sequences_[i];
        q.computed += part.tokens;
        if (q.computed < q.target) continue;
        std::erase(computing_prompts_, i);
        ++load_.tokens;
        if (++q.generated == 1) times(i).first_token = clock_;
        if (q.generated < request(i).output_tokens) {
            begin_decoding(i);
            continue;
        }
        times(i).finished = clock_;
        release(i);
    }
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

/// Takes sequence `i` out of the engine.
void EngineCopy::release(std::size_t i) {
    Sequence& q = sequences_[i];
    free_blocks_ += blocks(q.target + decoded(q));
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
