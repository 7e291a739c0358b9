#include "prediction/longest_phase.hpp"
#include "report/prediction_report.hpp"
#include "report/run_parts.hpp"

namespace roofcast {

namespace {

using Named = NamedPrediction;

Fields<Named> setting_fields() {
    const auto of_run = [](std::initializer_list<std::string_view> keys) {
        return part_fields<Named>(
            "", [](const Named& n) { return &n.prediction.request; }, picked(run_fields(), keys));
    };
    return Fields<Named>{{{"model", "model", 4, Show::always}, &Named::model_id}, {{"gpu", "GPU", 4, Show::always}, &Named::gpu_id}} +
           of_run({"precision", "weights", "batch", "prompt_tokens"}) +
           Fields<Named>{{{"output_tokens", "output", 4, Show::setting},
                          [](const Named& n) { return n.prediction.ttft ? Cell(n.prediction.request.generate_tokens) : Cell(); }}} +
           of_run({"execution"});
}

/// Bounds of the figures but the latency, for JSON and CSV.
Fields<Prediction> more_bounds() {
    const auto bounds = [](const char* key, auto factors) {
        const auto figure = picked(time_fields<Prediction>(), {key}).front().cell;
        return bound_fields<Prediction>(key, 4, Show::data, figure,
                                        [factors](const Prediction& p) { return p.intervals ? factors(*p.intervals) : std::nullopt; });
    };
    const auto inverse = [](const PredictionIntervals& i) { return std::optional(IntervalRatio{1 / i.latency.high, 1 / i.latency.low}); };
    return bounds("ttft_ms", [](const PredictionIntervals& i) { return i.ttft; }) +
           bounds("tpot_ms", [](const PredictionIntervals& i) { return i.tpot; }) + bounds("throughput_per_s", inverse) +
           bounds("tokens_per_s", inverse) +
           part_fields<Prediction>(
               "", &Prediction::intervals,
               Fields<PredictionIntervals>{
                   {{"interval_percent", "interval %", 4, Show::data}, [](const PredictionIntervals&) { return interval_percent; }},
                   {{"interval_basis", "interval from", 4, Show::data}, &PredictionIntervals::basis}});
}

}  // namespace

Fields<NamedPrediction> prediction_fields() {
    const auto if_it_runs = [](const Fields<Prediction>& fields) {
        return part_fields<Named>(
            "", [](const Named& n) { return n.prediction.runs() ? &n.prediction : nullptr; }, fields);
    };
    return setting_fields() + if_it_runs(time_fields<Prediction>()) +
           part_fields<Named>(
               "", [](const Named& n) { return &n.prediction.memory; }, memory_fields()) +
           if_it_runs({{{"bound", "bound", 4, Show::wide}, [](const Prediction& p) { return longest_phase(p).bound; }}}) +
           Fields<Named>{{{"assumed", "assumed", 4, Show::data}, [](const Named& n) { return assumed_keys(n.assumed); }}} +
           if_it_runs(more_bounds());
}

Table phase_table(const Prediction& p) {
    static const Fields<Phase> fields =
        Fields<Phase>{{{"phase", "phase", 4, Show::always}, &Phase::name},
                      {{"passes", "passes"}, &Phase::passes},
                      {{"latency_ms", "latency ms", 4, Show::always}, &Phase::latency, ms},
                      {{"pass_ms", "ms a pass"}, [](const Phase& x) { return x.timeline.total; }, ms},
                      {{"gpu_busy_ms", "GPU busy ms", 4, Show::wide}, [](const Phase& x) { return x.timeline.gpu_busy; }, ms},
                      {{"host_ms", "CPU ms", 4, Show::wide}, [](const Phase& x) { return x.timeline.host; }, ms},
                      {{"kernels", "kernels", 4, Show::wide}, [](const Phase& x) { return x.timeline.kernels; }},
                      {{"bound", "bound", 4, Show::always}, &Phase::bound},
                      {{"flops_per_byte", "FLOPs/byte"}, &Phase::intensity, FlopsPerByte{1}}} +
        part_fields<Phase>(
            "", [](const Phase& x) { return &x.utilization; }, utilization_fields());
    const std::vector<Phase> none;
    return table_of({}, p.runs() ? p.phases : none, fields);
}

Table memory_table(const MemoryEstimate& m) {
    static const Fields<MemoryEstimate> fields =
        Fields<MemoryEstimate>{{{"weights_gb", "weights"}, &MemoryEstimate::weights, gb},
                               {{"kv_cache_gb", "KV cache"}, &MemoryEstimate::kv_cache, gb},
                               {{"activations_gb", "activations"}, &MemoryEstimate::activations, gb},
                               {{"overhead_gb", "framework"}, &MemoryEstimate::overhead, gb},
                               {{"total_gb", "total"}, &MemoryEstimate::total, gb},
                               {{"capacity_gb", "usable"}, &MemoryEstimate::usable, gb}} +
        picked(memory_fields(), {"fits"});
    return table_of("Memory of one GPU, GB", std::vector{m}, fields);
}

}  // namespace roofcast
