#include "report/serving_document.hpp"

#include "prediction/shapes.hpp"
#include "report/describe.hpp"
#include "report/prediction_report.hpp"
#include "report/serving_tables.hpp"
#include "scenario/assumptions.hpp"

namespace roofcast {

namespace {

nlohmann::ordered_json settings_json(const SchedulerOptions& o) {
    return {{"max_sequences", o.max_sequences},
            {"max_tokens", o.max_tokens},
            {"batching", std::string(name(o.batching))},
            {"chunked_prefill", o.chunked},
            {"chunk_tokens", o.chunked ? nlohmann::ordered_json(o.chunk.value_or(o.max_tokens)) : nlohmann::ordered_json()},
            {"block_tokens", o.block_tokens},
            {"memory_fraction", o.memory_fraction},
            {"prefix_cached", o.prefix_cached},
            {"admission", std::string(name(o.admission))}};
}

nlohmann::ordered_json arrivals_json(const NamedServing& n) {
    if (!n.process) return {{"kind", "trace"}, {"trace", n.trace}};
    const ArrivalProcess& p = *n.process;
    const bool closed = n.question.users > 0;
    nlohmann::ordered_json document{{"kind", closed ? "users" : "poisson"}};
    if (closed) document["users"] = n.question.users;
    document["rate_per_s"] = closed || n.question.attainment ? nlohmann::ordered_json() : nlohmann::ordered_json(p.rate.in(1 / s));
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
    const auto as_number = [](const std::optional<Hertz>& r) {
        return r ? nlohmann::ordered_json(r->in(1 / s)) : nlohmann::ordered_json();
    };
    // Rates of the cases can cross, as latencies can: the expected one stays between its bounds.
    std::optional<Hertz> low = n.answer.high ? rate(*n.answer.high) : std::nullopt,
                         high = n.answer.low ? rate(*n.answer.low) : std::nullopt;
    if (low && search->rate) low = min(*low, *search->rate);
    if (high && search->rate) high = max(*high, *search->rate);
    return {{"highest_rate_per_s", as_number(search->rate)},
            {"highest_rate_per_s_low", as_number(low)},
            {"highest_rate_per_s_high", as_number(high)},
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
    nlohmann::ordered_json d{{"model", n.model_id},
                             {"gpu", n.gpu_id},
                             {"precision", std::string(name(run.precision))},
                             {"weights", weights_text(run)},
                             {"kv_precision", std::string(name(run.cache_precision()))},
                             {"execution", std::string(name(run.execution))},
                             {"software", run.software}};
    d["ttft_boundary"] = times_clients(n.engine) ? "client" : "engine";
    d["parallel"] = parallel_json(run.parallel);
    d["speculation"] = speculation_json(run.techniques);
    d["settings"] = settings_json(n.question.options);
    d["arrivals"] = arrivals_json(n);
    d["requests"] = {{"offered", n.offered},
                     {"served", a.served},
                     {"refused_context", a.refused[static_cast<std::size_t>(Refusal::context)]},
                     {"refused_cache", a.refused[static_cast<std::size_t>(Refusal::cache)]},
                     {"refused_step", a.refused[static_cast<std::size_t>(Refusal::step)]},
                     {"image_tokens", a.image_tokens},
                     {"mean_prompt_tokens", a.mean_prompt},
                     {"mean_output_tokens", a.mean_output}};
    d["fits"] = !n.misfit;
    d["needed_gb"] = n.misfit ? nlohmann::ordered_json(n.misfit->needed.in(gb)) : nlohmann::ordered_json();
    d["capacity_gb"] = n.misfit ? nlohmann::ordered_json(n.misfit->usable.in(gb)) : nlohmann::ordered_json();
    d["remedies"] = n.misfit ? nlohmann::ordered_json(n.misfit->remedies) : nlohmann::ordered_json::array();
    d["overload"] = overload_json(a.predicted);
    d["overload_high"] = a.high ? overload_json(*a.high) : nlohmann::ordered_json();
    d["latencies"] = as_json(latency_table(n));
    d["loads"] = n.misfit ? nlohmann::ordered_json::array() : as_json(load_table(n));
    d["objectives"] = as_json(objective_table(n));
    d["rate_search"] = search_json(n);
    d["memory"] = as_json(cache_table(n)).front();
    d["duration_s"] = n.misfit ? nlohmann::ordered_json() : nlohmann::ordered_json(a.predicted.load.end.in(s));
    d["steps"] = n.misfit ? nlohmann::ordered_json() : nlohmann::ordered_json(a.predicted.load.steps);
    d["interval_percent"] = a.intervals ? nlohmann::ordered_json(interval_percent) : nlohmann::ordered_json();
    d["interval_basis"] = a.intervals ? nlohmann::ordered_json(a.intervals->basis) : nlohmann::ordered_json();
    d["assumptions"] = n.assumptions;
    d["notes"] = n.notes;
    d["assumed"] = as_json(n.assumed);
    return d;
}

}  // namespace roofcast
