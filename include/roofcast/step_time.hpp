#pragma once
/// Time of one step of a serving engine that computes prompts and decodes in the same pass.
///
/// With D(n, c) a decode step of n sequences whose caches hold c tokens, P(s, q, h) a pass over q tokens of each of s prompts that have h
/// in the cache, and W(r, l) what both have in common for r rows and l rows of logits (every operator but attention and what surrounds it
/// in one of the two alone):
///
///     T = D(n, c) + P(s, q, h) + W(n + s·q, n + s) − W(n, n) − W(s·q, s)
///
/// so that weights are read and the CPU works once. T = D without prompts and T = P without decodes, exactly; no step with prompts is
/// shorter than F, what the CPU takes to issue it kernel by kernel, where engines capture graphs for decodes alone. D' stands for D in
/// steps that have both under engines with one attention kernel for them (`joint_attention`), which cuts decodes as it cuts prompts. Images
/// of v sequences that begin their prompts go through the vision part before, as a pass of their own: V(v) more. Assumptions: attention of
/// prompts and of decodes follow each other; sequences of one kind are alike: means of their tokens and caches. Source: chunked prefill as
/// in Agrawal et al., "Sarathi-Serve" (2024); the terms are those of `predict`.

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "roofcast/execution.hpp"
#include "roofcast/op_graph.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// What one step computes: one token of each decoding sequence, and tokens of prompts.
struct StepMix {
    std::int64_t decodes = 0;        ///< n: sequences that get a token each
    double context = 1;              ///< c: mean tokens in their caches, the new one included
    std::int64_t prompts = 0;        ///< s: sequences whose prompts, or chunks of them, are computed
    std::int64_t prompt_tokens = 0;  ///< s·q: tokens computed for all of these
    double past = 0;                 ///< h: tokens in their caches before, weighted so that the number of attention scores is right
    std::int64_t encoded = 0;        ///< v: sequences whose images are encoded; only of vision-language models
};

/// What proposes tokens in each step, one pass for each token.
struct StepDraft {
    DecoderLlm model;
    Run run;  ///< as `StepModel::run`
    std::int64_t tokens = 1;
    std::int64_t modules = 1;  ///< of the model's own: each reads prompts, too
};

/// Everything that the time of a step depends on but the step: one model on one GPU (or group of GPUs) under one software stack.
struct StepModel {
    DecoderLlm model;                      ///< of a vision-language model, its language part
    std::optional<VisionLanguage> vision;  ///< the whole of a vision-language model
    Gpu gpu;
    SoftwareStack stack;
    Run run;                 ///< precisions, parallelism and images of a sequence; batch and token counts are not read
    Seconds prompt_floor{};  ///< F: CPU time to launch a prefill pass, excluded from the stack above
    std::optional<StepDraft> draft{};
    /// Tokens of a decoding sequence that a step computes: one, or what is proposed and one more.
    [[nodiscard]] std::int64_t verified() const { return draft ? draft->tokens + 1 : 1; }
};

/// Step model of a completed `request`. Throws Error when `workload` has no language model.
StepModel step_model(const Workload& workload, const Gpu& device, const Run& request, const SoftwareStacks& software);

/// The equation above, from graphs. Means are rounded to whole tokens. `mix` computes at least one token.
Seconds step_time(const StepModel& model, const StepMix& mix);

/// The largest step that a table is to cover; all at least 1.
struct StepRange {
    std::int64_t sequences = 1;      ///< n, s and v
    std::int64_t tokens = 1;         ///< n + s·q
    std::int64_t prompt_tokens = 1;  ///< s·q
    std::int64_t context = 1;        ///< c and h
    bool exact_rows = false;         ///< W is computed for each number of rows that is asked for: times of GEMMs jump between two of them
};

/// Ascending values, geometrically spaced; interpolation is linear in log(value + offset).
struct LogAxis {
    std::vector<double> values, logs;
    double offset = 0;  ///< above 0 where the axis begins at 0
};

/// A list whose values are computed when they are first read: a simulation visits few points of a large grid. Copies share what is
/// known. Any number of threads may read it: two that need the same value at once compute it twice.
template <class T>
class OnDemand {
public:
    OnDemand() = default;
    OnDemand(std::initializer_list<T> values) : OnDemand(values.size(), {}) {
        std::size_t i = 0;
        for (const T& value : values) (*slots_)[i++].set(value);
    }
    OnDemand(std::size_t size, std::function<T(std::size_t)> value)
        : slots_(std::make_shared<std::vector<Slot>>(size)), value_(std::move(value)) {}

    [[nodiscard]] std::size_t size() const { return slots_ ? slots_->size() : 0; }
    [[nodiscard]] bool empty() const { return size() == 0; }
    /// `i` is below `size()`.
    T operator[](std::size_t i) const {
        Slot& slot = (*slots_)[i];
        if (!slot.known.load(std::memory_order_acquire)) slot.set(value_(i));
        return slot.value.load(std::memory_order_relaxed);
    }
    [[nodiscard]] T back() const { return (*this)[size() - 1]; }

private:
    struct Slot {
        std::atomic<T> value{};
        std::atomic<bool> known = false;
        void set(T v) {
            value.store(v, std::memory_order_relaxed);
            known.store(true, std::memory_order_release);
        }
    };
    std::shared_ptr<std::vector<Slot>> slots_;
    std::function<T(std::size_t)> value_;
};

/// What a pass takes in addition to W: D − W or P − W, on a grid.
///
/// Of the GPU's work in it, A, as much is hidden as the GPU waits for the CPU in W, w; but the part takes no less than H, which is that of
/// the smallest pass; if the CPU is slower, its time for that pass.
///
///     part = max(A − w, H) + rest
///
/// A is smooth in all sizes, where the part itself has a kink between two points of the grid; `rest` is small.
struct StepPart {
    OnDemand<double> log_work;  ///< log of A in seconds
    OnDemand<double> rest;      ///< seconds; empty where the CPU issues whole passes: the part is A then
    Seconds host;               ///< H
};

/// Step times on a grid: the parts of the equation, each over the few sizes that it depends on. Between the points A is interpolated
/// linearly in its logarithm, which powers of a size make exact, and `rest` linearly; A is monotone where its points are. Points are
/// computed when a step first needs them. Any number of threads may read a table.
struct StepTable {
    OnDemand<Seconds> body;         ///< W without logits, by rows
    OnDemand<Seconds> head;         ///< logits and sampling, by sequences
    OnDemand<Seconds> waiting;      ///< w: time that the GPU waits for the CPU in `body`, by rows; empty if the CPU launches whole passes
    LogAxis decodes, context;       ///< of `decode`
    LogAxis prompts, tokens, past;  ///< of `prompt`; `tokens` of one sequence
    LogAxis encoded;                ///< of `vision_part`; empty without a vision part
    StepPart decode;                ///< [decodes, context]
    std::optional<StepPart> joint_decode;  ///< the same for D'; absent where engines have a kernel for decodes alone
    StepPart prompt;                       ///< [prompts, tokens, past]
    Seconds prompt_floor;                  ///< F
    OnDemand<double> vision_part;          ///< log of V in seconds, [encoded]
    std::int64_t verified = 1;             ///< rows of W for each decoding sequence
};

/// Keeps a copy of `model`.
StepTable tabulated(const StepModel& model, const StepRange& range);

/// Interpolated. Sizes beyond the table's range count as its end.
Seconds step_time(const StepTable& table, const StepMix& mix);

}  // namespace roofcast
