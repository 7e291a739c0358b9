#include <fmt/format.h>

#include "io/number_text.hpp"
#include "prediction/shapes.hpp"
#include "report/run_parts.hpp"
#include "report/serving_tables.hpp"
#include "scenario/assumptions.hpp"

namespace roofcast {

namespace {

Json settings_json(const SchedulerOptions& o, const CacheRoom& room) {
    return {{"max_sequences", o.max_sequences},
            {"max_tokens", o.max_tokens},
            {"batching", name(o.batching)},
            {"chunked_prefill", o.chunked},
            {"chunk_tokens", o.chunked ? Cell(o.chunk.value_or(o.max_tokens)) : Cell()},
            {"block_tokens", o.block_tokens},
            {"memory_fraction", room.fraction},
            {"prefix_cached", o.prefix_cached},
            {"admission", name(o.admission)}};
}

Json arrivals_json(const NamedServing& n) {
    if (!n.process) return {{"kind", "trace"}, {"trace", n.trace}};
    const ArrivalProcess& p = *n.process;
    const bool closed = n.question.users > 0;
    Json document{{"kind", closed ? "users" : "poisson"}};
    if (closed) document["users"] = n.question.users;
    document["rate_per_s"] = as_json(closed || n.question.attainment ? Cell() : cell_of(p.rate, 1 / s));
    document.update({{"prompt_tokens", p.prompt_mean},
                     {"prompt_cv", p.prompt_cv},
                     {"output_tokens", p.output_mean},
                     {"output_cv", p.output_cv},
                     {"seed", p.seed}});
    return document;
}

Json search_json(const NamedServing& n) {
    const auto& search = n.answer.predicted.search;
    if (!search) return nullptr;
    const auto rate = [](const ServingCase& c) { return c.search->rate; };
    // Rates of the cases can cross, as latencies can: the expected one stays between its bounds.
    std::optional<Hertz> low = n.answer.high ? rate(*n.answer.high) : std::nullopt,
                         high = n.answer.low ? rate(*n.answer.low) : std::nullopt;
    if (low && search->rate) low = min(*low, *search->rate);
    if (high && search->rate) high = max(*high, *search->rate);
    return {{"highest_rate_per_s", cell_of(search->rate, 1 / s)},
            {"highest_rate_per_s_low", cell_of(low, 1 / s)},
            {"highest_rate_per_s_high", cell_of(high, 1 / s)},
            {"share_percent", 100 * *n.question.attainment},
            {"saturated_per_s", search->saturated.in(1 / s)},
            {"limited_by_throughput", search->limited_by_throughput},
            {"simulations", search->simulations}};
}

Json overload_json(const ServingCase& c) {
    if (!c.overload) return nullptr;
    return {{"offered_per_s", c.overload->offered.in(1 / s)}, {"sustained_per_s", c.overload->sustained.in(1 / s)}};
}

/// The answer as JSON (docs/reference/json.md).
Json serving_document(const NamedServing& n) {
    const Run& run = n.question.request;
    const ServingAnswer& a = n.answer;
    const auto refused = [&a](Refusal why) { return a.refused[static_cast<std::size_t>(why)]; };
    const auto if_simulated = [&n](Cell cell) { return n.misfit ? Cell() : cell; };
    const MemoryMisfit misfit = n.misfit.value_or(MemoryMisfit{});
    const Fields<Speculation> speculation =
        speculation_fields() + Fields<Speculation>{{{"tokens_per_step", "tokens a step"},
                                                    [](const Speculation& x) { return expected_tokens(x.acceptance, x.tokens); }}};
    return {{"model", n.model_id},
            {"gpu", n.gpu_id},
            {"precision", name(run.precision)},
            {"weights", weights_text(run)},
            {"kv_precision", name(run.cache_precision())},
            {"execution", name(run.execution)},
            {"software", run.software},
            {"ttft_boundary", times_clients(n.engine) ? "client" : "engine"},
            {"parallel", parallel_json(run.parallel)},
            {"speculation", json_of(run.techniques.speculation, speculation)},
            {"settings", settings_json(n.question.options, n.answer.room)},
            {"arrivals", arrivals_json(n)},
            {"requests",
             {{"offered", n.offered},
              {"served", a.served},
              {"refused_context", refused(Refusal::context)},
              {"refused_cache", refused(Refusal::cache)},
              {"refused_step", refused(Refusal::step)},
              {"image_tokens", a.image_tokens},
              {"mean_prompt_tokens", a.mean_prompt},
              {"mean_output_tokens", a.mean_output}}},
            {"fits", !n.misfit},
            {"needed_gb", n.misfit ? cell_of(misfit.needed, gb) : Cell()},
            {"capacity_gb", n.misfit ? cell_of(misfit.usable, gb) : Cell()},
            {"remedies", misfit.remedies},
            {"overload", overload_json(a.predicted)},
            {"overload_high", a.high ? overload_json(*a.high) : Json()},
            {"latencies", as_json(latency_table(n))},
            {"loads", n.misfit ? Json::array() : as_json(load_table(n))},
            {"objectives", as_json(objective_table(n))},
            {"rate_search", search_json(n)},
            {"memory", as_json(cache_table(n)).front()},
            {"duration_s", if_simulated(a.predicted.load.end.in(s))},
            {"steps", if_simulated(cell_of(a.predicted.load.steps))},
            {"interval_percent", a.intervals ? cell_of(interval_percent) : Cell()},
            {"interval_basis", a.intervals ? Cell(a.intervals->basis) : Cell()},
            {"assumptions", n.assumptions},
            {"notes", n.notes},
            {"assumed", as_json(n.assumed)}};
}

std::string tokens_text(double mean, double cv) {
    return cv > 0 ? fmt::format("{} (cv {})", significant(mean), significant(cv, 3)) : significant(mean, 9);
}

std::string arrivals_text(const NamedServing& n) {
    if (!n.process) return fmt::format("{} requests of {}", n.offered, n.trace);
    const ArrivalProcess& p = *n.process;
    const auto& search = n.answer.predicted.search;
    const std::string how = n.question.users > 0                ? fmt::format("of {} users that wait for each answer", n.question.users)
                            : n.misfit && n.question.attainment ? std::string("Poisson")
                            : !search                           ? fmt::format("Poisson at {}/s", significant(p.rate.in(1 / s)))
                            : search->rate                      ? "Poisson at the highest rate that meets the objective"
                                           : fmt::format("Poisson at {}/s, the lowest tried", significant(search->lowest.in(1 / s), 3));
    return fmt::format("{} requests, {}, {} prompt and {} output tokens, seed {}", n.offered, how, tokens_text(p.prompt_mean, p.prompt_cv),
                       tokens_text(p.output_mean, p.output_cv), p.seed);
}

std::string rate_text(const ServingCase& c) {
    if (!c.search || !c.search->rate) return "none";
    return significant(c.search->rate->in(1 / s), 4) + "/s";
}

using Facts = std::vector<std::pair<std::string, std::string>>;

/// The rate of each case by name: the low bound of times has the high rate.
Facts search_facts(const NamedServing& n) {
    const auto& search = n.answer.predicted.search;
    if (!search) return {};
    const std::string goal = fmt::format("{} % of requests within the objective", significant(100 * *n.question.attainment));
    const std::string why =
        search->rate ? ": " + goal : fmt::format(": even at {}/s fewer than {}", significant(search->lowest.in(1 / s), 3), goal);
    Facts facts{{"highest rate", rate_text(n.answer.predicted) + why}};
    const auto bound = [&](const char* steps, const char* side, const ServingCase& c) {
        facts.emplace_back(steps, fmt::format("{} if every step has the {} bound of its {} % interval (×{})", rate_text(c), side,
                                              interval_percent, significant(c.time_scale, 3)));
    };
    if (n.answer.low && n.answer.high) {
        bound("with slow steps", "high", *n.answer.high);
        bound("with fast steps", "low", *n.answer.low);
    }
    if (search->limited_by_throughput) facts.emplace_back("limited by", "engine throughput at saturation");
    return facts;
}

std::string rates_text(const Overload& o) {
    return fmt::format("offered {}/s, sustained {}/s", significant(o.offered.in(1 / s), 3), significant(o.sustained.in(1 / s), 3));
}

/// What stands before everything else.
std::vector<std::string> overload_lines(const ServingAnswer& a) {
    if (a.predicted.overload)
        return {fmt::format("overloaded: {}; latencies grow without bound", rates_text(*a.predicted.overload)),
                "Lower `rate`, add GPUs (`parallel.data`, `parallel.tensor`), or let `attainment` search the highest rate that meets "
                "`objective`."};
    if (a.high && a.high->overload)
        return {fmt::format("overloaded at the high bound of step times: {}; the high bounds of latencies grow without bound",
                            rates_text(*a.high->overload))};
    return {};
}

/// Lengths of those served, where not all are equal; and what was refused.
std::vector<std::string> counted_lines(const NamedServing& n) {
    constexpr std::array<const char*, refusal_count> reasons{"longer than the model's context", "longer than the KV cache",
                                                             "prompt longer than a step"};
    std::vector<std::string> lines;
    const bool equal = n.process && n.process->prompt_cv == 0 && n.process->output_cv == 0;
    if (!equal)
        lines.push_back(fmt::format("{} served, {} prompt and {} output tokens on average", n.answer.served,
                                    significant(n.answer.mean_prompt), significant(n.answer.mean_output)));
    for (std::size_t i = 0; i < refusal_count; ++i) {
        if (n.answer.refused[i] > 0)
            lines.push_back(fmt::format("refused: {} of {} requests, {}", n.answer.refused[i], n.offered, reasons[i]));
    }
    return lines;
}

std::vector<std::string> misfit_lines(const NamedServing& n) {
    const MemoryMisfit& m = *n.misfit;
    return {fmt::format("It does not fit: {} needs {:.1f} GB with one block of its KV cache. {:.1f} GB are usable on {}.", n.model_id,
                        m.needed.in(gb), m.usable.in(gb), n.gpu_id),
            remedies_line(m.remedies)};
}

void add_simulation(Report& report, const NamedServing& n) {
    const ServingAnswer& a = n.answer;
    add_lines(report.before, counted_lines(n));
    report.facts = search_facts(n);
    if (!a.predicted.overload) report.tables.push_back(latency_table(n));
    report.tables.push_back(load_table(n));
    if (!n.question.objective.empty() && !a.predicted.overload) report.tables.push_back(objective_table(n));
    if (a.intervals)
        report.after.push_back(
            fmt::format("In the cases low and high every step takes its time at a bound of the {} % interval, from {}. Latencies also "
                        "include the spread "
                        "of measured loads.",
                        interval_percent, a.intervals->basis));
}

}  // namespace

bool has_answer(const NamedServing& n) {
    const ServingCase& c = n.answer.predicted;
    return !n.misfit && !c.overload && (!c.search || c.search->rate);
}

Report serving_report(const NamedServing& n) {
    const ServingAnswer& a = n.answer;
    Report report;
    report.document = serving_document(n);
    report.csv = serving_row(n);
    const Run& run = n.question.request;
    report.before = n.misfit ? misfit_lines(n) : overload_lines(a);
    report.before.push_back(fmt::format("{} on {}: {}{}, {}{}", n.model_name, n.gpu_name, name(run.precision), parallel_text(run.parallel),
                                        name(run.execution), run.software.empty() ? "" : " under " + run.software));
    report.before.push_back(arrivals_text(n));
    if (!n.misfit) add_simulation(report, n);
    report.tables.push_back(cache_table(n));
    add_lines(report.after, n.assumptions, "assumption: ");
    add_lines(report.after, n.notes, "note: ");
    add_lines(report.after, assumed_lines(n.assumed));
    return report;
}

}  // namespace roofcast
