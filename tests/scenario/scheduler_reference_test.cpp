// The scheduler against one that looks at every sequence and every block in every step: slow, and without the counters of the fast one.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>

#include "roofcast/serving.hpp"
#include "scenario/constant_steps.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::constant_engine;
using test::rel;

namespace {

struct Plain {
    std::size_t request = 0;
    std::int64_t computed = 0, to_compute = 0, output = 0, blocks = 0;
    [[nodiscard]] bool decoding() const { return computed >= to_compute; }
};

/// Steps of one second.
class PlainEngine {
public:
    PlainEngine(const SchedulerOptions& options, std::int64_t blocks, const std::vector<ServingRequest>& requests, std::size_t users)
        : o_(options), free_(blocks), requests_(requests), users_(users), finished(requests.size()) {}

    void run() {
        std::size_t arrived = 0;
        while (arrived < requests_.size() || !waiting_.empty() || !running_.empty()) {
            if (users_ == 0 && waiting_.empty() && running_.empty()) clock_ = std::max(clock_, requests_[arrived].arrival.in(s));
            const auto here = [&] { return users_ > 0 ? arrived < users_ + ended_ : requests_[arrived].arrival.in(s) <= clock_; };
            if (decodes_alone_ >= o_.poll_steps || prompts_ || running_.empty()) {
                decodes_alone_ = 0;
                for (; arrived < requests_.size() && here(); ++arrived)
                    waiting_.push_back({.request = arrived, .to_compute = requests_[arrived].prompt_tokens});
            }
            step();
        }
    }

private:
    [[nodiscard]] std::int64_t blocks(std::int64_t tokens) const { return (tokens + o_.block_tokens - 1) / o_.block_tokens; }

    [[nodiscard]] std::int64_t entry_blocks(const Plain& q) const {
        const ServingRequest& r = requests_[q.request];
        return blocks(o_.admission == Admission::output ? r.prompt_tokens + r.output_tokens - 1 : q.to_compute);
    }

    void preempt_last() {
        Plain q = running_.back();
        running_.pop_back();
        free_ += q.blocks;
        ++preemptions;
        waiting_.push_front({.request = q.request, .to_compute = requests_[q.request].prompt_tokens + q.output, .output = q.output});
    }

    /// Keys and values of the next token of each decoding sequence; whether one had to leave for them.
    bool grow() {
        const auto wanted = [this] {
            std::int64_t sum = 0;
            for (const Plain& q : running_) sum += q.decoding() ? std::max<std::int64_t>(0, blocks(q.computed + 1) - q.blocks) : 0;
            return sum;
        };
        bool left = false;
        for (; wanted() > free_; left = true) preempt_last();
        for (Plain& q : running_) {
            if (!q.decoding()) continue;
            const std::int64_t more = std::max<std::int64_t>(0, blocks(q.computed + 1) - q.blocks);
            free_ -= more;
            q.blocks += more;
        }
        return left;
    }

    /// Of a prompt, in whole blocks and never its last token.
    [[nodiscard]] std::int64_t cached(const Plain& q) const {
        const std::int64_t prompt = requests_[q.request].prompt_tokens;
        const auto share = static_cast<std::int64_t>(o_.prefix_cached * static_cast<double>(prompt) + 1e-9);
        return std::min(share - share % o_.block_tokens, prompt - 1);
    }

    [[nodiscard]] bool may_enter() const {
        return !waiting_.empty() && static_cast<std::int64_t>(running_.size()) < o_.max_sequences &&
               entry_blocks(waiting_.front()) <= free_;
    }

    Plain& enter() {
        running_.push_back(waiting_.front());
        waiting_.pop_front();
        Plain& q = running_.back();
        q.blocks = entry_blocks(q);
        q.computed = cached(q);
        free_ -= q.blocks;
        return q;
    }

    /// Tokens of each prompt, begun or new, into `tokens`, as far as `budget` goes; whole ones as far as they fit, one at least.
    void compute_prompts(std::int64_t budget, bool new_ones, std::vector<std::int64_t>& tokens) {
        bool any = false;
        for (std::size_t i = 0; i < running_.size(); ++i) {
            if (running_[i].decoding()) continue;
            tokens[i] = std::min(budget, running_[i].to_compute - running_[i].computed);
            budget -= tokens[i];
            any = any || tokens[i] > 0;
        }
        while (new_ones && budget > 0 && may_enter()) {
            const std::int64_t whole = waiting_.front().to_compute - cached(waiting_.front());
            if (!o_.chunked && any && whole > budget) return;
            enter();
            tokens.push_back(o_.chunked ? std::min(budget, whole) : whole);
            budget -= tokens.back();
            any = true;
        }
    }

