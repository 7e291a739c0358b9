#include "prediction/shapes.hpp"
#include "report/run_parts.hpp"
#include "report/serving_tables.hpp"
#include "scenario/assumptions.hpp"

namespace roofcast {

namespace {

nlohmann::ordered_json settings_json(const SchedulerOptions& o, const CacheRoom& room) {
    return {{"max_sequences", o.max_sequences},
            {"max_tokens", o.max_tokens},
            {"batching", name(o.batching)},
            {"chunked_prefill", o.chunked},
            {"chunk_tokens", as_json(o.chunked ? Cell(o.chunk.value_or(o.max_tokens)) : Cell())},
            {"block_tokens", o.block_tokens},
            {"memory_fraction", room.fraction},
            {"prefix_cached", o.prefix_cached},
            {"admission", name(o.admission)}};
}

nlohmann::ordered_json arrivals_json(const NamedServing& n) {
    if (!n.process) return {{"kind", "trace"}, {"trace", n.trace}};
    const ArrivalProcess& p = *n.process;
    const bool closed = n.question.users > 0;
    nlohmann::ordered_json document{{"kind", closed ? "users" : "poisson"}};
    if (closed) document["users"] = n.question.users;
    document["rate_per_s"] = as_json(closed || n.question.attainment ? Cell() : cell_of(p.rate, 1 / s));
    document.update({{"prompt_tokens", p.prompt_mean},
                     {"prompt_cv", p.prompt_cv},
                     {"output_tokens", p.output_mean},
                     {"output_cv", p.output_cv},
                     {"seed", p.seed}});
    return document;
}

nlohmann::ordered_json search_json(const NamedServing& n) {
    const auto& search = n.answer.predicted.search;
    if (!search) return nullptr;
    const auto rate = [](const ServingCase& c) { return c.search->rate; };
    // Rates of the cases can cross, as latencies can: the expected one stays between its bounds.
    std::optional<Hertz> low = n.answer.high ? rate(*n.answer.high) : std::nullopt,
                         high = n.answer.low ? rate(*n.answer.low) : std::nullopt;
    if (low && search->rate) low = min(*low, *search->rate);
    if (high && search->rate) high = max(*high, *search->rate);
    return {{"highest_rate_per_s", as_json(cell_of(search->rate, 1 / s))},
            {"highest_rate_per_s_low", as_json(cell_of(low, 1 / s))},
            {"highest_rate_per_s_high", as_json(cell_of(high, 1 / s))},
            {"share_percent", 100 * *n.question.attainment},
            {"saturated_per_s", search->saturated.in(1 / s)},
            {"limited_by_throughput", search->limited_by_throughput},
            {"simulations", search->simulations}};
}

nlohmann::ordered_json overload_json(const ServingCase& c) {
    if (!c.overload) return nullptr;
    return {{"offered_per_s", c.overload->offered.in(1 / s)}, {"sustained_per_s", c.overload->sustained.in(1 / s)}};
}

nlohmann::ordered_json speculation_json(const Techniques& t) {
    if (!t.speculation) return nullptr;
    const Speculation& s = *t.speculation;
    return {{"draft", s.draft->id},
            {"draft_tokens", s.tokens},
            {"acceptance", s.acceptance},
            {"tokens_per_step", expected_tokens(s.acceptance, s.tokens)}};
}

}  // namespace

nlohmann::ordered_json serving_document(const NamedServing& n) {
    const Run& run = n.question.request;
    const ServingAnswer& a = n.answer;
    const auto refused = [&a](Refusal why) { return a.refused[static_cast<std::size_t>(why)]; };
    const auto if_simulated = [&n](Cell cell) { return as_json(n.misfit ? Cell() : cell); };
    const MemoryMisfit misfit = n.misfit.value_or(MemoryMisfit{});
    return {{"model", n.model_id},
            {"gpu", n.gpu_id},
            {"precision", name(run.precision)},
            {"weights", weights_text(run)},
            {"kv_precision", name(run.cache_precision())},
            {"execution", name(run.execution)},
            {"software", run.software},
            {"ttft_boundary", times_clients(n.engine) ? "client" : "engine"},
            {"parallel", parallel_json(run.parallel)},
            {"speculation", speculation_json(run.techniques)},
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
            {"needed_gb", as_json(n.misfit ? cell_of(misfit.needed, gb) : Cell())},
            {"capacity_gb", as_json(n.misfit ? cell_of(misfit.usable, gb) : Cell())},
            {"remedies", misfit.remedies},
            {"overload", overload_json(a.predicted)},
            {"overload_high", a.high ? overload_json(*a.high) : nlohmann::ordered_json()},
            {"latencies", as_json(latency_table(n))},
            {"loads", n.misfit ? nlohmann::ordered_json::array() : as_json(load_table(n))},
            {"objectives", as_json(objective_table(n))},
            {"rate_search", search_json(n)},
            {"memory", as_json(cache_table(n)).front()},
            {"duration_s", if_simulated(a.predicted.load.end.in(s))},
            {"steps", if_simulated(cell_of(a.predicted.load.steps))},
            {"interval_percent", as_json(a.intervals ? cell_of(interval_percent) : Cell())},
            {"interval_basis", as_json(a.intervals ? Cell(a.intervals->basis) : Cell())},
            {"assumptions", n.assumptions},
            {"notes", n.notes},
            {"assumed", as_json(n.assumed)}};
}

}  // namespace roofcast
