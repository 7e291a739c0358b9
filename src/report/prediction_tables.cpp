#include "report/prediction_tables.hpp"

#include <fmt/format.h>

#include "report/describe.hpp"

namespace roofcast {

namespace {

using Named = NamedPrediction;

/// A figure of a run that has times; empty where it has none.
std::function<Cell(const Named&)> if_it_runs(auto figure) {
    return [figure](const Named& n) { return n.prediction.runs() ? Cell(figure(n.prediction)) : Cell(); };
}
auto in_ms(auto time) {
    return if_it_runs([time](const Prediction& p) { return cell_in(std::optional<Seconds>(std::invoke(time, p)), ms); });
}
auto number(auto value) {
    return if_it_runs([value](const Prediction& p) { return cell_if(std::optional<double>(std::invoke(value, p)), std::identity{}); });
}

/// Bounds of `figure`, by the factors that `factor` gives of the intervals.
Fields<Named> bounds(const std::string& key, Show show, const auto& figure, auto factor) {
    return bound_fields<Named>(key, 4, show, figure, [factor](const Named& n) {
        return n.prediction.intervals ? factor(*n.prediction.intervals) : std::optional<IntervalRatio>();
    });
}

Fields<Named> setting_fields() {
    return {
        {{"model", "model", 4, Show::always}, [](const Named& n) { return n.model_id; }},
        {{"gpu", "GPU", 4, Show::always}, [](const Named& n) { return n.gpu_id; }},
        {{"precision", "precision", 4, Show::setting}, [](const Named& n) { return std::string(name(n.prediction.request.precision)); }},
        {{"weights", "weights", 4, Show::setting}, [](const Named& n) { return weights_text(n.prediction.request); }},
        {{"batch", "batch", 4, Show::setting}, [](const Named& n) { return n.prediction.request.batch; }},
        {{"prompt_tokens", "prompt", 4, Show::setting},
         [](const Named& n) {
             const std::int64_t tokens = n.prediction.request.prompt_tokens;
             return n.prediction.ttft || tokens > 0 ? Cell(tokens) : Cell();
         }},
        {{"output_tokens", "output", 4, Show::setting},
         [](const Named& n) { return n.prediction.ttft ? Cell(n.prediction.request.generate_tokens) : Cell(); }},
        {{"execution", "execution", 4, Show::setting}, [](const Named& n) { return std::string(name(n.prediction.request.execution)); }}};
}

}  // namespace

std::string main_bound(const Prediction& p) {
    const Phase* longest = nullptr;
    for (const Phase& phase : p.phases) {
        if (longest == nullptr || phase.latency > longest->latency) longest = &phase;
    }
    return longest == nullptr ? "" : longest->bound;
}

Tone tone_of_fit(const Cell& cell) {
    const auto* fits = std::get_if<bool>(&cell);
    return fits != nullptr && !*fits ? Tone::bad : Tone::plain;
}

Fields<NamedPrediction> prediction_fields() {
    const auto latency = in_ms(&Prediction::latency), ttft = in_ms(&Prediction::ttft), tpot = in_ms(&Prediction::tpot);
    const auto items = number(&Prediction::items_per_second), tokens = number(&Prediction::tokens_per_second);
    const auto whole = [](const PredictionIntervals& i) { return std::optional(i.latency); };
    const auto inverse = [](const PredictionIntervals& i) { return std::optional(IntervalRatio{1 / i.latency.high, 1 / i.latency.low}); };
    const auto known = [](const Named& n) { return n.prediction.runs() && n.prediction.intervals; };
    const auto memory = [](auto bytes) {
        return [bytes](const Named& n) { return cell_in(std::optional<Bytes>(std::invoke(bytes, n.prediction.memory)), gb); };
    };
    return setting_fields() + Fields<Named>{{{"latency_ms", "latency ms", 4, Show::always}, latency}} +
           bounds("latency_ms", Show::usual, latency, whole) +
           Fields<Named>{{{"ttft_ms", "TTFT ms"}, ttft},
                         {{"tpot_ms", "TPOT ms"}, tpot},
                         {{"throughput_per_s", "items/s", 4, Show::wide}, items},
                         {{"tokens_per_s", "tokens/s"}, tokens},
                         {{"memory_gb", "memory GB", 3}, memory(&MemoryEstimate::total)},
                         {{"capacity_gb", "usable GB", 3, Show::wide}, memory(&MemoryEstimate::usable)},
                         {{"fits", "fits", 4, Show::always, false, tone_of_fit},
                          [](const Named& n) { return cell_if(n.prediction.memory.fits(), std::identity{}); }},
                         {{"bound", "bound", 4, Show::wide}, if_it_runs(main_bound)},
                         {{"assumed", "assumed", 4, Show::data}, [](const Named& n) { return assumed_keys(n.assumed); }}} +
           bounds("ttft_ms", Show::data, ttft, [](const PredictionIntervals& i) { return i.ttft; }) +
           bounds("tpot_ms", Show::data, tpot, [](const PredictionIntervals& i) { return i.tpot; }) +
           bounds("throughput_per_s", Show::data, items, inverse) + bounds("tokens_per_s", Show::data, tokens, inverse) +
           Fields<Named>{{{"interval_percent", "interval %", 4, Show::data},
                          [known](const Named& n) { return known(n) ? Cell(std::int64_t{interval_percent}) : Cell(); }},
                         {{"interval_basis", "interval from", 4, Show::data},
                          [known](const Named& n) { return known(n) ? Cell(n.prediction.intervals->basis) : Cell(); }}};
}

std::string bound_title(std::string_view bound) {
    return fmt::format("{}% {}", interval_percent, bound);
}

Table phase_table(const Prediction& p) {
    static const Fields<Phase> fields{
        {{"phase", "phase", 4, Show::always}, [](const Phase& x) { return x.name; }},
        {{"passes", "passes"}, [](const Phase& x) { return x.passes; }},
        {{"latency_ms", "latency ms", 4, Show::always}, [](const Phase& x) { return x.latency.in(ms); }},
        {{"pass_ms", "ms a pass"}, [](const Phase& x) { return x.timeline.total.in(ms); }},
        {{"gpu_busy_ms", "GPU busy ms", 4, Show::wide}, [](const Phase& x) { return x.timeline.gpu_busy.in(ms); }},
        {{"host_ms", "CPU ms", 4, Show::wide}, [](const Phase& x) { return x.timeline.host.in(ms); }},
        {{"kernels", "kernels", 4, Show::wide}, [](const Phase& x) { return x.timeline.kernels; }},
        {{"bound", "bound", 4, Show::always}, [](const Phase& x) { return x.bound; }},
        {{"flops_per_byte", "FLOPs/byte"}, [](const Phase& x) { return x.intensity.in(FlopsPerByte{1}); }},
        {{"compute_percent", "% of peak", 3}, [](const Phase& x) { return 100 * x.utilization.compute; }},
        {{"bandwidth_percent", "% of bandwidth", 3}, [](const Phase& x) { return 100 * x.utilization.bandwidth; }},
        {{"power_percent", "% of TDP", 3, Show::wide}, [](const Phase& x) { return 100 * x.utilization.power; }}};
    Table table{.title = {}, .columns = columns_of(fields), .rows = {}};
    if (!p.runs()) return table;
    for (const Phase& phase : p.phases) table.rows.push_back(cells_of(phase, fields));
    return table;
}

Table memory_table(const MemoryEstimate& m) {
    using Memory = MemoryEstimate;
    const auto in_gb = [](auto bytes) {
        return [bytes](const Memory& x) { return cell_in(std::optional<Bytes>(std::invoke(bytes, x)), gb); };
    };
    const Fields<Memory> fields{
        {{"weights_gb", "weights"}, in_gb(&Memory::weights)},
        {{"kv_cache_gb", "KV cache"}, in_gb(&Memory::kv_cache)},
        {{"activations_gb", "activations"}, in_gb(&Memory::activations)},
        {{"overhead_gb", "framework"}, in_gb(&Memory::overhead)},
        {{"total_gb", "total"}, in_gb(&Memory::total)},
        {{"capacity_gb", "usable"}, in_gb(&Memory::usable)},
        {{"fits", "fits", 4, Show::always, false, tone_of_fit}, [](const Memory& x) { return cell_if(x.fits(), std::identity{}); }}};
    return table_of<Memory>("Memory of one GPU, GB", std::vector{m}, fields);
}

}  // namespace roofcast
