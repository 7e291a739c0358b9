#include "scenario/recommendation_queueing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "prediction/shapes.hpp"
#include "scenario/queueing_engine.hpp"
#include "scenario/recommendation_grid.hpp"

namespace roofcast {

namespace {

// Tables of step times take most of the work: a few seconds for these.
constexpr std::size_t most_engines = 40;
constexpr std::int64_t most_simulations = 200;

/// Why nothing can be simulated; empty: it can.
std::string why_not(const Workload& workload, const RecommendationRequest& request) {
    if (!request.queueing) return "it was not asked for";
    const DecoderLlm* llm = language_model(workload);
    if (llm == nullptr) return fmt::format("{} is not a language model", workload.id);
    if (llm->cross_attention_tokens > 0) return fmt::format("{} keeps images in layers of cross attention", workload.id);
    if (!request.rate) return "no rate says when requests arrive";
    if (request.run.techniques.any()) return "the simulated engine has none of the techniques asked for";
    return {};
}

/// Cheapest first, each with as many copies as it needs at least, as far as that is known: a deployment that does not hold goes back with
/// one copy more. What comes off the top and holds is cheaper than all that is still to be simulated.
class QueueingJudge {
public:
    QueueingJudge(const Workload& workload, const std::vector<Contestant>& contestants, const RecommendationRequest& request,
                  const SoftwareStacks& software, std::vector<Deployment>& meeting)
        : workload_(workload),
          contestants_(contestants),
          request_(request),
          software_(software),
          meeting_(meeting),
          tried_(meeting.size()),
          open_(Cheaper{&meeting}) {}

    QueueingSummary run() {
        for (std::size_t i = 0; i < meeting_.size(); ++i) open_.insert(i);
        while (!open_.empty()) {
            const std::size_t i = *open_.begin();
            open_.erase(open_.begin());
            if (!is_needed(meeting_[i])) continue;
            if (tried_[i].holds) {
                accept(meeting_[i]);
            } else {
                judge(i);
            }
        }
        for (const auto& [deployment, engine] : engines_) summary_.simulations += engine.simulations();
        return std::move(summary_);
    }

private:
    struct Cheaper {
        const std::vector<Deployment>* all;
        bool operator()(std::size_t a, std::size_t b) const {
            if (is_cheaper((*all)[a], (*all)[b])) return true;
            return !is_cheaper((*all)[b], (*all)[a]) && a < b;
        }
    };
    /// What is known of one deployment.
    struct Tried {
        bool holds = false;
        std::int64_t step = 1;             ///< copies to go on by: twice as many after each miss but the first
        std::optional<QueueingMiss> miss;  ///< of the most copies that are known not to hold
    };

    [[nodiscard]] bool is_ranked(const Deployment& d) const {
        return std::any_of(ranked_.begin(), ranked_.end(), [&d](const Deployment& r) { return same_but_batch(d, r); });
    }
    [[nodiscard]] bool is_fastest(const Deployment& d) const { return !fastest_ || d.figures->latency < *fastest_; }

    /// For the ranking a way of running that is not in it yet, for the front one that is faster than all cheaper ones.
    [[nodiscard]] bool is_needed(const Deployment& d) const {
        return is_fastest(d) || (!is_ranked(d) && ranked_.size() < request_.queueing->finalists);
    }

    void accept(const Deployment& d) {
        if (!is_ranked(d)) ranked_.push_back(d);
        if (is_fastest(d)) fastest_ = d.figures->latency;
    }

    void judge(std::size_t i) {
        Deployment& d = meeting_[i];
        QueueingEngine* engine = engine_of(d);
        if (engine == nullptr) {
            // Copies that it was raised to are not known to hold.
            if (d.load) set_copies(d, d.load->batch_copies, {}, {});
            d.load.reset();
            ++summary_.unreached;
            return;
        }
        if (!d.load) d.load = UnderLoad{.batch_copies = d.parallel.data};
        const double scale = request_.by_bound ? d.figures->intervals->latency.high : 1;
        d.load->error = engine->error();
        if (d.load->error.empty() && try_copies(d, tried_[i], *engine, scale)) {
            open_.insert(i);
            return;
        }
        d.outcome = Outcome::queueing;
        d.excess = d.load->miss ? d.load->miss->seen / d.load->miss->limit : 0;
        if (std::none_of(summary_.overloaded.begin(), summary_.overloaded.end(),
                         [&d](const Deployment& other) { return same_but_batch(d, other); }))
            summary_.overloaded.push_back(d);
    }

