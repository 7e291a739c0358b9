#include "report/run_parts.hpp"

#include <fmt/format.h>

namespace roofcast {

std::string weights_text(const Run& run) {
    const std::string format(name(run.weight_format()));
    return run.expert_weights ? fmt::format("{}, experts {}", format, name(*run.expert_weights)) : format;
}

std::string parallel_text(const Parallelism& p) {
    if (p.gpus() == 1) return {};
    return fmt::format(", {} GPUs (tp {}, pp {}, dp {}{}{})", p.gpus(), p.tensor, p.pipeline, p.data,
                       p.expert > 1 ? fmt::format(", ep {}", p.expert) : "",
                       p.attention_data > 1 ? fmt::format(", attention dp {}", p.attention_data) : "");
}

nlohmann::ordered_json parallel_json(const Parallelism& p) {
    return {{"gpus", p.gpus()}, {"tensor", p.tensor}, {"pipeline", p.pipeline},
            {"data", p.data},   {"expert", p.expert}, {"attention_data", p.attention_data}};
}

std::string tokens_text(const Prediction& p) {
    const Run& run = p.request;
    if (p.ttft) return fmt::format(", {} prompt and {} output tokens", run.prompt_tokens, run.generate_tokens);
    return run.prompt_tokens > 0 ? fmt::format(", {} tokens", run.prompt_tokens) : "";
}

std::string remedies_line(const std::vector<std::string>& remedies) {
    if (!remedies.empty()) return fmt::format("What would fit: {}.", fmt::join(remedies, "; "));
    return "Nothing among fewer bits, up to 16 GPUs, both together, smaller batch or context, weights in host memory makes it fit.";
}

namespace {

std::string joined_keys(const std::vector<Assumption>& assumed, const char* separator) {
    std::string keys;
    for (const Assumption& a : assumed) keys += (keys.empty() ? "" : separator) + a.key;
    return keys;
}

}  // namespace

std::vector<std::string> assumed_lines(const std::vector<Assumption>& assumed, const std::string& prefix) {
    constexpr std::size_t most = 3, most_named = 8;
    if (assumed.size() > most_named)
        return {
            fmt::format("{}assumed: {} values that the profile does not state. `roofcast gpu show` gives them.", prefix, assumed.size())};
    if (assumed.size() > most)
        return {fmt::format("{}assumed: {} values that the profile does not state: {}. `roofcast gpu show` gives them.", prefix,
                            assumed.size(), joined_keys(assumed, ", "))};
    std::vector<std::string> lines;
    for (const Assumption& a : assumed) lines.push_back(fmt::format("{}assumed: {} = {} ({})", prefix, a.key, a.value, a.reason));
    return lines;
}

std::string assumed_keys(const std::vector<Assumption>& assumed) {
    return joined_keys(assumed, ";");
}

nlohmann::ordered_json as_json(const std::vector<Assumption>& assumed) {
    auto list = nlohmann::ordered_json::array();
    for (const Assumption& a : assumed) list.push_back({{"key", a.key}, {"value", a.value}, {"reason", a.reason}});
    return list;
}

void add_assumed(Report& report, const GpuProfile& gpu) {
    report.document["assumed"][gpu.id] = as_json(gpu.assumed);
    add_lines(report.after, assumed_lines(gpu.assumed, gpu.id + ": "));
}

nlohmann::ordered_json skipped_json(const SkippedRows& skipped) {
    static const Fields<SkippedReason> fields{{{"rows", "rows"}, &SkippedReason::rows},
                                              {{"file", "file"}, &SkippedReason::file},
                                              {{"line", "line"}, &SkippedReason::line},
                                              {{"reason", "reason"}, &SkippedReason::reason}};
    return as_json(table_of({}, skipped.reasons(), fields));
}

const Fields<Run>& run_fields() {
    static const Fields<Run> fields = shown(
        Fields<Run>{
            {{"precision", "precision"}, &Run::precision},
            {{"weights", "weights"}, weights_text},
            {{"kv_precision", "KV"}, &Run::cache_precision},
            {{"execution", "execution"}, &Run::execution},
            {{"batch", "batch"}, &Run::batch},
            {{"prompt_tokens", "prompt"}, [](const Run& run) { return count_cell(run.prompt_tokens); }},
            {{"output_tokens", "output"}, [](const Run& run) { return count_cell(run.generate_tokens); }},
            {{"image_size", "pixels"}, [](const Run& run) { return count_cell(run.image_size); }},
            {{"gpus", "GPUs"}, [](const Run& run) { return run.parallel.gpus(); }},
            {{"tensor_parallel", "tp"}, [](const Run& run) { return run.parallel.tensor; }},
            {{"pipeline_parallel", "pp"}, [](const Run& run) { return run.parallel.pipeline; }},
            {{"data_parallel", "dp"}, [](const Run& run) { return run.parallel.data; }},
            {{"streams", "streams"},  // without a number, an engine has its own
             [](const Run& run) { return run.streams || run.software.empty() ? Cell(std::int64_t{run.streams.value_or(1)}) : Cell(); }}},
        Show::setting);
    return fields;
}

const Fields<MemoryEstimate>& memory_fields() {
    static const Fields<MemoryEstimate> fields{{{"memory_gb", "memory GB", 3}, &MemoryEstimate::total, gb},
                                               {{"capacity_gb", "usable GB", 3, Show::wide}, &MemoryEstimate::usable, gb},
                                               {{"fits", "fits", 4, Show::always, false, tone_of_fit}, &MemoryEstimate::fits}};
    return fields;
}

const Fields<Utilization>& utilization_fields() {
    const auto percent = [](double Utilization::*rate) { return [rate](const Utilization& u) { return 100 * u.*rate; }; };
    static const Fields<Utilization> fields{{{"compute_percent", "% of peak", 3}, percent(&Utilization::compute)},
                                            {{"bandwidth_percent", "% of bandwidth", 3}, percent(&Utilization::bandwidth)},
                                            {{"power_percent", "% of TDP", 3, Show::wide}, percent(&Utilization::power)}};
    return fields;
}

Tone tone_of_fit(const Cell& cell) {
    return cell == Cell(false) ? Tone::bad : Tone::plain;
}

std::string bound_title(std::string_view bound) {
    return fmt::format("{}% {}", interval_percent, bound);
}

}  // namespace roofcast
