#include "report/recommendation_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/cost_report.hpp"
#include "report/recommendation_tables.hpp"

namespace roofcast {

namespace {

std::string limits_text(const RecommendationRequest& r) {
    std::vector<std::string> limits;
    const auto add = [&limits](const char* what, const std::optional<Seconds>& limit) {
        if (limit) limits.push_back(fmt::format("{} at most {}", what, readable_time(limit->in(s))));
    };
    add("TTFT", r.objective.ttft);
    add("TPOT", r.objective.tpot);
    add("latency", r.objective.latency);
    return fmt::format("{}", fmt::join(limits, ", "));
}

/// The first rows of a list.
std::vector<Deployment> first(const std::vector<Deployment>& deployments, std::size_t rows) {
    return {deployments.begin(), deployments.begin() + static_cast<std::ptrdiff_t>(std::min(rows, deployments.size()))};
}

/// What was simulated, or why nothing was.
std::string queueing_headline(const NamedRecommendation& n) {
    const QueueingSummary& q = n.answer.queueing;
    if (!has_queueing(n)) return fmt::format("not simulated: {}", q.why_not);
    std::string text = fmt::format(
        "{} % of requests keep each limit where a row has P{}: {} requests, Poisson at {}/s, seed {}; {} simulations", queueing_percentile,
        queueing_percentile, q.requests, significant(n.request.rate->in(1 / s)), n.request.queueing->seed, q.simulations);
    if (q.unreached > 0) text += fmt::format("; {} deployments are beyond the most that are simulated", q.unreached);
    return text;
}

std::vector<std::string> headlines(const NamedRecommendation& n) {
    const RecommendationRequest& r = n.request;
    const RunShape& shape = r.run.shape;
    std::string what = n.model_name;
    if (n.answer.output_tokens > 0) what += fmt::format(", {} prompt and {} output tokens", shape.prompt_tokens, shape.generate_tokens);
    std::string limits = limits_text(r) + (r.by_bound ? fmt::format(" at the upper bound of the {} % interval", interval_percent) : "");
    limits += r.rate ? fmt::format("; {} requests/s", significant(r.rate->in(1 / s))) : "; no rate: one copy at full load";
    if (r.budget) limits += fmt::format("; at most {} USD/hour", significant(r.budget->in(1 * usd / hour)));
    const auto meeting = n.answer.deployments[static_cast<std::size_t>(Outcome::meets)];
    std::size_t tried = 0;
    for (const std::size_t count : n.answer.deployments) tried += count;
    const auto able = std::count_if(n.answer.gpus.begin(), n.answer.gpus.end(), [](const GpuVerdict& v) { return v.meeting > 0; });
    return {fmt::format("{}; prices in US dollars as of {}", what, to_string(n.today)), limits,
            fmt::format("{} of {} deployments meet all, on {} of {} GPUs", meeting, tried, able, n.contestants.size()),
            "queueing: " + queueing_headline(n)};
}

/// "rtx-4090, tp 2, bf16".
std::string way_of_running(const NamedRecommendation& n, const Deployment& d) {
    const auto degree = [](const char* name, std::int64_t ways) { return ways > 1 ? fmt::format(", {} {}", name, ways) : std::string(); };
    return fmt::format("{}{}{}, {}{}", n.contestants[d.gpu].gpu->profile.id, degree("tp", d.parallel.tensor),
                       degree("pp", d.parallel.pipeline), name(d.precision),
                       d.weights.label.empty() ? "" : fmt::format(" with {} weights", d.weights.label));
}

/// What random arrivals changed of the rows shown, and what they rule out.
std::vector<std::string> queueing_lines(const NamedRecommendation& n) {
    std::vector<std::string> lines;
    for (const Deployment& d : first(n.answer.ranked, n.top)) {
        if (d.load && d.parallel.data > d.load->batch_copies)
            lines.push_back(fmt::format("queueing: {}: {} copies rather than {}: {}", way_of_running(n, d), d.parallel.data,
                                        d.load->batch_copies, queueing_reason(n, d)));
    }
    for (const Deployment& d : first(n.answer.queueing.overloaded, n.top))
        lines.push_back(fmt::format("queueing: {} falls out: {}", way_of_running(n, d), queueing_reason(n, d)));
    return lines;
}

std::vector<std::string> assumptions(const NamedRecommendation& n) {
    const bool language = n.answer.output_tokens > 0;
    std::vector<std::string> lines;
    if (has_queueing(n)) {
        lines.emplace_back(
            "TTFT, TPOT and latency are those of one batch, TTFT of all its prompts together; P99 those of requests that arrive at random "
            "and go to the copies in turn, each an engine that forms its own batches");
        lines.push_back(
            fmt::format("that engine is roofcast serve-sim's, with --dp for the copies, --requests {} --max-seqs {} --memory-fraction 1{}",
                        n.answer.queueing.requests, n.request.batch_fixed ? n.request.run.shape.batch : n.request.queueing->max_sequences,
                        n.request.by_bound ? ", and every step at the upper bound of its time" : ""));
    } else {
        lines.emplace_back(language
                               ? "times are those of one batch: TTFT of all its prompts together; waiting for a free place and a load that "
                                 "varies are not included: roofcast serve-sim simulates both"
                               : "times are those of one batch; waiting for a free place and a load that varies are not included");
    }
    lines.emplace_back(n.request.rate
                           ? "copies are whole and paid at all hours; the mean rate is steady; each is judged at its full batch first"
                           : "all hours paid for are at work at full load");
    lines.emplace_back("GPUs of one copy share a machine, joined as their profile says; any number can be rented at the price of one each");
    if (n.request.allow_quantization) lines.emplace_back("what 8- and 4-bit formats do to accuracy is not predicted");
    return lines;
}

/// GPUs of the ranking's rows and of `of_front` rows of the front, each once.
std::vector<std::size_t> shown_gpus(const NamedRecommendation& n, std::size_t of_front) {
    std::vector<std::size_t> gpus;
    const auto add = [&gpus](const Deployment& d) {
        if (std::find(gpus.begin(), gpus.end(), d.gpu) == gpus.end()) gpus.push_back(d.gpu);
    };
    for (const Deployment& d : first(n.answer.ranked, n.top)) add(d);
    for (const Deployment& d : first(n.answer.front, of_front)) add(d);
    return gpus;
}

nlohmann::ordered_json objective_json(const RecommendationRequest& r) {
    const auto limit = [](const std::optional<Seconds>& time) {
        return time ? nlohmann::ordered_json(time->in(ms)) : nlohmann::ordered_json();
    };
    return {{"ttft_limit_ms", limit(r.objective.ttft)},
            {"tpot_limit_ms", limit(r.objective.tpot)},
            {"latency_limit_ms", limit(r.objective.latency)},
            {"by_bound", r.by_bound},
            {"rate_per_s", r.rate ? nlohmann::ordered_json(r.rate->in(1 / s)) : nlohmann::ordered_json()},
            {"budget_usd_per_hour", r.budget ? nlohmann::ordered_json(r.budget->in(1 * usd / hour)) : nlohmann::ordered_json()}};
}

nlohmann::ordered_json queueing_json(const NamedRecommendation& n) {
    const QueueingSummary& q = n.answer.queueing;
    if (!has_queueing(n)) return {{"simulated", false}, {"why_not", q.why_not}};
    auto overloaded = nlohmann::ordered_json::array();
    for (const Deployment& d : q.overloaded)
        overloaded.push_back(
            {{"deployment", way_of_running(n, d)}, {"gpu", n.contestants[d.gpu].gpu->profile.id}, {"why", queueing_reason(n, d)}});
    return {{"simulated", true},
            {"percentile", queueing_percentile},
            {"requests", q.requests},
            {"seed", n.request.queueing->seed},
            {"simulations", q.simulations},
            {"unreached", q.unreached},
            {"overloaded", std::move(overloaded)}};
}

nlohmann::ordered_json reasons_json(const NamedRecommendation& n) {
    auto reasons = nlohmann::ordered_json::array();
    for (const Outcome outcome : reasons_met(n))
        reasons.push_back({{"reason", std::string(name(outcome))},
                           {"gpus", gpus_with(n, outcome).size()},
                           {"deployments", n.answer.deployments[static_cast<std::size_t>(outcome)]}});
    return reasons;
}

nlohmann::ordered_json document_of(const NamedRecommendation& n) {
    const RunShape& shape = n.request.run.shape;
    const bool language = n.answer.output_tokens > 0;
    nlohmann::ordered_json d{{"model", n.model_id}, {"currency", "USD"}, {"date", to_string(n.today)}};
    d["objective"] = objective_json(n.request);
    d["queueing"] = queueing_json(n);
    d["prompt_tokens"] = shape.prompt_tokens > 0 ? nlohmann::ordered_json(shape.prompt_tokens) : nlohmann::ordered_json();
    d["output_tokens"] = language ? nlohmann::ordered_json(n.answer.output_tokens) : nlohmann::ordered_json();
    d["execution"] = std::string(name(n.request.run.execution));
    d["allow_quantization"] = n.request.allow_quantization;
    d["grid"] = recommendation_grid_text(n.request);
    d["deployments_meeting"] = n.answer.deployments[static_cast<std::size_t>(Outcome::meets)];
    d["ranked_in_all"] = n.answer.ranked.size();
    d["ranked"] = as_json(deployment_rows(n, first(n.answer.ranked, n.top)));
    d["front"] = as_json(deployment_rows(n, n.answer.front));
    d["reasons"] = reasons_json(n);
    d["misses"] = misses_json(n);
    d["prices"] = nlohmann::ordered_json::object();
    for (const Contestant& c : n.contestants) d["prices"][c.gpu->profile.id] = as_json(c.rental_price);
    d["assumed"] = nlohmann::ordered_json::object();
    for (const std::size_t i : shown_gpus(n, n.answer.front.size())) {
        const GpuProfile& gpu = n.contestants[i].gpu->profile;
        if (!gpu.assumed.empty()) d["assumed"][gpu.id] = as_json(gpu.assumed);
    }
    d["assumptions"] = assumptions(n);
    d["interval_percent"] = interval_percent;
    d["notes"] = n.notes;
    return d;
}

/// Prices and assumed values of the GPUs that are shown, and what all rests on.
std::vector<std::string> closing_lines(const NamedRecommendation& n) {
    std::vector<std::string> lines;
    for (const Outcome outcome : reasons_met(n)) {
        if (const auto ids = gpus_with(n, outcome); !ids.empty())
            lines.push_back(fmt::format("{}{}: {}", in_words(outcome),
                                        outcome == Outcome::no_price ? " (--usd-per-hour gives that of one --gpu)" : "",
                                        fmt::join(ids, ", ")));
    }
    const auto queueing = queueing_lines(n);
    lines.insert(lines.end(), queueing.begin(), queueing.end());
    for (const std::size_t i : shown_gpus(n, n.top)) {
        const Contestant& c = n.contestants[i];
        if (c.rental_price) lines.push_back(fmt::format("rent of {}: {}", c.gpu->profile.id, described(*c.rental_price)));
    }
    lines.push_back("searched: " + recommendation_grid_text(n.request));
    for (const auto& text : assumptions(n)) lines.push_back("assumption: " + text);
    for (const auto& text : n.notes) lines.push_back("note: " + text);
    lines.push_back(fmt::format("to, low, high: {} % interval of the times{}", interval_percent,
                                !n.request.rate ? ""
                                : has_queueing(n)
                                    ? "; of a cost, that of the copies that a batch needs at its ends, and those that queueing adds"
                                    : "; of a cost, that of the copies needed at its ends"));
    lines.push_back(energy_remark());
    for (const std::size_t i : shown_gpus(n, n.top)) {
        const GpuProfile& gpu = n.contestants[i].gpu->profile;
        for (const Assumption& a : gpu.assumed) lines.push_back(fmt::format("{}: {}", gpu.id, assumed_line(a)));
    }
    return lines;
}

std::string of_all(std::size_t shown_rows, std::size_t all) {
    return shown_rows < all ? fmt::format("the {} cheapest of {} (--top)", shown_rows, all) : std::string("the cheapest first");
}

void add_rankings(Report& report, const NamedRecommendation& n) {
    const auto top = first(n.answer.ranked, n.top), front = first(n.answer.front, n.top);
    report.csv = deployment_rows(n, top);
    if (top.empty()) return;
    report.tables.push_back(deployment_table(
        n, top,
        fmt::format("Ranking: each GPU, parallelism and format at its cheapest batch, {}", of_all(top.size(), n.answer.ranked.size()))));
    report.tables.push_back(deployment_table(
        n, front,
        fmt::format("Front (*): any batch, none is at once cheaper and faster, {}", of_all(front.size(), n.answer.front.size()))));
}

}  // namespace

Report recommendation_report(const NamedRecommendation& n) {
    Report report;
    report.document = document_of(n);
    report.before = headlines(n);
    add_rankings(report, n);
    if (Table reasons = reason_table(n); !reasons.rows.empty()) report.tables.push_back(std::move(reasons));
    report.after = closing_lines(n);
    return report;
}

}  // namespace roofcast
