#include "validation/row_times.hpp"

#include <fmt/format.h>

#include "validation/unusable.hpp"

namespace roofcast {

double from_times(const ModelRow& row, const Times& t) {
    switch (row.metric) {
        case Metric::latency_ms:
            return (row.phase == "prefill" || row.phase == "forward" ? t.first_token : t.total()).in(ms);
        case Metric::ttft_ms:
            return t.first_token.in(ms);
        case Metric::tpot_ms:
            if (t.steps > 0) return (t.decode / t.steps).in(ms);
            break;
        case Metric::throughput_per_s:
            // Those who time diffusion count denoising steps of the batch, as progress bars do.
            if (t.denoising_step) return 1 / t.denoising_step->in(s);
            return t.sequences * t.counted / t.total().in(s);
        case Metric::tokens_per_s:
            if (row.phase == "prefill" && t.prompt_tokens > 0) return t.sequences * t.prompt_tokens / t.first_token.in(s);
            if (row.phase == "decode" && t.steps > 0) return t.sequences * t.steps / t.decode.in(s);
            // What reads a text in segments scores their tokens.
            if (row.phase == "generate" && t.output_tokens == 0 && t.prompt_tokens > 0)
                return t.sequences * t.prompt_tokens / t.total().in(s);
            if (row.phase == "generate" && t.output_tokens > 0) return t.sequences * t.output_tokens / t.total().in(s);
            break;
        case Metric::memory_gb:
        case Metric::power_w:
        case Metric::weights_gib:
        case Metric::activation_gib:
        case Metric::graphs_gib:
        case Metric::kv_cache_gib:
        case Metric::kv_cache_tokens:
            break;
    }
    throw unusable(fmt::format("metric {} does not apply to phase '{}'", name(row.metric), row.phase));
}

bool times_first_token(const ModelRow& row) {
    return row.metric == Metric::ttft_ms || row.phase == "prefill";
}

bool times_decode(const ModelRow& row) {
    return row.metric == Metric::tpot_ms || (row.metric == Metric::tokens_per_s && row.phase == "decode");
}

double counted(const Workload& workload, const Run& run) {
    const auto* net = std::get_if<ConvNet>(&workload.architecture);
    if (net == nullptr || net->counted_per_frame == 0) return 1;
    return net->counted_per_frame * static_cast<double>(run.image_size > 0 ? run.image_size : net->image_size);
}

Times sizes_of(const Run& run, double counted_per_item) {
    Times t;
    t.counted = counted_per_item;
    t.sequences = run.items();
    t.prompt_tokens = static_cast<double>(run.prompt_tokens);
    t.output_tokens = static_cast<double>(run.generate_tokens);
    return t;
}

PredictedTerms terms_of(const ModelRow& row, const Prediction& p) {
    const bool one_step = p.step && row.metric == Metric::throughput_per_s;
    PredictedTerms terms{.host = Seconds{}};
    Seconds longest;
    for (const Phase& phase : p.phases) {
        if (one_step ? phase.name != "denoise" : phase.name == "decode" ? times_first_token(row) : times_decode(row)) continue;
        const double passes = one_step ? 1 : phase.passes;
        for (const TimedOp& op : phase.timeline.ops) terms.add(op.kernel, passes * op.runs * op.passes);
        *terms.host += passes * phase.timeline.host;
        if (phase.latency > longest) {
            longest = phase.latency;
            terms.bound = phase.bound;
        }
    }
    return terms;
}

}  // namespace roofcast
