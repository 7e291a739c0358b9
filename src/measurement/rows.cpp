#include "measurement/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

// A kernel outside these took another unit than its column says.
constexpr Seconds shortest_kernel = 0.1 * us;  // an empty kernel takes more than a microsecond
constexpr Seconds longest_kernel = 1 * hour;

struct MetricForm {
    Metric metric;
    std::string_view name;
    double largest;  ///< in the metric's unit; beyond it the unit is wrong
};
constexpr std::array<MetricForm, 12> metric_forms{{
    {Metric::latency_ms, "latency_ms", 24 * 3.6e6},  // a day
    {Metric::throughput_per_s, "throughput_per_s", 1e9},
    {Metric::tokens_per_s, "tokens_per_s", 1e9},
    {Metric::ttft_ms, "ttft_ms", 24 * 3.6e6},
    {Metric::tpot_ms, "tpot_ms", 3.6e6},
    {Metric::memory_gb, "memory_gb", 1e6},  // a petabyte
    {Metric::power_w, "power_w", 1e6},
    {Metric::weights_gib, "weights_gib", 1e6},
    {Metric::activation_gib, "activation_gib", 1e6},
    {Metric::graphs_gib, "graphs_gib", 1e6},
    {Metric::kv_cache_gib, "kv_cache_gib", 1e6},
    {Metric::kv_cache_tokens, "kv_cache_tokens", 1e12},
}};

Seconds parse_latency(const Row& row) {
    const Seconds latency = row.number(MeasuredColumn::latency_us) * us;
    if (latency.in(us) <= 0) throw Unusable{fmt::format("latency_us {} is not positive", latency.in(us))};
    if (latency < shortest_kernel) throw Unusable{fmt::format("latency_us {} is shorter than any kernel: is it in us?", latency.in(us))};
    if (latency > longest_kernel) throw Unusable{fmt::format("latency_us {} is longer than an hour: is it in us?", latency.in(us))};
    return latency;
}

Precision required_precision(const Row& row) {
    const auto precision = row.precision_if(MeasuredColumn::precision);
    if (!precision && row.text(MeasuredColumn::op) == "mhc") return Precision::bf16;  // as all engines keep residual streams
    if (!precision) throw Unusable{"precision is missing"};
    return *precision;
}

Origin origin_of(const Row& row) {
    return {std::string(row.text(MeasuredColumn::software)), std::string(row.text(MeasuredColumn::source)), {}, 0};
}

/// Served checkpoints have their own formats; other rows say what they compute in.
void parse_formats(const Row& row, ModelRow& result) {
    result.weights = row.weights_if();
    result.checkpoint = row.weights_if(MeasuredColumn::dense_format);
    if (!result.checkpoint) result.checkpoint = row.weights_if(MeasuredColumn::expert_format);
    result.precision = result.phase == "serve" ? row.precision_if(MeasuredColumn::precision) : required_precision(row);
    result.kv_precision = row.precision_if(MeasuredColumn::kv_precision);
    if (!result.kv_precision && result.precision && !result.checkpoint) result.kv_precision = activation_precision(*result.precision);
}

Metric parse_metric(const Row& row) {
    std::vector<std::string_view> known;
    for (const auto& form : metric_forms) known.push_back(form.name);
    const std::string_view found = row.required_choice(MeasuredColumn::metric, known);
    for (const auto& form : metric_forms) {
        if (form.name == found) return form.metric;
    }
    throw Unusable{"metric is missing"};
}

double parse_value(const Row& row, Metric metric) {
    const double value = row.number(MeasuredColumn::value);
    if (value <= 0) throw Unusable{fmt::format("value {} is not positive", value)};
    const auto& form = metric_forms[static_cast<std::size_t>(metric)];
    if (value > form.largest) throw Unusable{fmt::format("value {} is too large for {}: is the unit right?", value, form.name)};
    return value;
}

std::optional<double> positive_if(const Row& row, MeasuredColumn column) {
    const auto value = row.number_if(column);
    if (value && *value <= 0) throw Unusable{fmt::format("{} {} is not positive", name(column), *value)};
    return value;
}

/// A figure of a summary.
std::optional<double> total_if(const Row& row, MeasuredColumn column) {
    const auto value = positive_if(row, column);
    if (value && *value > largest_total) throw Unusable{fmt::format("{} {} is beyond any model", name(column), *value)};
    return value;
}

/// Serving engines replay graphs where the row does not say.
Execution parse_execution_column(const Row& row, Execution otherwise) {
    std::vector<std::string_view> known;
    for (std::size_t i = 0; i < execution_count; ++i) known.push_back(name(static_cast<Execution>(i)));
    return *parse_execution(row.choice(MeasuredColumn::execution, known, name(otherwise)));
}

