#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "io/number_text.hpp"
#include "report/recommendation_tables.hpp"
#include "report/run_parts.hpp"
#include "report/run_reports.hpp"
#include "scenario/assumptions.hpp"

namespace roofcast {

namespace {

/// "P99 TTFT at most 500 ms, at most 4 GPUs".
std::string limits_text(const NamedRecommendation& n) {
    std::vector<std::string> limits;
    const std::string percentile = is_simulated(n) ? fmt::format("P{} ", load_percentile) : "";
    const auto add = [&](const char* what, const std::optional<Seconds>& limit) {
        if (limit) limits.push_back(fmt::format("{}{} at most {}", percentile, what, readable_time(limit->in(s))));
    };
    add("TTFT", n.request.objective.ttft);
    add("TPOT", n.request.objective.tpot);
    add("latency", n.request.objective.latency);
    if (n.request.budget) limits.push_back(fmt::format("at most {} USD/h", significant(n.request.budget->in(usd_per_hour))));
    if (n.request.most_gpus) limits.push_back(fmt::format("at most {} GPUs", *n.request.most_gpus));
    return fmt::format("{}", fmt::join(limits, ", "));
}

/// "2 h200-sxm-141gb (tp 2), 7.18 USD/h"; "1 t4, 0.35 USD/h".
std::string cheapest_text(const NamedRecommendation& n, Confidence c) {
    const std::optional<Deployment>& d = n.answer.cheapest(c);
    if (!d) return "none";
    std::string rent = d->cost ? fmt::format(", {} USD/h", significant(d->cost->rate.in(usd_per_hour))) : "";
    if (d->cost && !n.request.rate) {  // ranked by what an item costs
        const bool text = n.answer.output_tokens > 0;
        const double items = text ? million / static_cast<double>(n.answer.output_tokens) : thousand;
        rent +=
            fmt::format(", {} USD for {}", significant(items * d->cost->per_item.in(usd)), text ? "a million output tokens" : "1000 items");
    }
    const std::string copies = d->parallel.gpus() > 1 ? fmt::format(" ({})", copies_text(*d)) : "";
    return fmt::format("{} {}{}{}", d->parallel.gpus(), gpu_id(n, d->gpu), copies, rent);
}

std::vector<std::pair<std::string, std::string>> answer_facts(const NamedRecommendation& n) {
    const RecommendationRequest& r = n.request;
    std::string load =
        r.rate ? fmt::format("{} requests/s", significant(r.rate->in(1 / s))) : std::string("copies at full load (no `rate`)");
    if (n.answer.output_tokens > 0) load += fmt::format(", {} prompt and {} output tokens", r.run.prompt_tokens, r.run.generate_tokens);
    const std::string software = r.run.software.empty() ? "" : fmt::format(" under {}", r.run.software);
    return {{"model", n.model_name},
            {"load", std::move(load)},
            {"objective", limits_text(n)},
            {"execution", fmt::format("{}{}", name(r.run.execution), software)},
            {"prices as of", to_string(n.today)},
            {"cheapest, expected", cheapest_text(n, Confidence::expected)},
            {"cheapest, upper bound", cheapest_text(n, Confidence::upper)}};
}

/// "AWS p5.48xlarge (us-east-1): 8 h100 over NVLink switches, 55.04 USD/h, 2026-07-20; source: …".
std::string price_text(const NamedRecommendation& n, const Deployment& d) {
    const Contestant& contestant = n.contestants[d.gpu];
    const std::string& gpu = contestant.gpu->profile.id;
    if (!d.cost->instance) return fmt::format("{}: {}", gpu, described(*contestant.rental_price));
    const Instance& i = *d.cost->instance;
    const std::string what = i.any_number ? gpu : fmt::format("{} {}", i.gpus, gpu);
    return fmt::format("{}: {}{}, {} USD/h, {}; source: {}", instance_name(i), what, i.topology.empty() ? "" : " over " + i.topology,
                       significant(i.usd.in(usd)), price_date(i, n.today), i.source);
}

/// GPUs of the answers, each once.
std::vector<std::size_t> gpus_of_answers(const NamedRecommendation& n) {
    std::vector<std::size_t> gpus;
    for (const Confidence c : confidences) {
        const std::optional<Deployment>& d = n.answer.cheapest(c);
        if (d && std::find(gpus.begin(), gpus.end(), d->gpu) == gpus.end()) gpus.push_back(d->gpu);
    }
    return gpus;
}

/// "misses TPOT (3 GPUs): t4 (1.8 x), p4 (2.4 x), …".
std::vector<std::string> rejected_lines(const NamedRecommendation& n) {
    std::map<Outcome, std::vector<RejectedGpu>> reasons;
    for (const RejectedGpu& gpu : n.answer.rejected) reasons[gpu.outcome].push_back(gpu);
    std::vector<std::string> lines;
    for (auto& [outcome, gpus] : reasons) {
        std::stable_sort(gpus.begin(), gpus.end(), [](const RejectedGpu& a, const RejectedGpu& b) { return a.excess < b.excess; });
        std::vector<std::string> ids;
        for (const RejectedGpu& gpu : gpus) {
            const std::string factor = gpu.excess > 0 ? fmt::format(" ({} x)", significant(gpu.excess, 2)) : "";
            ids.push_back(gpu_id(n, gpu.gpu) + factor);
        }
        constexpr std::size_t most = 12;
        const std::size_t all = ids.size();
        if (all > most) {
            ids.resize(most);
            ids.push_back(fmt::format("and {} more (all in JSON)", all - most));
        }
        lines.push_back(fmt::format("{} ({} GPU{}): {}", in_words(outcome), all, all == 1 ? "" : "s", fmt::join(ids, ", ")));
    }
    if (lines.empty()) return lines;
    lines.insert(lines.begin(), "Why other GPUs were rejected (closest deployment of each, and its excess over the limit)");
    lines.emplace_back();
    return lines;
}

Json objective_json(const RecommendationRequest& request) {
    const ServiceObjective& limits = request.objective;
    return {{"ttft_limit_ms", cell_of(limits.ttft, ms)},       {"tpot_limit_ms", cell_of(limits.tpot, ms)},
            {"latency_limit_ms", cell_of(limits.latency, ms)}, {"confidence", name(request.confidence)},
            {"rate_per_s", cell_of(request.rate, 1 / s)},      {"budget_usd_per_hour", cell_of(request.budget, usd_per_hour)},
            {"max_gpus", cell_of(request.most_gpus)}};
}

Json load_json(const NamedRecommendation& n) {
    const LoadSummary& load = n.answer.load;
    if (!is_simulated(n)) return {{"simulated", false}, {"why_not", load.why_not}};
    return {{"simulated", true},
            {"percentile", load_percentile},
            {"requests", load.requests},
            {"seed", n.request.load.seed},
            {"simulations", load.simulations}};
}

Json rejected_json(const NamedRecommendation& n) {
    const Fields<RejectedGpu> fields{{{"gpu", "GPU"}, [&n](const RejectedGpu& x) { return gpu_id(n, x.gpu); }},
                                     {{"reason", "reason"}, &RejectedGpu::outcome},
                                     {{"excess", "excess"}, [](const RejectedGpu& x) { return x.excess > 0 ? Cell(x.excess) : Cell(); }},
                                     {{"nearest", "nearest deployment"}, &RejectedGpu::nearest, text_cell}};
    return as_json(table_of({}, n.answer.rejected, fields));
}

Json document_of(const NamedRecommendation& n) {
    auto prices = Json::object(), assumed = Json::object();
    for (const Contestant& c : n.contestants) prices[c.gpu->profile.id] = json_of(c.rental_price, price_fields());
    const Fields<Deployment> deployment =
        Fields<Deployment>{{{"gpu", "GPU"}, [&n](const Deployment& d) { return gpu_id(n, d.gpu); }}} + deployment_fields(n);
    std::vector<std::size_t> shown = gpus_of_answers(n);
    auto rows = Json::array();
    for (const auto& [rank, gpu, row] : shown_rows(n)) {
        rows.push_back(
            {{"rank", rank}, {"gpu", gpu}, {"expected", json_of(row.expected, deployment)}, {"upper", json_of(row.upper, deployment)}});
        shown.push_back(row.at(n.request.confidence)->gpu);
    }
    for (const std::size_t i : shown) {
        const GpuProfile& gpu = n.contestants[i].gpu->profile;
        if (!gpu.assumed.empty()) assumed[gpu.id] = as_json(gpu.assumed);
    }
    return {{"model", n.model_id},
            {"currency", "USD"},
            {"date", to_string(n.today)},
            {"objective", objective_json(n.request)},
            {"load", load_json(n)},
            {"prompt_tokens", count_cell(n.request.run.prompt_tokens)},
            {"output_tokens", count_cell(n.answer.output_tokens)},
            {"execution", name(n.request.run.execution)},
            {"allow_quantization", n.request.allow_quantization},
            {"grid", recommendation_grid_text(n.request, is_simulated(n))},
            {"cheapest",
             {{"expected", json_of(n.answer.cheapest_expected, deployment)}, {"upper", json_of(n.answer.cheapest_upper, deployment)}}},
            {"rows_in_all", n.answer.rows.size()},
            {"rows", rows},
            {"rejected", rejected_json(n)},
            {"prices", prices},
            {"assumed", assumed},
            {"assumptions", recommendation_assumptions(n.request, is_simulated(n))},
            {"interval_percent", interval_percent},
            {"notes", n.notes}};
}

/// What the answer rests on: its simulation, prices, the search.
std::vector<std::string> closing_lines(const NamedRecommendation& n) {
    std::vector<std::string> lines;
    if (!n.check.empty()) lines = {"Check the first row with: " + n.check, ""};
    add_lines(lines, rejected_lines(n));
    if (!is_simulated(n)) lines.push_back(fmt::format("No serving load was simulated: {}.", n.answer.load.why_not));
    for (const Confidence c : confidences) {
        if (const auto& best = n.answer.cheapest(c); best && best->cost) {
            std::string text = "price: " + price_text(n, *best);
            if (lines.empty() || lines.back() != text) lines.push_back(std::move(text));
        }
    }
    if (std::any_of(lines.begin(), lines.end(), [](const std::string& line) { return line.find("(old)") != std::string::npos; }))
        lines.emplace_back("note: prices marked (old) are more than a year old; check them before you decide");
    lines.push_back("The search covers " + recommendation_grid_text(n.request, is_simulated(n)) + ".");
    add_lines(lines, recommendation_assumptions(n.request, is_simulated(n)), "assumption: ");
    for (const RankedRow& ranked : shown_rows(n)) {
        const Deployment& d = *ranked.row.at(n.request.confidence);
        const GpuProfile& gpu = n.contestants[d.gpu].gpu->profile;
        Run run = n.request.run;
        run.parallel = d.parallel;
        if (const std::string how = pcie_note(run, gpu); !how.empty()) add_once(lines, {how}, fmt::format("note: {}: ", gpu.id));
    }
    add_lines(lines, n.notes, "note: ");
    for (const std::size_t i : gpus_of_answers(n)) {
        const GpuProfile& gpu = n.contestants[i].gpu->profile;
        add_lines(lines, assumed_lines(gpu.assumed, gpu.id + ": "));
    }
    return lines;
}

}  // namespace

Report recommendation_report(const NamedRecommendation& n) {
    Report report;
    report.document = document_of(n);
    report.before = {"Cheapest GPUs for " + n.model_name};
    report.facts = answer_facts(n);
    report.csv = deployment_table(n);
    if (!report.csv.rows.empty()) {
        report.tables.push_back(report.csv);
        std::string& title = report.tables.front().title;
        const std::size_t all = n.answer.rows.size();
        if (n.top < all) title += fmt::format(", {} of {} (`top`)", n.top, all);
        title += fmt::format(", ranked by `confidence` {}", name(n.request.confidence));
        add_table(report.tables, rent_table(n));
    }
    report.after = closing_lines(n);
    return report;
}

}  // namespace roofcast
