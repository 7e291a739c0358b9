#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenario/comparison_search.hpp"

namespace roofcast {

namespace {

/// What a score counts, for sentences: "1.3× the items/s of …".
std::string_view measure(Objective objective) {
    constexpr std::string_view measures[] = {"items/s", "speed", "items per dollar", "items per joule"};
    return measures[static_cast<std::size_t>(objective)];
}

/// "1.31× the items/s of", or that it makes no difference.
std::string gain(double better, double worse, const ComparisonRequest& request) {
    const double ratio = better / worse;
    if (std::abs(ratio - 1) < negligible_gain) return "within 1 % of";
    return fmt::format("{:.3g}× the {} of", ratio, measure(request.objective));
}

/// The lightest candidate of the nearest quality below `limit` of which none fits whole; nullptr: there is none.
const Candidate* lightest_unfit(const std::vector<Candidate>& candidates, Quality limit) {
    const Candidate* lightest = nullptr;
    for (const Candidate& c : candidates) {
        if (c.format.quality >= limit || c.offload > 0) continue;
        const bool nearer = lightest != nullptr && c.format.quality > lightest->format.quality;
        const bool lighter = lightest != nullptr && c.format.quality == lightest->format.quality && c.memory < lightest->memory;
        if (lightest == nullptr || nearer || lighter) lightest = &c;
    }
    return lightest;
}

/// A format that loses quality: what forced it, and what it gains over the best that loses less.
std::string quantized_choice(const Candidate& best, const std::vector<Candidate>& candidates, const ComparisonRequest& request,
                             Bytes capacity) {
    const Candidate* lesser = best_of(candidates, [&best](const Candidate& c) { return c.format.quality < best.format.quality; });
    const bool fits_whole = lesser != nullptr && lesser->offload <= 0;
    const Candidate* unfit = lightest_unfit(candidates, fits_whole ? lesser->format.quality : best.format.quality);
    std::string text = described(best.format);
    if (unfit != nullptr) text += fmt::format(" because {} {}", described(unfit->format), needs_text(unfit->memory, capacity));
    if (lesser != nullptr)
        text += fmt::format(", {}{} {}", fits_whole ? "as allowed: " : "", gain(best.score, lesser->score, request), described(*lesser));
    return text + " (what it does to accuracy is not predicted)";
}

std::string format_choice(const Candidate& best, const std::vector<Candidate>& candidates, const ComparisonRequest& request,
                          Bytes capacity) {
    if (best.format.quality != Quality::kept) return quantized_choice(best, candidates, request, capacity);
    const Candidate* other = best_of(candidates, [&best](const Candidate& c) {
        return c.format.quality == Quality::kept && c.format.precision != best.format.precision;
    });
    if (other != nullptr)
        return fmt::format("{}: {} {}, the next best", described(best.format), gain(best.score, other->score, request),
                           described(other->format));
    if (request.precision_fixed) return {};
    return fmt::format("{}: no other precision of 16 bits or more is there and fits", described(best.format));
}

/// Offloaded weights: the fraction, and the reason.
std::string offload_choice(const Candidate& best, Bytes capacity) {
    if (best.offload <= 0) return {};
    return fmt::format("offload {} of the layers' weights because {} {} at batch {}", percent_text(best.offload), described(best.format),
                       needs_text(best.unoffloaded, capacity), best.batch);
}

/// What quantizing would gain a GPU that does not need it.
std::string not_quantized(const Candidate& best, const std::vector<Candidate>& candidates, const ComparisonRequest& request) {
    if (best.format.quality != Quality::kept) return {};
    const Candidate* other = best_of(candidates, [](const Candidate& c) { return c.format.quality != Quality::kept; });
    if (other == nullptr) return {};
    return fmt::format("not quantized: {} has {} it", described(*other), gain(other->score, best.score, request));
}

std::string batch_choice(const Candidate& best, const std::vector<Candidate>& candidates, const ComparisonRequest& request,
                         Bytes capacity) {
    if (request.batch_fixed) return {};
    const auto larger = std::find_if(candidates.begin(), candidates.end(), [&best](const Candidate& c) {
        return c.batch > best.batch && c.execution == best.execution && is_same(c.format, best.format) &&
               (c.offload > 0) == (best.offload > 0);
    });
    if (larger == candidates.end()) return fmt::format("batch {}, the largest of the grid", best.batch);
    if (!larger->fits)
        return fmt::format("batch {} because {} {}{}", best.batch, larger->batch, needs_text(larger->memory, capacity),
                           larger->offload > 0 ? " with all layers' weights offloaded" : "");
    return fmt::format("batch {}: {} {}", best.batch, gain(best.score, larger->score, request), larger->batch);
}

std::string execution_choice(const Candidate& best, const std::vector<Candidate>& candidates, const ComparisonRequest& request) {
    const Candidate* other = best_of(candidates, [&best](const Candidate& c) { return c.execution != best.execution; });
    if (other == nullptr) return {};
    return fmt::format("{}: {} {}, the next best", name(best.execution), gain(best.score, other->score, request), name(other->execution));
}

}  // namespace

std::string described(const RunFormat& format) {
    if (format.weights && !format.weights->label.empty())
        return fmt::format("{} weights on {}", format.weights->label, name(format.precision));
    return std::string(name(format.precision));
}

std::string percent_text(double fraction) {
    return fmt::format("{:.4g} %", 100 * fraction);
}

std::string described(const Candidate& c) {
    const std::string offload = c.offload > 0 ? fmt::format(" with {} of the layers' weights offloaded", percent_text(c.offload)) : "";
    return fmt::format("{}{}, batch {}, {}", described(c.format), offload, c.batch, name(c.execution));
}

bool is_same(const RunFormat& a, const RunFormat& b) {
    return a.precision == b.precision && a.weights == b.weights;
}

std::string needs_text(Bytes needed, Bytes capacity) {
    return fmt::format("needs {:.1f} GB of {:.1f}", needed.in(gb), capacity.in(gb));
}

std::vector<std::string> choices_of(const Candidate& best, const std::vector<Candidate>& candidates, const ComparisonRequest& request,
                                    Bytes capacity) {
    std::vector<std::string> choices{format_choice(best, candidates, request, capacity), offload_choice(best, capacity),
                                     not_quantized(best, candidates, request), batch_choice(best, candidates, request, capacity),
                                     execution_choice(best, candidates, request)};
    std::erase(choices, std::string());
    return choices;
}

ContestantRun without_run(const Contestant& contestant, std::string reason) {
    ContestantRun run;
    run.contestant = contestant;
    run.reason = std::move(reason);
    return run;
}

ContestantRun with_run(const Contestant& contestant, Prediction prediction, std::vector<std::string> choices) {
    if (!prediction.runs()) return without_run(contestant, obstacle(prediction));
    ContestantRun run = without_run(contestant, {});
    run.choices = std::move(choices);
    run.utilization = run_utilization(prediction, contestant.gpu->profile);
    run.energy = run_energy(prediction, *contestant.gpu);
    const std::int64_t tokens = std::max<std::int64_t>(1, prediction.request.prompt_tokens);
    if (contestant.rental_price) run.rental = rental_cost(prediction, tokens, rent(*contestant.rental_price), 1);
    run.prediction = std::move(prediction);
    return run;
}

}  // namespace roofcast
