#include "report/recommendation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/charts/charts.hpp"
#include "report/cost_report.hpp"
#include "report/recommendation_tables.hpp"

namespace roofcast {

namespace {

std::string limits_text(const NamedRecommendation& n) {
    std::vector<std::string> limits;
    const std::string percentile = is_simulated(n) ? fmt::format("P{} ", load_percentile) : "";
    const auto add = [&](const char* what, const std::optional<Seconds>& limit) {
        if (limit) limits.push_back(fmt::format("{}{} at most {}", percentile, what, readable_time(limit->in(s))));
    };
    add("TTFT", n.request.objective.ttft);
    add("TPOT", n.request.objective.tpot);
    add("latency", n.request.objective.latency);
    return fmt::format("{}", fmt::join(limits, ", "));
}

/// "2 h200-sxm-141gb (tp 2), 7.18 USD/hour".
std::string named_text(const NamedRecommendation& n, const Deployment& d) {
    std::string text = fmt::format("{} {} ({})", d.parallel.gpus(), n.contestants[d.gpu].gpu->profile.id, copies_text(d));
    if (d.cost) text += fmt::format(", {} USD/hour", significant(d.cost->rate.in(1 * usd / hour)));
    return text;
}

std::string answer_line(const NamedRecommendation& n, Confidence c) {
    const std::string which = fmt::format("{:<23}", c == Confidence::expected ? "cheapest, expected" : "cheapest, upper bound");
    const auto& best = n.answer.cheapest(c);
    return which + (best ? named_text(n, *best) : std::string("none"));
}

std::vector<std::string> headlines(const NamedRecommendation& n) {
    const RecommendationRequest& r = n.request;
    const Run& run = r.run;
    std::string what = n.model_name;
    if (n.answer.output_tokens > 0) what += fmt::format(", {} prompt and {} output tokens", run.prompt_tokens, run.generate_tokens);
    what += r.rate ? fmt::format(", {} requests/s", significant(r.rate->in(1 / s))) : ", copies at full load (no `rate`)";
    std::string limits = limits_text(n);
    if (r.budget) limits += fmt::format("; at most {} USD/hour", significant(r.budget->in(1 * usd / hour)));
    if (r.most_gpus) limits += fmt::format("; at most {} GPUs", *r.most_gpus);
    return {what, limits, "", answer_line(n, Confidence::expected), answer_line(n, Confidence::upper)};
}

/// "AWS p5.48xlarge (us-east-1): 8 h100 over NVLink switches, 55.04 USD/hour, 2026-07-20; source: …".
std::string price_text(const NamedRecommendation& n, const Deployment& d) {
    const Contestant& contestant = n.contestants[d.gpu];
    const std::string& gpu = contestant.gpu->profile.id;
    if (!d.cost->instance) return fmt::format("{}: {}", gpu, described(*contestant.rental_price));
    const Instance& i = *d.cost->instance;
    const std::string what = i.any_number ? gpu : fmt::format("{} {}", i.gpus, gpu);
    return fmt::format("{}: {}{}, {} USD/hour, {}; source: {}", instance_name(i), what, i.topology.empty() ? "" : " over " + i.topology,
                       significant(i.usd.in(usd)), price_date(i, n.today), i.source);
}

std::vector<std::string> assumptions(const NamedRecommendation& n) {
    std::vector<std::string> lines;
    lines.push_back(
        fmt::format("expected: predicted times; upper: the upper bound of their {} % interval, which one measurement in ten exceeds",
                    interval_percent));
    if (is_simulated(n)) {
        lines.emplace_back("requests arrive at random and go to the copies in turn; each copy is the engine of roofcast serve-sim");
    } else {
        lines.emplace_back("times are those of one batch; waiting and a load that varies are not included");
    }
    lines.emplace_back(n.request.rate ? "copies are whole and paid at all hours" : "all hours paid for are at work at full load");
    lines.emplace_back("rent is of whole instances, and the GPUs of one copy lie in one; as many instances as needed can be had");
    if (n.request.allow_quantization) lines.emplace_back("what 8- and 4-bit formats do to accuracy is not predicted");
    return lines;
}

void add_once(std::vector<std::size_t>& gpus, const std::optional<Deployment>& d) {
    if (d && std::find(gpus.begin(), gpus.end(), d->gpu) == gpus.end()) gpus.push_back(d->gpu);
}

std::vector<std::size_t> gpus_of_answers(const NamedRecommendation& n) {
    std::vector<std::size_t> gpus;
    for (const Confidence c : confidences) add_once(gpus, n.answer.cheapest(c));
    return gpus;
}

/// GPUs of the answers and the rows shown, each once.
std::vector<std::size_t> shown_gpus(const NamedRecommendation& n) {
    std::vector<std::size_t> gpus = gpus_of_answers(n);
    for (const RecommendedRow& row : shown_rows(n)) add_once(gpus, row.at(n.request.confidence));
    return gpus;
}

/// Rejected GPUs by reason.
std::map<Outcome, std::vector<RejectedGpu>> by_reason(const NamedRecommendation& n) {
    std::map<Outcome, std::vector<RejectedGpu>> reasons;
    for (const RejectedGpu& gpu : n.answer.rejected) reasons[gpu.outcome].push_back(gpu);
    for (auto& [outcome, gpus] : reasons)
        std::stable_sort(gpus.begin(), gpus.end(), [](const RejectedGpu& a, const RejectedGpu& b) { return a.excess < b.excess; });
    return reasons;
}

/// "misses TPOT, 3 GPUs: t4 (1.8 x), p4 (2.4 x), …".
std::vector<std::string> rejected_lines(const NamedRecommendation& n) {
    std::vector<std::string> lines;
    for (const auto& [outcome, gpus] : by_reason(n)) {
        std::vector<std::string> ids;
        for (const RejectedGpu& gpu : gpus) {
            const std::string factor = gpu.excess > 0 ? fmt::format(" ({} x)", significant(gpu.excess, 2)) : "";
            ids.push_back(n.contestants[gpu.gpu].gpu->profile.id + factor);
        }
        lines.push_back(
            fmt::format("{}, {} {}: {}", in_words(outcome), ids.size(), ids.size() == 1 ? "GPU" : "GPUs", fmt::join(ids, ", ")));
    }
    return lines;
}

nlohmann::ordered_json objective_json(const RecommendationRequest& r) {
    const auto limit = [](const std::optional<Seconds>& time) {
        return time ? nlohmann::ordered_json(time->in(ms)) : nlohmann::ordered_json();
    };
    return {{"ttft_limit_ms", limit(r.objective.ttft)},
            {"tpot_limit_ms", limit(r.objective.tpot)},
            {"latency_limit_ms", limit(r.objective.latency)},
            {"confidence", std::string(name(r.confidence))},
            {"rate_per_s", r.rate ? nlohmann::ordered_json(r.rate->in(1 / s)) : nlohmann::ordered_json()},
            {"budget_usd_per_hour", r.budget ? nlohmann::ordered_json(r.budget->in(1 * usd / hour)) : nlohmann::ordered_json()},
            {"max_gpus", r.most_gpus ? nlohmann::ordered_json(*r.most_gpus) : nlohmann::ordered_json()}};
}

nlohmann::ordered_json load_json(const NamedRecommendation& n) {
    const LoadSummary& load = n.answer.load;
    if (!is_simulated(n)) return {{"simulated", false}, {"why_not", load.why_not}};
    return {{"simulated", true},
            {"percentile", load_percentile},
            {"requests", load.requests},
            {"seed", n.request.load.seed},
            {"simulations", load.simulations}};
}

nlohmann::ordered_json rows_json(const NamedRecommendation& n) {
    auto rows = nlohmann::ordered_json::array();
    for (const RecommendedRow& row : shown_rows(n)) {
        rows.push_back({{"rank", rows.size() + 1},
                        {"gpu", n.contestants[row.at(n.request.confidence)->gpu].gpu->profile.id},
                        {"expected", deployment_json(n, row.expected)},
                        {"upper", deployment_json(n, row.upper)}});
    }
    return rows;
}

nlohmann::ordered_json rejected_json(const NamedRecommendation& n) {
    auto rejected = nlohmann::ordered_json::array();
    for (const RejectedGpu& gpu : n.answer.rejected) {
        const auto excess = gpu.excess > 0 ? nlohmann::ordered_json(gpu.excess) : nlohmann::ordered_json();
        const auto nearest = gpu.nearest.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(gpu.nearest);
        rejected.push_back({{"gpu", n.contestants[gpu.gpu].gpu->profile.id},
                            {"reason", std::string(name(gpu.outcome))},
                            {"excess", excess},
                            {"nearest", nearest}});
    }
    return rejected;
}

nlohmann::ordered_json document_of(const NamedRecommendation& n) {
    const Run& run = n.request.run;
    nlohmann::ordered_json d{{"model", n.model_id}, {"currency", "USD"}, {"date", to_string(n.today)}};
    d["objective"] = objective_json(n.request);
    d["load"] = load_json(n);
    d["prompt_tokens"] = run.prompt_tokens > 0 ? nlohmann::ordered_json(run.prompt_tokens) : nlohmann::ordered_json();
    d["output_tokens"] = n.answer.output_tokens > 0 ? nlohmann::ordered_json(n.answer.output_tokens) : nlohmann::ordered_json();
    d["execution"] = std::string(name(n.request.run.execution));
    d["allow_quantization"] = n.request.allow_quantization;
    d["grid"] = recommendation_grid_text(n.request, is_simulated(n));
    d["cheapest"] = {{"expected", deployment_json(n, n.answer.cheapest_expected)}, {"upper", deployment_json(n, n.answer.cheapest_upper)}};
    d["rows_in_all"] = n.answer.rows.size();
    d["rows"] = rows_json(n);
    d["rejected"] = rejected_json(n);
    d["prices"] = nlohmann::ordered_json::object();
    for (const Contestant& c : n.contestants) d["prices"][c.gpu->profile.id] = as_json(c.rental_price);
    d["assumed"] = nlohmann::ordered_json::object();
    for (const std::size_t i : shown_gpus(n)) {
        const GpuProfile& gpu = n.contestants[i].gpu->profile;
        if (!gpu.assumed.empty()) d["assumed"][gpu.id] = as_json(gpu.assumed);
    }
    d["assumptions"] = assumptions(n);
    d["interval_percent"] = interval_percent;
    d["notes"] = n.notes;
    return d;
}

/// What the answer rests on: its simulation, prices, the search.
std::vector<std::string> closing_lines(const NamedRecommendation& n) {
    std::vector<std::string> lines = rejected_lines(n);
    if (!lines.empty()) lines.insert(lines.begin(), "Rejected GPUs by their nearest deployment");
    if (!lines.empty()) lines.emplace_back();
    if (!n.check.empty()) lines.push_back("check: " + n.check);
    if (!is_simulated(n)) lines.push_back("not simulated: " + n.answer.load.why_not);
    for (const Confidence c : confidences) {
        if (const auto& best = n.answer.cheapest(c); best && best->cost) {
            std::string text = "price: " + price_text(n, *best);
            if (lines.empty() || lines.back() != text) lines.push_back(std::move(text));
        }
    }
    lines.push_back("searched: " + recommendation_grid_text(n.request, is_simulated(n)));
    for (const auto& text : assumptions(n)) lines.push_back("assumption: " + text);
    for (const auto& text : n.notes) lines.push_back("note: " + text);
    for (const std::size_t i : gpus_of_answers(n)) {
        const GpuProfile& gpu = n.contestants[i].gpu->profile;
        for (const Assumption& a : gpu.assumed) lines.push_back(fmt::format("{}: {}", gpu.id, assumed_line(a)));
    }
    return lines;
}

std::string title_of(const NamedRecommendation& n) {
    const std::size_t shown = shown_rows(n).size(), all = n.answer.rows.size();
    std::string text = n.request.every_way ? "Every way of running, cheapest first" : "Cheapest deployment of each GPU";
    if (shown < all) text += fmt::format(", {} of {} (`top`)", shown, all);
    return text + fmt::format("; ranked by `confidence` {}", name(n.request.confidence)) +
           (n.answer.output_tokens > 0 ? "; times in ms" : "");
}

}  // namespace

Report recommendation_report(const NamedRecommendation& n) {
    Report report;
    report.document = document_of(n);
    report.before = headlines(n);
    report.csv = csv_rows_of(n);
    if (Table rows = text_rows_of(n); !rows.rows.empty()) {
        rows.title = title_of(n);
        report.tables.push_back(std::move(rows));
        if (Table rents = rent_rows_of(n); !rents.rows.empty()) report.tables.push_back(std::move(rents));
    }
    report.after = closing_lines(n);
    report.charts = recommendation_charts(n);
    return report;
}

}  // namespace roofcast
