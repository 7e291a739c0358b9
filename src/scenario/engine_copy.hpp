#pragma once
/// One copy of the model at work: its clock, its blocks, and the requests in it.
///
/// All decoding sequences advance by one token a decode step, so that nothing is done for each of them: when a sequence ends, when it needs
/// its next block, and the sum of all contexts follow from the number of decode steps alone. A step costs as much as there are sequences
/// that begin or end in it.

#include <queue>
#include <tuple>

#include "roofcast/serving.hpp"
#include "scenario/misses.hpp"

namespace roofcast {

/// Counts misses of all copies, until there are enough to give up.
struct MissCounter {
    EarlyEnd end;
    Misses count;
    [[nodiscard]] bool gives_up() const { return count.most() >= end.misses; }
};

class EngineCopy {
public:
    /// Serves requests `first`, `first` + copies, `first` + 2·copies, … and writes their `times`. Users are shared out alike. Ends early
    /// where `misses` gives up; nullptr: never.
    EngineCopy(const ServingEngine& engine, const std::vector<ServingRequest>& requests, std::size_t first,
               std::vector<RequestTimes>& times, MissCounter* misses = nullptr);

    EngineLoad run();

private:
    struct Sequence {
        std::int64_t target = 0;  ///< tokens whose keys and values the next token needs: the prompt, and what was generated before leaving
        std::int64_t computed = 0;   ///< of these
        std::int64_t generated = 0;  ///< output tokens when it began to decode
        std::int64_t joined = 0;     ///< decode steps before it began to decode
        std::int64_t admission = 0;  ///< which time of entering this is; tells stale entries of `order_` and `ends_`
        bool running = false, decoding = false;
    };
    /// Prompt tokens of one sequence in the step.
    struct Part {
        std::size_t sequence = 0;
        std::int64_t tokens = 0;
    };

    [[nodiscard]] const ServingRequest& request(std::size_t i) const { return requests_[first_ + i * stride_]; }
    [[nodiscard]] RequestTimes& times(std::size_t i) { return times_[first_ + i * stride_]; }
    [[nodiscard]] std::int64_t waiting() const { return static_cast<std::int64_t>(preempted_.size() + arrived_ - entered_); }
    [[nodiscard]] std::size_t head() const { return preempted_.empty() ? entered_ : preempted_.back(); }
    [[nodiscard]] std::int64_t blocks(std::int64_t tokens) const;
    [[nodiscard]] std::int64_t entry_blocks(std::size_t i) const;
    [[nodiscard]] bool next_has_arrived() const;
    [[nodiscard]] bool reserves_output() const { return engine_.options.admission == Admission::output; }
    [[nodiscard]] std::int64_t cached_prefix(std::size_t i) const;
    [[nodiscard]] std::int64_t decoded(const Sequence& q) const { return q.decoding ? decode_steps_ - q.joined : 0; }
    [[nodiscard]] std::size_t phase(const Sequence& q) const;
    [[nodiscard]] bool head_may_enter() const;

    void receive();
    std::size_t enter();
    void compute_prompt(std::size_t i, std::int64_t& budget);
    [[nodiscard]] Seconds arrival(std::size_t i) const;
    [[nodiscard]] Seconds reaches_scheduler(std::size_t i) const;
    [[nodiscard]] std::int64_t prompt_budget() const;
    bool prompts_wait();
    void plan_prompts(std::int64_t budget);
    void plan_mixed();
    void plan_prompts_first();
    bool make_room_for_decodes();
    void preempt_latest();
    [[nodiscard]] StepMix mix() const;
    void advance(const StepMix& mix);
    [[nodiscard]] std::int64_t tokens_of_step();
    void end_decodes();
    void end_prompts();
    void begin_decoding(std::size_t i);
    void finish(std::size_t i);
    void release(std::size_t i);

    const ServingEngine& engine_;
    const std::vector<ServingRequest>& requests_;
    std::vector<RequestTimes>& times_;
    MissCounter* misses_;
    std::size_t first_, stride_, count_;

    Seconds clock_;
    std::vector<Sequence> sequences_;
    std::size_t users_;                                        ///< of this copy; 0: requests arrive at their times
    std::size_t arrived_ = 0, entered_ = 0, finished_ = 0;     ///< requests that arrived, that entered for the first time, that ended
    std::vector<std::size_t> preempted_;                       ///< wait again, before all others; the back goes first
    std::vector<std::size_t> computing_prompts_;               ///< in the engine, prompt not complete
    std::vector<std::pair<std::size_t, std::int64_t>> order_;  ///< of entering: sequence and admission; finished ones stay for a while
    using End = std::tuple<std::int64_t, std::size_t, std::int64_t>;  ///< decode steps at its last token, sequence, admission
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;

    std::int64_t running_ = 0, decoding_ = 0, decode_steps_ = 0, admissions_ = 0, free_blocks_ = 0;
    std::int64_t polled_ = 0;                 ///< steps with decodes when requests were looked for last
    std::int64_t waited_ = 0;                 ///< steps that prompts have been held back for
    std::vector<Seconds> ends_of_requests_;   ///< in order, where users send them
    std::int64_t context_sum_ = 0;            ///< of decoding sequences: context less `decode_steps_`
    std::vector<std::int64_t> block_phases_;  ///< decoding sequences that need a block when decode_steps_ modulo block size is this
    std::vector<Part> parts_;                 ///< prompts of the step
    std::int64_t decodes_ = 0;                ///< of the step
    std::int64_t iterations_ = 0;             ///< steps with decodes
    std::int64_t begun_ = 0;                  ///< prompts that begin in the step, anew after a preemption too
    double scores_ = 0;                       ///< attention scores of the step's prompts, per head
    EngineLoad load_;
};

}  // namespace roofcast
