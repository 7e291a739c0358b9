#include "report/serving_tables.hpp"

#include <span>

#include "document/field.hpp"
#include "report/run_parts.hpp"

namespace roofcast {

namespace {

using Statistics = ServingStatistics;

/// Statistics that may be shown: what was not simulated, or is overloaded, has none.
struct ShownStatistics {
    const Statistics *predicted, *low, *high;
};

ShownStatistics shown_statistics(const NamedServing& n) {
    const auto& bounds = n.answer.bounds;
    return {n.misfit || n.answer.predicted.overload ? nullptr : &n.answer.predicted.statistics, bounds ? &bounds->low : nullptr,
            bounds && bounds->high ? &*bounds->high : nullptr};
}

/// One kind of times, as predicted and at the bounds.
struct TimesRow {
    const char *key, *title;
    std::optional<Spread> predicted, low, high;
};

std::vector<TimesRow> times_rows(const NamedServing& n) {
    const ShownStatistics shown = shown_statistics(n);
    const auto row = [&shown](const char* key, const char* title, auto times) {
        const auto of = [times](const Statistics* x) { return x != nullptr ? std::optional<Spread>(x->*times) : std::nullopt; };
        return TimesRow{key, title, of(shown.predicted), of(shown.low), of(shown.high)};
    };
    return {row("ttft", "TTFT", &Statistics::ttft), row("tpot", "TPOT", &Statistics::tpot), row("latency", "latency", &Statistics::latency),
            row("queue_wait", "queue wait", &Statistics::wait)};
}

/// The figures of one kind of times; keys of CSV begin with `prefix`.
Fields<TimesRow> times_fields(const std::string& prefix) {
    const Fields<Spread> spread{{{"mean_ms", "mean", Show::always}, &Spread::mean, ms},
                                {{"p50_ms", "P50", Show::always}, &Spread::p50, ms},
                                {{"p90_ms", "P90"}, &Spread::p90, ms},
                                {{"p95_ms", "P95", Show::wide}, &Spread::p95, ms},
                                {{"p99_ms", "P99", Show::always}, &Spread::p99, ms}};
    const auto bounds = [](const char* key, const std::string& title, Show show, Seconds Spread::*figure) {
        const std::string low = "_low", high = "_high";
        return part_fields(&TimesRow::low, {{{key + low, title + bound_title("low"), show}, figure, ms}}) +
               part_fields(&TimesRow::high, {{{key + high, bound_title("high"), show}, figure, ms}});
    };
    return prefixed(prefix, part_fields(&TimesRow::predicted, spread) + bounds("mean_ms", "mean ", Show::usual, &Spread::mean) +
                                bounds("p99_ms", "P99 ", Show::wide, &Spread::p99));
}

/// One limit, and which requests miss it.
struct MissedLimit {
    std::string name, title;
    std::optional<Seconds> limit;
    double Statistics::*missed;
    bool is_set;
};

std::vector<MissedLimit> missed_limits(const ServiceObjective& o) {
    return {{"ttft", "TTFT", o.ttft, &Statistics::missed_ttft, o.ttft.has_value()},
            {"tpot", "TPOT", o.tpot, &Statistics::missed_tpot, o.tpot.has_value()},
            {"latency", "latency", o.latency, &Statistics::missed_latency, o.latency.has_value()},
            {"any", "any", {}, &Statistics::missed_any, !o.empty()}};
}

Cell percent_of(const Statistics* x, double Statistics::*share) {
    return x != nullptr ? Cell(100 * x->*share) : Cell();
}

/// More than one request in a hundred stands out.
Tone tone_of_misses(const Cell& cell) {
    const auto* percent = std::get_if<double>(&cell);
    return percent != nullptr && *percent > 1 ? Tone::bad : Tone::plain;
}

/// At which requests arrive in a case.
Hertz offered_rate(const NamedServing& n, const ServingCase& c) {
    return c.search ? c.search->simulated() : n.answer.rate;
}

/// Columns of a case; `n` outlives them.
Fields<ServingCase> load_fields(const NamedServing& n) {
    using Case = ServingCase;
    const auto statistic = [](double Statistics::*value, double factor = 1) {
        return [value, factor](const Case& c) { return factor * (c.statistics.*value); };
    };
    return {{{"rate_per_s", "arrivals/s", Show::always},  // users that wait for answers have none
             [&n](const Case& c) { return n.question.users > 0 ? Cell() : cell_of(offered_rate(n, c), 1 / s); }},
            {{"requests_per_s", "requests/s", Show::always}, statistic(&Statistics::requests_per_second)},
            {{"tokens_per_s", "tokens/s", Show::always}, statistic(&Statistics::tokens_per_second)},
            {{"tokens_per_s_per_gpu", "tokens/s/GPU", Show::wide},
             [&n](const Case& c) { return c.statistics.tokens_per_second / static_cast<double>(n.question.request.parallel.gpus()); }},
            {{"tokens_per_s_per_user", "tokens/s/user"},  // that one user sees
             [](const Case& c) {
                 const auto& tpot = c.statistics.tpot;
                 return tpot && !c.overload ? Cell(1 / tpot->mean.in(s)) : Cell();
             }},
            {{"busy_percent", "busy %", 3}, statistic(&Statistics::busy, 100)},
            {{"mean_waiting", "mean queue", 3}, statistic(&Statistics::mean_waiting)},
            {{"most_waiting", "longest queue", Show::wide}, [](const Case& c) { return c.load.most_waiting; }},
            {{"mean_in_system", "in system", 3, Show::wide}, statistic(&Statistics::mean_in_system)},
            {{"mean_batch", "mean batch", 3}, statistic(&Statistics::mean_batch)},
            {{"kv_mean_percent", "KV cache %", 3}, statistic(&Statistics::cache_mean, 100)},
            {{"kv_most_percent", "peak KV cache %", 3, Show::wide}, statistic(&Statistics::cache_most, 100)},
            {{"preemptions", "preemptions", Show::wide}, [](const Case& c) { return c.load.preemptions; }}};
}

}  // namespace

Table latency_table(const NamedServing& n) {
    const Fields<TimesRow> metric{{{"metric", "ms", Show::always}, &TimesRow::title}};
    return table_of("Latencies", times_rows(n), metric + times_fields(""));
}

Table load_table(const NamedServing& n) {
    struct NamedCase {
        const char* name;
        const ServingCase* what;
    };
    std::vector<NamedCase> cases{{"predicted", &n.answer.predicted}};
    if (n.answer.low) cases.push_back({"low", &*n.answer.low});
    if (n.answer.high) cases.push_back({"high", &*n.answer.high});
    const Fields<NamedCase> name{{{"case", "case", Show::always}, &NamedCase::name}};
    const Fields<ServingCase> scale{{{"time_scale", "step time ×", 3, Show::wide}, &ServingCase::time_scale}};
    return table_of("Load", cases, name + part_fields(&NamedCase::what, scale + load_fields(n)));
}

Table objective_table(const NamedServing& n) {
    using Missed = MissedLimit;
    const ShownStatistics shown = shown_statistics(n);
    const auto missed = [](const Statistics* x) { return [x](const Missed& m) { return percent_of(x, m.missed); }; };
    const Fields<Missed> fields{{{"objective", "objective", Show::always}, &Missed::name},
                                {{"limit_ms", "limit ms", Show::always}, &Missed::limit, ms},
                                {{"missed_percent", "missed %", 3, Show::always, false, tone_of_misses}, missed(shown.predicted)},
                                {{"missed_percent_low", bound_title("low"), 3}, missed(shown.low)},
                                {{"missed_percent_high", bound_title("high"), 3}, missed(shown.high)}};
    std::vector<Missed> limits = missed_limits(n.question.objective);
    std::erase_if(limits, [](const Missed& m) { return !m.is_set; });
    return table_of("Requests that miss the objective", limits, fields);
}

Table cache_table(const NamedServing& n) {
    using Room = CacheRoom;
    const std::int64_t block = n.question.options.block_tokens;
    const Fields<Room> fields{{{"weights_gb", "weights"}, &Room::weights, gb},
                              {{"activations_gb", "activations"}, &Room::activations, gb},
                              {{"overhead_gb", "framework"}, &Room::overhead, gb},
                              {{"kv_cache_gb", "KV cache"}, &Room::cache, gb},
                              {{"kv_blocks", "blocks"}, &Room::blocks},
                              {{"kv_tokens", "tokens"}, [block](const Room& room) { return room.blocks * block; }},
                              {{"kv_token_kb", "kB a token"}, &Room::per_token, kb}};
    return table_of("Memory of one GPU, GB", std::span(&n.answer.room, 1), fields);
}

Table serving_row(const NamedServing& n) {
    using Named = NamedServing;
    const auto run = [](const Named& x) { return &x.question.request; };
    const Fields<Named> setting =
        Fields<Named>{{{"model", "model"}, &Named::model_id}, {{"gpu", "GPU"}, &Named::gpu_id}} +
        shown(part_fields<Named>(run, picked(run_fields(), {"gpus", "precision", "execution"})), Show::usual) +
        Fields<Named>{{{"offered", "offered"}, &Named::offered},
                      {{"served", "served"}, [](const Named& x) { return x.answer.served; }},
                      {{"offered_per_s", "offered/s"},
                       [](const Named& x) { return x.misfit ? Cell() : cell_of(offered_rate(x, x.answer.predicted), 1 / s); }},
                      {{"image_tokens", "image tokens"}, [](const Named& x) { return x.answer.image_tokens; }},
                      {{"mean_prompt_tokens", "mean prompt"}, [](const Named& x) { return x.answer.mean_prompt; }},
                      {{"mean_output_tokens", "mean output"}, [](const Named& x) { return x.answer.mean_output; }}};
    Fields<Named> outcome{
        {{"fits", "fits"}, [](const Named& x) { return !x.misfit; }},
        {{"overloaded", "overloaded"}, [](const Named& x) { return x.misfit ? Cell() : Cell(x.answer.predicted.overload.has_value()); }}};
    for (const MissedLimit& m : missed_limits(n.question.objective)) {
        outcome.push_back({{"missed_" + m.name + "_percent", m.title + " missed %"},
                           [m](const Named& x) { return m.is_set ? percent_of(shown_statistics(x).predicted, m.missed) : Cell(); }});
    }
    Fields<Named> times;
    const std::vector<TimesRow> kinds = times_rows(n);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        const auto kind = [&kinds, i ](const Named&) -> const auto& {
            return kinds[i];
        };
        times = std::move(times) + part_fields<Named>(kind, times_fields(std::string(kinds[i].key) + "_"));
    }
    const auto load = [](const Named& x) { return x.misfit ? nullptr : &x.answer.predicted; };
    return table_of({}, std::span(&n, 1), setting + times + part_fields<Named>(load, load_fields(n)) + outcome);
}

}  // namespace roofcast
