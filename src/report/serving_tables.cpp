#include "report/serving_tables.hpp"

#include <functional>

#include "document/field.hpp"
#include "report/prediction_tables.hpp"

namespace roofcast {

namespace {

using Times = std::optional<Spread>;

/// One kind of times, as predicted and at the bounds.
struct TimesKind {
    const char *key, *title;
    Times (*of)(const ServingStatistics&);
};

constexpr TimesKind times_kinds[] = {{"ttft", "TTFT", [](const ServingStatistics& x) { return Times(x.ttft); }},
                                     {"tpot", "TPOT", [](const ServingStatistics& x) { return x.tpot; }},
                                     {"latency", "latency", [](const ServingStatistics& x) { return Times(x.latency); }},
                                     {"queue_wait", "queue wait", [](const ServingStatistics& x) { return Times(x.wait); }}};

Cell in_ms(const Times& times, Seconds Spread::*figure) {
    return times ? Cell(((*times).*figure).in(ms)) : Cell();
}

/// Statistics that may be shown: what was not simulated, or is overloaded, has none.
const ServingStatistics* shown(const NamedServing& n) {
    return n.misfit || n.answer.predicted.overload ? nullptr : &n.answer.predicted.statistics;
}
const ServingStatistics* shown_low(const NamedServing& n) {
    return n.answer.bounds ? &n.answer.bounds->low : nullptr;
}
const ServingStatistics* shown_high(const NamedServing& n) {
    return n.answer.bounds && n.answer.bounds->high ? &*n.answer.bounds->high : nullptr;
}

Times times_of(const ServingStatistics* x, const TimesKind& kind) {
    return x != nullptr ? kind.of(*x) : std::nullopt;
}

Cell share_of(const ServingStatistics* x, double ServingStatistics::*share) {
    return x != nullptr ? Cell(100 * x->*share) : Cell();
}

/// More than one request in a hundred stands out.
Tone tone_of_misses(const Cell& cell) {
    const auto* percent = std::get_if<double>(&cell);
    return percent != nullptr && *percent > 1 ? Tone::bad : Tone::plain;
}

double gpus(const NamedServing& n) {
    return static_cast<double>(n.question.request.parallel.gpus());
}

/// Output tokens per second that one user sees: the inverse of the mean TPOT.
Cell tokens_per_user(const ServingStatistics& x) {
    return x.tpot ? Cell(1 / x.tpot->mean.in(s)) : Cell();
}

/// At which requests arrive in this case; none of users that wait for answers.
Cell offered_rate(const NamedServing& n, const ServingCase& c) {
    if (n.question.users > 0) return {};
    return (c.search ? c.search->simulated() : n.answer.rate).in(1 / s);
}

/// A case with the question that it answers.
struct LoadCase {
    const NamedServing& n;
    const ServingCase& c;
    std::string name;
};

const Fields<LoadCase>& load_fields() {
    const auto statistic = [](double ServingStatistics::*value, double factor) {
        return [value, factor](const LoadCase& x) { return factor * (x.c.statistics.*value); };
    };
    using Statistics = ServingStatistics;
    static const Fields<LoadCase> fields{
        {{"rate_per_s", "arrivals/s", 4, Show::always}, [](const LoadCase& x) { return offered_rate(x.n, x.c); }},
        {{"requests_per_s", "requests/s", 4, Show::always}, statistic(&Statistics::requests_per_second, 1)},
        {{"tokens_per_s", "tokens/s", 4, Show::always}, statistic(&Statistics::tokens_per_second, 1)},
        {{"tokens_per_s_per_gpu", "tokens/s/GPU", 4, Show::wide},
         [](const LoadCase& x) { return x.c.statistics.tokens_per_second / gpus(x.n); }},
        {{"tokens_per_s_per_user", "tokens/s/user"},
         [](const LoadCase& x) { return x.c.overload ? Cell() : tokens_per_user(x.c.statistics); }},
        {{"busy_percent", "busy %", 3}, statistic(&Statistics::busy, 100)},
        {{"mean_waiting", "mean queue", 3}, statistic(&Statistics::mean_waiting, 1)},
        {{"most_waiting", "longest queue", 4, Show::wide}, [](const LoadCase& x) { return x.c.load.most_waiting; }},
        {{"mean_in_system", "in system", 3, Show::wide}, statistic(&Statistics::mean_in_system, 1)},
        {{"mean_batch", "mean batch", 3}, statistic(&Statistics::mean_batch, 1)},
        {{"kv_mean_percent", "KV cache %", 3}, statistic(&Statistics::cache_mean, 100)},
        {{"kv_most_percent", "peak KV cache %", 3, Show::wide}, statistic(&Statistics::cache_most, 100)},
        {{"preemptions", "preemptions", 4, Show::wide}, [](const LoadCase& x) { return x.c.load.preemptions; }}};
    return fields;
}

/// Times of one kind: as predicted, and at the bounds.
struct TimesRow {
    const TimesKind& kind;
    Times predicted, low, high;
};

TimesRow times_row(const NamedServing& n, const TimesKind& kind) {
    return {kind, times_of(shown(n), kind), times_of(shown_low(n), kind), times_of(shown_high(n), kind)};
}

std::function<Cell(const TimesRow&)> time_of(Times TimesRow::*which, Seconds Spread::*figure) {
    return [which, figure](const TimesRow& row) { return in_ms(row.*which, figure); };
}

/// The figures of one kind of times; keys of CSV begin with `prefix`.
Fields<TimesRow> times_fields(const std::string& prefix) {
    const auto field = [&](const char* key, const std::string& title, Show show, Times TimesRow::*which, Seconds Spread::*figure) {
        return Field<TimesRow>{{prefix + key, title, 4, show}, time_of(which, figure)};
    };
    return {field("mean_ms", "mean", Show::always, &TimesRow::predicted, &Spread::mean),
            field("p50_ms", "P50", Show::always, &TimesRow::predicted, &Spread::p50),
            field("p90_ms", "P90", Show::usual, &TimesRow::predicted, &Spread::p90),
            field("p95_ms", "P95", Show::wide, &TimesRow::predicted, &Spread::p95),
            field("p99_ms", "P99", Show::always, &TimesRow::predicted, &Spread::p99),
            field("mean_ms_low", "mean " + bound_title("low"), Show::usual, &TimesRow::low, &Spread::mean),
            field("mean_ms_high", bound_title("high"), Show::usual, &TimesRow::high, &Spread::mean),
            field("p99_ms_low", "P99 " + bound_title("low"), Show::wide, &TimesRow::low, &Spread::p99),
            field("p99_ms_high", bound_title("high"), Show::wide, &TimesRow::high, &Spread::p99)};
}

/// Appends fields of one row to a table of one row.
template <class Row>
void append_fields(Table& table, const Row& row, const Fields<Row>& fields, bool known = true) {
    for (const Field<Row>& field : fields) {
        table.columns.push_back(field.column);
        table.rows.front().push_back(known ? field.cell(row) : Cell());
    }
}

}  // namespace

Table latency_table(const NamedServing& n) {
    const Fields<TimesRow> fields =
        Fields<TimesRow>{{{"metric", "ms", 4, Show::always}, [](const TimesRow& row) { return std::string(row.kind.title); }}} +
        times_fields("");
    std::vector<TimesRow> rows;
    for (const TimesKind& kind : times_kinds) rows.push_back(times_row(n, kind));
    return table_of<TimesRow>("Latencies", rows, fields);
}

Table load_table(const NamedServing& n) {
    const Fields<LoadCase> fields =
        Fields<LoadCase>{{{"case", "case", 4, Show::always}, [](const LoadCase& x) { return x.name; }},
                         {{"time_scale", "step time ×", 3, Show::wide}, [](const LoadCase& x) { return x.c.time_scale; }}} +
        load_fields();
    std::vector<LoadCase> cases{{n, n.answer.predicted, "predicted"}};
    if (n.answer.low) cases.push_back({n, *n.answer.low, "low"});
    if (n.answer.high) cases.push_back({n, *n.answer.high, "high"});
    return table_of<LoadCase>("Load", cases, fields);
}

Table objective_table(const NamedServing& n) {
    Table table{.title = "Requests that miss the objective",
                .columns = {{"objective", "objective", 4, Show::always},
                            {"limit_ms", "limit ms", 4, Show::always},
                            {"missed_percent", "missed %", 3, Show::always, false, tone_of_misses},
                            {"missed_percent_low", bound_title("low"), 3},
                            {"missed_percent_high", bound_title("high"), 3}},
                .rows = {}};
    const ServiceObjective& o = n.question.objective;
    if (o.empty()) return table;
    const auto add = [&](const char* name, Cell limit, double ServingStatistics::*share) {
        table.rows.push_back({std::string(name), std::move(limit), share_of(shown(n), share), share_of(shown_low(n), share),
                              share_of(shown_high(n), share)});
    };
    if (o.ttft) add("ttft", o.ttft->in(ms), &ServingStatistics::missed_ttft);
    if (o.tpot) add("tpot", o.tpot->in(ms), &ServingStatistics::missed_tpot);
    if (o.latency) add("latency", o.latency->in(ms), &ServingStatistics::missed_latency);
    add("any", {}, &ServingStatistics::missed_any);
    return table;
}

Table cache_table(const NamedServing& n) {
    const std::int64_t block = n.question.options.block_tokens;
    const Fields<CacheRoom> fields{{{"weights_gb", "weights"}, [](const CacheRoom& room) { return room.weights.in(gb); }},
                                   {{"activations_gb", "activations"}, [](const CacheRoom& room) { return room.activations.in(gb); }},
                                   {{"overhead_gb", "framework"}, [](const CacheRoom& room) { return room.overhead.in(gb); }},
                                   {{"kv_cache_gb", "KV cache"}, [](const CacheRoom& room) { return room.cache.in(gb); }},
                                   {{"kv_blocks", "blocks"}, [](const CacheRoom& room) { return room.blocks; }},
                                   {{"kv_tokens", "tokens"}, [block](const CacheRoom& room) { return room.blocks * block; }},
                                   {{"kv_token_kb", "kB a token"}, [](const CacheRoom& room) { return room.per_token.in(kb); }}};
    return table_of<CacheRoom>("Memory of one GPU, GB", std::vector{n.answer.room}, fields);
}

Table serving_row(const NamedServing& n) {
    const ServingAnswer& a = n.answer;
    const ServiceObjective& o = n.question.objective;
    const auto missed = [](bool is_set, double ServingStatistics::*share) {
        return [=](const NamedServing& x) { return is_set ? share_of(shown(x), share) : Cell(); };
    };
    const Fields<NamedServing> setting{
        {{"model", "model"}, [](const NamedServing& x) { return x.model_id; }},
        {{"gpu", "GPU"}, [](const NamedServing& x) { return x.gpu_id; }},
        {{"gpus", "GPUs"}, [](const NamedServing& x) { return x.question.request.parallel.gpus(); }},
        {{"precision", "precision"}, [](const NamedServing& x) { return std::string(name(x.question.request.precision)); }},
        {{"execution", "execution"}, [](const NamedServing& x) { return std::string(name(x.question.request.execution)); }},
        {{"offered", "offered"}, [](const NamedServing& x) { return x.offered; }},
        {{"served", "served"}, [](const NamedServing& x) { return x.answer.served; }},
        {{"offered_per_s", "offered/s"},
         [](const NamedServing& x) {
             const auto& search = x.answer.predicted.search;
             return x.misfit ? Cell() : Cell((search ? search->simulated() : x.answer.rate).in(1 / s));
         }},
        {{"image_tokens", "image tokens"}, [](const NamedServing& x) { return x.answer.image_tokens; }},
        {{"mean_prompt_tokens", "mean prompt"}, [](const NamedServing& x) { return x.answer.mean_prompt; }},
        {{"mean_output_tokens", "mean output"}, [](const NamedServing& x) { return x.answer.mean_output; }}};
    const Fields<NamedServing> outcome{
        {{"fits", "fits"}, [](const NamedServing& x) { return !x.misfit; }},
        {{"overloaded", "overloaded"},
         [](const NamedServing& x) { return x.misfit ? Cell() : Cell(x.answer.predicted.overload.has_value()); }},
        {{"missed_ttft_percent", "TTFT missed %"}, missed(o.ttft.has_value(), &ServingStatistics::missed_ttft)},
        {{"missed_tpot_percent", "TPOT missed %"}, missed(o.tpot.has_value(), &ServingStatistics::missed_tpot)},
        {{"missed_latency_percent", "latency missed %"}, missed(o.latency.has_value(), &ServingStatistics::missed_latency)},
        {{"missed_any_percent", "any missed %"}, missed(!o.empty(), &ServingStatistics::missed_any)}};
    Table table{.title = {}, .columns = {}, .rows = {{}}};
    append_fields(table, n, setting);
    for (const TimesKind& kind : times_kinds) append_fields(table, times_row(n, kind), times_fields(std::string(kind.key) + "_"));
    append_fields(table, LoadCase{n, a.predicted, {}}, load_fields(), !n.misfit);
    append_fields(table, n, outcome);
    return table;
}

}  // namespace roofcast
