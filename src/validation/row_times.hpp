#pragma once
/// What a row of a whole model measures: which phases of a prediction, and as which figure.

#include <optional>

#include "roofcast/measurement.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/validation.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

/// What a metric is made of.
struct Times {
    Seconds first_token;   ///< whole forward pass for models that generate nothing
    Seconds decode;        ///< all tokens after the first
    double steps = 0;      ///< of decode
    double sequences = 0;  ///< at once, on all GPUs
    double counted = 1;    ///< what rates count for one of them
    double prompt_tokens = 0, output_tokens = 0;
    std::optional<Seconds> denoising_step;  ///< of the whole batch
    [[nodiscard]] Seconds total() const { return first_token + decode; }
};

/// In the unit of the row's metric. Throws Error where the metric does not suit the row's phase.
double from_times(const ModelRow& row, const Times& t);

/// Whether the row times the first token alone, or the tokens after it alone.
bool times_first_token(const ModelRow& row);
bool times_decode(const ModelRow& row);

/// What rates of rows count for one item.
double counted(const Workload& workload, const Run& run);

/// Without any time.
Times sizes_of(const Run& run, double counted_per_item);

/// Splits a prediction's phases into first token and decode. `latency` of a phase: all its passes.
template <class Latency>
Times times(const Prediction& p, const Workload& workload, Latency latency) {
    Times t = sizes_of(p.request, counted(workload, p.request));
    for (const Phase& phase : p.phases) {
        const Seconds all = latency(phase);
        if (phase.name == "decode") {
            t.decode += all;
            t.steps += phase.passes;
        } else {
            t.first_token += all;
        }
        if (phase.name == "denoise") t.denoising_step = all / phase.passes;
    }
    return t;
}

/// Terms of the phases that the row times; the bound is that of the longest phase.
PredictedTerms terms_of(const ModelRow& row, const Prediction& p);

}  // namespace roofcast