    /// Tokens of each running sequence in a mixed step; of decoding ones one.
    std::vector<std::int64_t> mixed_step() {
        const bool left = grow();
        std::vector<std::int64_t> tokens;
        for (const Plain& q : running_) tokens.push_back(q.decoding() ? 1 : 0);
        const std::int64_t decodes = std::count(tokens.begin(), tokens.end(), 1);
        compute_prompts(std::min(o_.max_tokens - decodes, o_.chunk.value_or(o_.max_tokens)), !left, tokens);
        return tokens;
    }

    /// The same where prompts run in steps of their own that go first.
    std::vector<std::int64_t> prompts_step() {
        std::vector<std::int64_t> tokens(running_.size(), 0);
        compute_prompts(o_.chunk.value_or(o_.max_tokens), true, tokens);
        if (std::any_of(tokens.begin(), tokens.end(), [](std::int64_t t) { return t > 0; })) return tokens;
        grow();
        tokens.assign(running_.size(), 1);
        return tokens;
    }

    void step() {
        const std::vector<std::int64_t> tokens = o_.batching == Batching::mixed ? mixed_step() : prompts_step();
        clock_ += 1;
        prompts_ = false;
        bool decodes = false;
        for (std::size_t i = 0; i < running_.size(); ++i) {
            prompts_ = prompts_ || (!running_[i].decoding() && tokens[i] > 0);
            decodes = decodes || (running_[i].decoding() && tokens[i] > 0);
        }
        if (decodes) ++decodes_alone_;
        for (std::size_t i = 0; i < running_.size(); ++i) {
            Plain& q = running_[i];
            q.computed += tokens[i];
            if (tokens[i] > 0 && q.decoding()) ++q.output;
        }
        std::erase_if(running_, [this](const Plain& q) {
            if (q.output < requests_[q.request].output_tokens) return false;
            finished[q.request] = clock_;
            ++ended_;
            free_ += q.blocks;
            return true;
        });
    }

    SchedulerOptions o_;
    std::int64_t free_;
    const std::vector<ServingRequest>& requests_;
    std::size_t users_, ended_ = 0;
    std::deque<Plain> waiting_;
    std::vector<Plain> running_;
    double clock_ = 0;
    std::int64_t decodes_alone_ = 0;  ///< decode steps since requests were looked for
    bool prompts_ = false;            ///< of the last step

public:
    std::vector<double> finished;
    std::int64_t preemptions = 0;
};

}  // namespace

TEST_CASE("the scheduler does in each step what one that looks at every sequence does") {
    std::int64_t preemptions = 0;
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
        CAPTURE(seed);
        SchedulerOptions options{.max_sequences = 12, .max_tokens = 40, .block_tokens = 1 + static_cast<std::int64_t>(seed % 5)};
        if (seed % 2 == 0) options.chunk = 7 + static_cast<std::int64_t>(seed % 9);
        const std::int64_t blocks = 160 / options.block_tokens;
        if (seed % 3 == 0) options.admission = Admission::output;
        options.chunked = seed % 7 > 2;
        if (!options.chunked) options.chunk.reset();
        options.batching = seed % 11 > 4 ? Batching::mixed : Batching::prompts_first;
        options.poll_steps = seed % 13 == 0 ? 4 : 1;
        if (seed % 5 == 4) options.prefix_cached = 0.4;
        ServingEngine engine = constant_engine(options, blocks);
        engine.users = seed % 4 == 1 ? 20 : 0;
        auto requests = drawn(
            {.requests = 200, .rate = 0.3 / s, .prompt_mean = 15, .prompt_cv = 0.7, .output_mean = 20, .output_cv = 0.7, .seed = seed});
        std::erase_if(requests, [&](const ServingRequest& r) { return refusal(engine, r).has_value(); });
        PlainEngine plain(options, blocks, requests, static_cast<std::size_t>(engine.users));
        plain.run();
        const ServingRun run = simulated(engine, requests);
        CHECK(run.load.preemptions == plain.preemptions);
        if (options.admission == Admission::output) CHECK(run.load.preemptions == 0);
        CHECK(run.load.blocks_left == 0);
        preemptions += plain.preemptions;
        for (std::size_t i = 0; i < requests.size(); ++i) REQUIRE(run.times[i].finished.in(s) == rel(plain.finished[i], 1e-9));
    }
    CHECK(preemptions > 1000);
}