    /// Tries the copies that `d` has, or more where many have been tried, and leaves the fewest that hold or may hold. False: there are
    /// none.
    bool try_copies(Deployment& d, Tried& tried, QueueingEngine& engine, double scale) const {
        const std::int64_t least = d.parallel.data, most = most_affordable(d), copies = std::min(most, least + tried.step - 1);
        const UnderLoad& load = engine.under_load(copies, scale);
        if (!load.miss) {
            tried.holds = true;
            const std::int64_t fewest = fewest_between(least, copies, tried, engine, scale);
            set_copies(d, fewest, engine.under_load(fewest, scale), tried);
            return true;
        }
        if (tried.miss) tried.step *= 2;
        tried.miss = load.miss;
        const auto alone = engine.alone(scale).miss;  // then no number of copies will do
        if (alone) tried.miss = alone;
        d.load->miss = tried.miss;
        if (alone || copies >= most) return false;
        set_copies(d, copies + 1, {}, tried);
        return true;
    }

    /// Of `least` to `most` copies, which hold: the fewest that do.
    static std::int64_t fewest_between(std::int64_t least, std::int64_t most, Tried& tried, QueueingEngine& engine, double scale) {
        while (least < most) {
            const std::int64_t middle = least + (most - least) / 2;
            const auto& miss = engine.under_load(middle, scale).miss;
            if (miss) tried.miss = miss;
            (miss ? least : most) = miss ? middle + 1 : middle;
        }
        return most;
    }

    void set_copies(Deployment& d, std::int64_t copies, const UnderLoad& seen, const Tried& tried) const {
        const std::int64_t batch_copies = d.load->batch_copies;
        d = with_copies(d, copies, contestants_[d.gpu], request_);
        d.load = seen;
        d.load->batch_copies = batch_copies;
        d.load->miss = tried.miss;
    }

    [[nodiscard]] std::int64_t most_affordable(const Deployment& d) const {
        constexpr double rounding = 1 + 1e-12;  // of a budget that is a whole number of copies
        if (!request_.budget) return most_copies;
        const UsDollarsPerSecond of_one = d.cost->rate / static_cast<double>(d.parallel.data);
        return std::min(most_copies, std::max(d.parallel.data, static_cast<std::int64_t>(*request_.budget / of_one * rounding)));
    }

    /// nullptr: that would be too much work.
    QueueingEngine* engine_of(const Deployment& d) {
        const auto known = std::find_if(engines_.begin(), engines_.end(), [&d](const auto& e) { return same_but_batch(d, e.first); });
        std::int64_t simulations = 0;
        for (const auto& [deployment, engine] : engines_) simulations += engine.simulations();
        if (simulations >= most_simulations) return nullptr;
        if (known != engines_.end()) return &known->second;
        if (engines_.size() >= most_engines) return nullptr;
        engines_.emplace_back(d, QueueingEngine(workload_, contestants_[d.gpu], request_, software_, d));
        return &engines_.back().second;
    }

    const Workload& workload_;
    const std::vector<Contestant>& contestants_;
    const RecommendationRequest& request_;
    const SoftwareStacks& software_;
    std::vector<Deployment>& meeting_;
    std::vector<Tried> tried_;
    std::set<std::size_t, Cheaper> open_;
    std::vector<Deployment> ranked_;
    std::optional<Seconds> fastest_;
    std::deque<std::pair<Deployment, QueueingEngine>> engines_;
    QueueingSummary summary_;
};

}  // namespace

QueueingSummary judge_queueing(const Workload& workload, const std::vector<Contestant>& contestants, const RecommendationRequest& request,
                               const SoftwareStacks& software, std::vector<Deployment>& meeting) {
    if (std::string why = why_not(workload, request); !why.empty()) return {.why_not = std::move(why)};
    QueueingSummary summary = QueueingJudge(workload, contestants, request, software, meeting).run();
    summary.requests = simulated_requests(*request.queueing, 1, completed_sizes(request.run, workload).shape.generate_tokens);
    return summary;
}

}  // namespace roofcast
