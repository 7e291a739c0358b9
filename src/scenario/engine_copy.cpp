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
                       std::vector<RequestTimes>& times, MissCounter* misses)
    : engine_(engine),
      requests_(requests),
      times_(times),
      misses_(misses),
      first_(first),
      stride_(static_cast<std::size_t>(engine.copies)),
      count_(requests.size() > first ? (requests.size() - first + stride_ - 1) / stride_ : 0),
      sequences_(count_),
      users_((static_cast<std::size_t>(engine.users) + stride_ - 1 - first) / stride_),
      free_blocks_(engine.cache_blocks),
      block_phases_(static_cast<std::size_t>(engine.options.block_tokens)) {}

EngineLoad EngineCopy::run() {
    while ((arrived_ < count_ || waiting() > 0 || running_ > 0) && (misses_ == nullptr || !misses_->gives_up())) {
        if (waiting() == 0 && running_ == 0) clock_ = max(clock_, reaches_scheduler(arrived_));
        receive();
        parts_.clear();
        scores_ = 0;
        begun_ = 0;
        engine_.options.batching == Batching::mixed ? plan_mixed() : plan_prompts_first();
        advance(mix());
        if (decodes_ > 0) end_decodes();
        end_prompts();
    }
    load_.end = clock_;
    load_.blocks_left = engine_.cache_blocks - free_blocks_;
    return load_;
}

bool EngineCopy::next_has_arrived() const {
    if (users_ > 0 && arrived_ >= users_ + finished_) return false;
    return reaches_scheduler(arrived_) <= clock_;
}

/// Users send the first requests at once, and the next one when a step ends that ended the one before.
Seconds EngineCopy::arrival(std::size_t i) const {
    if (users_ == 0) return request(i).arrival;
    return i < users_ ? Seconds{} : ends_of_requests_[i - users_];
}

/// Text and network take requests of one moment apart: times are exponential, of the request's number alone. Requests keep their order.
Seconds EngineCopy::reaches_scheduler(std::size_t i) const {
    constexpr double golden = 0.6180339887498949;  // its multiples are spread evenly over 0 to 1
    const double fraction = std::fmod(golden * static_cast<double>(i + 1), 1.0);
    const Seconds text = static_cast<double>(request(i).prompt_tokens) * engine_.prompt_token_time;
    return arrival(i) + text - std::log1p(-fraction) * engine_.request_time;
}

/// What arrived while the last step ran has waited since. Schedulers that look for requests now and then do so after steps with prompts and
/// where nothing runs.
void EngineCopy::receive() {
    if (iterations_ - polled_ < engine_.options.poll_steps && parts_.empty() && running_ > 0) return;
    polled_ = iterations_;
    for (; arrived_ < count_ && next_has_arrived(); ++arrived_) {
        sequences_[arrived_].target = request(arrived_).prompt_tokens;
        times(arrived_).arrived = arrival(arrived_);
        load_.waiting += clock_ - times(arrived_).arrived;
    }
    load_.most_waiting = std::max(load_.most_waiting, waiting());
}

void EngineCopy::compute_prompt(std::size_t i, std::int64_t& budget) {
    const Sequence& q = sequences_[i];
    const std::int64_t tokens = std::min(budget, q.target - q.computed);
    if (tokens <= 0) return;
    parts_.push_back({i, tokens});
    scores_ += as_double(tokens) * (as_double(q.computed) + as_double(tokens) / 2);
    budget -= tokens;
}

/// Prompts begun before, then new ones, as far as the budget of tokens goes. Of prompts that are not cut the first goes into the step
/// whatever its length; others where there is room for all of them.
void EngineCopy::plan_prompts(std::int64_t budget) {
    for (const std::size_t i : computing_prompts_) compute_prompt(i, budget);
    while (budget > 0 && head_may_enter()) {
        std::int64_t whole = sequences_[head()].target - cached_prefix(head());
        if (engine_.options.chunked) {
            compute_prompt(enter(), budget);
            continue;
        }
        if (!parts_.empty() && whole > budget) return;
        budget -= whole;
        compute_prompt(enter(), whole);
    }
}

