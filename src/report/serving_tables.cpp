#include "report/serving_tables.hpp"

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

std::vector<Cell> load_cells(const NamedServing& n, const ServingCase& c) {
    const ServingStatistics& x = c.statistics;
    return {offered_rate(n, c),
            x.requests_per_second,
            x.tokens_per_second,
            x.tokens_per_second / gpus(n),
            c.overload ? Cell() : tokens_per_user(x),
            100 * x.busy,
            x.mean_waiting,
            c.load.most_waiting,
            x.mean_in_system,
            x.mean_batch,
            100 * x.cache_mean,
            100 * x.cache_most,
            c.load.preemptions};
}

std::vector<Column> load_columns() {
    return {{"rate_per_s", "arrivals/s"},
            {"requests_per_s", "requests/s"},
            {"tokens_per_s", "tokens/s"},
            {"tokens_per_s_per_gpu", "tokens/s/GPU"},
            {"tokens_per_s_per_user", "tokens/s/user"},
            {"busy_percent", "busy %", 3},
            {"mean_waiting", "waiting", 3},
            {"most_waiting", "most"},
            {"mean_in_system", "in system", 3},
            {"mean_batch", "batch", 3},
            {"kv_mean_percent", "KV %", 3},
            {"kv_most_percent", "most KV %", 3},
            {"preemptions", "preemptions"}};
}

/// Columns and cells side by side.
class Row {
public:
    void add(const std::string& key, Cell cell) {
        table_.columns.push_back({key, key});
        cells_.push_back(std::move(cell));
    }
    void add(const std::vector<Column>& columns, const std::vector<Cell>& cells) {
        for (std::size_t i = 0; i < columns.size(); ++i) add(columns[i].key, cells[i]);
    }
    Table table() && {
        table_.rows.push_back(std::move(cells_));
        return std::move(table_);
    }

private:
    Table table_;
    std::vector<Cell> cells_;
};

}  // namespace

Table latency_table(const NamedServing& n) {
    Table table;
    table.columns = {{"metric", "ms"},
                     {"mean_ms", "mean"},
                     {"p50_ms", "P50"},
                     {"p90_ms", "P90"},
                     {"p95_ms", "P95"},
                     {"p99_ms", "P99"},
                     {"mean_ms_low", "mean " + bound_title("low")},
                     {"mean_ms_high", bound_title("high")},
                     {"p99_ms_low", "P99 " + bound_title("low")},
                     {"p99_ms_high", bound_title("high")}};
    for (const TimesKind& kind : times_kinds) {
        const Times x = times_of(shown(n), kind), low = times_of(shown_low(n), kind), high = times_of(shown_high(n), kind);
        table.rows.push_back({std::string(kind.title), in_ms(x, &Spread::mean), in_ms(x, &Spread::p50), in_ms(x, &Spread::p90),
                              in_ms(x, &Spread::p95), in_ms(x, &Spread::p99), in_ms(low, &Spread::mean), in_ms(high, &Spread::mean),
                              in_ms(low, &Spread::p99), in_ms(high, &Spread::p99)});
    }
    return table;
}

Table load_table(const NamedServing& n) {
    Table table{.title = "load"};
    table.columns = {{"case", "case"}, {"time_scale", "step time ×", 3}};
    for (Column& column : load_columns()) table.columns.push_back(std::move(column));
    const auto add = [&](const char* name, const ServingCase& c) {
        std::vector<Cell> row{std::string(name), c.time_scale};
        for (Cell& cell : load_cells(n, c)) row.push_back(std::move(cell));
        table.rows.push_back(std::move(row));
    };
    add("predicted", n.answer.predicted);
    if (n.answer.low) add("low", *n.answer.low);
    if (n.answer.high) add("high", *n.answer.high);
    return table;
}

Table objective_table(const NamedServing& n) {
    Table table{.title = "requests beyond the objective"};
    table.columns = {{"objective", "objective"},
                     {"limit_ms", "limit ms"},
                     {"missed_percent", "missed %", 3},
                     {"missed_percent_low", bound_title("low"), 3},
                     {"missed_percent_high", bound_title("high"), 3}};
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
    const CacheRoom& room = n.answer.room;
    Table table{.title = "memory of one GPU, GB"};
    table.columns = {{"weights_gb", "weights"},    {"activations_gb", "activations"}, {"overhead_gb", "framework"},
                     {"kv_cache_gb", "KV cache"},  {"kv_blocks", "blocks"},           {"kv_tokens", "tokens"},
                     {"kv_token_kb", "kB a token"}};
    table.rows.push_back({room.weights.in(gb), room.activations.in(gb), room.overhead.in(gb), room.cache.in(gb), room.blocks,
                          room.blocks * n.question.options.block_tokens, room.per_token.in(kb)});
    return table;
}

Table serving_row(const NamedServing& n) {
    const ServingAnswer& a = n.answer;
    Row row;
    row.add("model", n.model_id);
    row.add("gpu", n.gpu_id);
    row.add("gpus", n.question.request.parallel.gpus());
    row.add("precision", std::string(name(n.question.request.precision)));
    row.add("execution", std::string(name(n.question.request.execution)));
    row.add("offered", n.offered);
    row.add("served", a.served);
    row.add("offered_per_s", n.misfit ? Cell() : Cell((a.predicted.search ? a.predicted.search->simulated() : a.rate).in(1 / s)));
    row.add("image_tokens", a.image_tokens);
    row.add("mean_prompt_tokens", a.mean_prompt);
    row.add("mean_output_tokens", a.mean_output);
    for (const TimesKind& kind : times_kinds) {
        const Times x = times_of(shown(n), kind), low = times_of(shown_low(n), kind), high = times_of(shown_high(n), kind);
        const std::string key = kind.key;
        row.add(key + "_mean_ms", in_ms(x, &Spread::mean));
        row.add(key + "_mean_ms_low", in_ms(low, &Spread::mean));
        row.add(key + "_mean_ms_high", in_ms(high, &Spread::mean));
        row.add(key + "_p50_ms", in_ms(x, &Spread::p50));
        row.add(key + "_p90_ms", in_ms(x, &Spread::p90));
        row.add(key + "_p95_ms", in_ms(x, &Spread::p95));
        row.add(key + "_p99_ms", in_ms(x, &Spread::p99));
    }
    row.add(load_columns(), n.misfit ? std::vector<Cell>(load_columns().size()) : load_cells(n, a.predicted));
    row.add("fits", !n.misfit);
    row.add("overloaded", n.misfit ? Cell() : Cell(a.predicted.overload.has_value()));
    const ServiceObjective& o = n.question.objective;
    const auto missed = [&](bool is_set, double ServingStatistics::*share) { return is_set ? share_of(shown(n), share) : Cell(); };
    row.add("missed_ttft_percent", missed(o.ttft.has_value(), &ServingStatistics::missed_ttft));
    row.add("missed_tpot_percent", missed(o.tpot.has_value(), &ServingStatistics::missed_tpot));
    row.add("missed_latency_percent", missed(o.latency.has_value(), &ServingStatistics::missed_latency));
    row.add("missed_any_percent", missed(!o.empty(), &ServingStatistics::missed_any));
    return std::move(row).table();
}

}  // namespace roofcast