/// Zero stands for a degree that does not apply.
std::int64_t degree(const Row& row, MeasuredColumn column) {
    return std::max<std::int64_t>(1, row.count_if(column, 0).value_or(1));
}

void parse_parallelism(const Row& row, ModelRow& result) {
    result.parallel = {.tensor = degree(row, MeasuredColumn::tensor_parallel),
                       .pipeline = degree(row, MeasuredColumn::pipeline_parallel),
                       .data = degree(row, MeasuredColumn::data_parallel),
                       .expert = degree(row, MeasuredColumn::expert_parallel)};
    result.expert_tensor_parallel = degree(row, MeasuredColumn::expert_tensor_parallel);
    // Experts lie on all GPUs of a copy; attention that is not said to be copied is where tensor parallelism does not reach.
    const std::int64_t expert_gpus = result.expert_tensor_parallel * result.parallel.expert;
    result.attention_data_parallel = row.text(MeasuredColumn::attention_data_parallel).empty()
                                         ? std::max<std::int64_t>(1, expert_gpus / (result.parallel.tensor * result.parallel.data))
                                         : degree(row, MeasuredColumn::attention_data_parallel);
    const double split = static_cast<double>(result.parallel.tensor) * static_cast<double>(result.parallel.pipeline) *
                         static_cast<double>(result.parallel.data);
    constexpr double most_gpus = 1e6;
    if (split > most_gpus) throw Unusable{"more than a million GPUs"};
    result.gpus = row.count_if(MeasuredColumn::gpus).value_or(result.parallel.gpus());
    if (split > 1 && result.parallel.gpus() != result.gpus)
        throw Unusable{fmt::format("gpus is {}, but the degrees of parallelism need {}", result.gpus, result.parallel.gpus())};
}

/// Tables of step times grow with the size of a step.
void require_step(std::optional<std::int64_t> max_tokens, std::optional<std::int64_t> max_sequences) {
    constexpr std::int64_t most = std::int64_t{1} << 20;
    for (const auto& [count, column] : {std::pair(max_tokens, "max_tokens"), std::pair(max_sequences, "max_seqs")}) {
        if (count.value_or(1) > most) throw Unusable{fmt::format("{} is {}; expected at most {}", column, *count, most)};
    }
}

SchedulerSettings parse_scheduler(const Row& row) {
    SchedulerSettings s;
    s.max_sequences = row.count_if(MeasuredColumn::max_seqs);
    s.max_tokens = row.count_if(MeasuredColumn::max_tokens);
    s.memory_fraction = positive_if(row, MeasuredColumn::memory_fraction);
    if (!row.text(MeasuredColumn::admission).empty())
        s.admission = admission_of(row.choice(MeasuredColumn::admission, {admission_names.begin(), admission_names.end()}, {}));
    if (s.memory_fraction > 1) throw Unusable{fmt::format("memory_fraction is {}; expected at most 1", *s.memory_fraction)};
    require_step(s.max_tokens, s.max_sequences);
    if (s.max_sequences && s.max_tokens && s.max_sequences > s.max_tokens)
        throw Unusable{fmt::format("max_seqs is {}, but a step has {} tokens at most", *s.max_sequences, *s.max_tokens)};
    return s;
}

EngineSettings parse_start(const Row& row) {
    EngineSettings settings{.fraction = positive_if(row, MeasuredColumn::memory_fraction),
                            .max_tokens = row.count_if(MeasuredColumn::max_tokens),
                            .max_sequences = row.count_if(MeasuredColumn::max_seqs),
                            .context = row.count_if(MeasuredColumn::context_tokens),
                            .gpu_memory = {}};
    if (const auto gpu_memory = positive_if(row, MeasuredColumn::gpu_memory_gib)) settings.gpu_memory = *gpu_memory * gib;
    if (settings.fraction && *settings.fraction > 1)
        throw Unusable{fmt::format("memory_fraction is {}; expected at most 1", *settings.fraction)};
    require_step(settings.max_tokens, settings.max_sequences);
    return settings;
}