std::int64_t EngineCopy::prompt_budget() const {
    const SchedulerOptions& o = engine_.options;
    return std::min(o.max_tokens, o.chunk.value_or(o.max_tokens));
}

/// Decodes first, then prompts.
void EngineCopy::plan_mixed() {
    const bool full = make_room_for_decodes();
    decodes_ = decoding_;
    if (full || prompts_wait()) return;
    plan_prompts(std::min(engine_.options.max_tokens - engine_.steps.verified * decodes_, prompt_budget()));
}

/// Prompts in a step of their own where any may enter, else decodes.
void EngineCopy::plan_prompts_first() {
    plan_prompts(prompt_budget());
    decodes_ = 0;
    if (!parts_.empty()) return;
    make_room_for_decodes();
    decodes_ = decoding_;
}

/// Whether prompts that could begin wait while decodes run, until there are more of them.
bool EngineCopy::prompts_wait() {
    const SchedulerOptions& o = engine_.options;
    if (o.wait_steps == 0 || decodes_ == 0 || !computing_prompts_.empty() || !head_may_enter()) {
        waited_ = 0;
        return false;
    }
    const auto enough = static_cast<std::int64_t>(o.wait_fraction * as_double(o.max_tokens)) - engine_.steps.verified * decodes_;
    std::int64_t tokens = 0;
    for (const std::size_t i : preempted_) tokens += sequences_[i].target;
    for (std::size_t i = entered_; i < arrived_ && tokens < enough; ++i) tokens += request(i).prompt_tokens;
    if (tokens < enough && waited_ < o.wait_steps) {
        ++waited_;
        return true;
    }
    waited_ = 0;
    return false;
}

/// Sequences as their mean; `past` such that q·(h + q/2) of the mean is the mean of q·(h + q/2).
StepMix EngineCopy::mix() const {
    StepMix m;
    m.decodes = decodes_;
    if (decodes_ > 0) m.context = as_double(context_sum_) / as_double(decodes_) + as_double(decode_steps_);
    m.prompts = static_cast<std::int64_t>(parts_.size());
    for (const Part& part : parts_) m.prompt_tokens += part.tokens;
    m.encoded = begun_;
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
    load_.most_running = std::max(load_.most_running, running_);
    load_.busy += time;
    load_.waiting += as_double(waiting()) * time;
    load_.in_engine += as_double(running_) * time;
    load_.blocks_used += as_double(used) * time;
    load_.batch += as_double(m.decodes + m.prompts) * time;
    ++load_.steps;
    clock_ += time;
}

/// Whole tokens of the step's decodes, whose mean is that of the engine: all sequences advance alike.
std::int64_t EngineCopy::tokens_of_step() {
    const auto until = [this] { return static_cast<std::int64_t>(std::floor(engine_.tokens_per_step * as_double(iterations_))); };
    const std::int64_t before = until();
    ++iterations_;
    return until() - before;
}

void EngineCopy::end_decodes() {
    const std::int64_t tokens = tokens_of_step();
    for (std::int64_t token = 0; token < tokens && decoding_ > 0; ++token) {
        if (token > 0) make_room_for_decodes();
        load_.tokens += token > 0 ? decoding_ : decodes_;
        ++decode_steps_;
        for (; !ends_.empty() && std::get<0>(ends_.top()) <= decode_steps_; ends_.pop()) {
            const auto [step, i, admission] = ends_.top();
            if (!sequences_[i].decoding || sequences_[i].admission != admission) continue;
            finish(i);
        }
    }
}

void EngineCopy::end_prompts() {
    for (const Part& part : parts_) {
        const std::size_t i = part.sequence;
        Sequence& q = sequences_[i];
        if (!q.running) continue;  // had to leave for tokens of the step's decodes
        q.computed += part.tokens;
        if (q.computed < q.target) continue;
        std::erase(computing_prompts_, i);
        ++load_.tokens;
        if (++q.generated == 1) times(i).first_token = clock_;
        if (q.generated < request(i).output_tokens) {
            begin_decoding(i);
            continue;
        }
        finish(i);
    }
}

}  // namespace roofcast