/// Without a rate and without a number of users all requests are there at once. Users send ten requests each where the row does not say.
ServedLoad parse_served(const Row& row, const Parallelism& parallel) {
    constexpr double most_requests = 1e6, most_tokens = 0x1p32;  // that are simulated in seconds
    constexpr std::int64_t requests_a_user = 10;
    if (row.choice(MeasuredColumn::mode, {"aggregated", "disaggregated"}, "aggregated") == "disaggregated")
        throw Unusable{"disaggregated serving (prefill and decode on separate GPUs) is not simulated"};
    ServedLoad load;
    load.rate_per_s = positive_if(row, MeasuredColumn::rate_per_s);
    const auto users = row.count_if(MeasuredColumn::concurrency);
    const auto requests = row.count_if(MeasuredColumn::requests);
    load.requests = users && !requests ? requests_a_user * *users : row.count(MeasuredColumn::requests);
    if (users && load.rate_per_s) throw Unusable{"rate_per_s and concurrency are both given; give one of them"};
    if (users && *users < parallel.data)
        throw Unusable{fmt::format("concurrency is {}, below the {} copies of data_parallel", *users, parallel.data)};
    load.users = users.value_or(load.requests);
    load.settings = parse_scheduler(row);
    if (const auto first = positive_if(row, MeasuredColumn::ttft_ms), next = positive_if(row, MeasuredColumn::tpot_ms); first && next)
        load.request_time = (*first + static_cast<double>(row.count(MeasuredColumn::output_tokens) - 1) * *next) * ms;
    const double total = static_cast<double>(load.requests), each = static_cast<double>(row.count(MeasuredColumn::prompt_tokens)) +
                                                                    static_cast<double>(row.count(MeasuredColumn::output_tokens));
    if (total > most_requests || total * each > most_tokens)
        throw Unusable{fmt::format("too large to be simulated: {} requests of {} tokens", load.requests, each)};
    return load;
}

}  // namespace

void require_some_use(std::int64_t rows, bool any_kept, const std::string& file, int line, const std::string& reason) {
    constexpr std::int64_t enough = 100'000;
    if (any_kept || rows < enough) return;
    throw Error({.what = fmt::format("none of the first {} rows can be used", rows),
                 .file = file,
                 .line = line,
                 .found = reason,
                 .suggestion = "check that these are measurements, with the columns that their op or model needs"});
}

std::string_view name(Metric m) {
    return metric_forms[static_cast<std::size_t>(m)].name;
}

bool is_of_start(Metric m) {
    return m >= Metric::weights_gib;
}

bool is_rate(Metric m) {
    return m == Metric::throughput_per_s || m == Metric::tokens_per_s;
}

KernelRow parse_timed_row(const Row& row) {
    KernelRow result;
    result.gpu = row.required_text(MeasuredColumn::gpu);
    result.precision = required_precision(row);
    result.op_name = row.text(MeasuredColumn::op);
    result.function = row.text(MeasuredColumn::function);
    result.kernel = row.text(MeasuredColumn::kernel);
    result.weights = row.weights_if();
    result.latency = parse_latency(row);
    result.launch_included = row.choice(MeasuredColumn::launch, {"included", "excluded"}, "excluded") == "included";
    const std::string_view cache = row.choice(MeasuredColumn::cache, {"cold", "warm", "rotated"}, "cold");
    result.cache = cache == "warm" ? Cache::warm : cache == "rotated" ? Cache::rotated : Cache::cold;
    result.runs = row.count_if(MeasuredColumn::runs).value_or(0);
    if (const auto deviation = row.number_if(MeasuredColumn::latency_std_us)) result.latency_std = *deviation * us;
    result.origin = origin_of(row);
    return result;
}

KernelRow parse_kernel_row(const Row& row) {
    const Op op = parse_op(row, required_precision(row));
    KernelRow result = parse_timed_row(row);
    result.op = op;
    return result;
}

ModelRow parse_model_row(const Row& row) {
    ModelRow result;
    result.gpu = row.required_text(MeasuredColumn::gpu);
    result.model = row.required_text(MeasuredColumn::model);
    result.family = row.text(MeasuredColumn::family);
    result.phase = row.choice(MeasuredColumn::phase, {"forward", "prefill", "decode", "generate", "serve", "start", "train"}, "");
    parse_formats(row, result);
    parse_parallelism(row, result);
    if (result.phase == "serve") result.served = parse_served(row, result.parallel);
    if (result.phase == "start") result.started = parse_start(row);
    // A serving engine forms batches itself.
    result.batch = result.served || result.started ? row.count_if(MeasuredColumn::batch).value_or(1) : row.count(MeasuredColumn::batch);
    // Zero is an answer: a prefill row generates no token, a decode row starts from none.
    result.prompt_tokens = row.count_if(MeasuredColumn::prompt_tokens, 0);
    result.output_tokens = row.count_if(MeasuredColumn::output_tokens, 0);
    result.image_size = row.count_if(MeasuredColumn::image_size);
    result.pcie = row.pcie_if();
    result.gmacs = total_if(row, MeasuredColumn::gmacs);
    result.mactivations = total_if(row, MeasuredColumn::mactivations);
    result.mparams = total_if(row, MeasuredColumn::mparams);
    result.execution = parse_execution_column(row, result.served ? Execution::cuda_graph : Execution::eager);
    result.metric = parse_metric(row);
    if (is_of_start(result.metric) != result.started.has_value())
        throw Unusable{fmt::format("metric {} does not apply to phase '{}'", name(result.metric), result.phase)};
    result.value = parse_value(row, result.metric);
    result.origin = origin_of(row);
    return result;
}

}  // namespace roofcast
