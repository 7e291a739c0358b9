#include "validation/served_row.hpp"

#include <fmt/format.h>

#include <cmath>

#include "validation/unusable.hpp"

namespace roofcast {

ServingQuestion question_of(const ServedLoad& load, const Run& request, const SchedulerOptions& scheduler) {
    SchedulerOptions options = with(scheduler, load.settings);
    // A prompt that is longer than a step was served in parts, whatever the engine does by itself.
    options.chunked = options.chunked || request.prompt_tokens > options.max_tokens;
    return {.request = request, .options = options, .objective = {}, .attainment = {}, .users = load.rate_per_s ? 0 : load.users};
}

double served_figure(Metric metric, const ServingStatistics& statistics) {
    switch (metric) {
        case Metric::tokens_per_s:
            return statistics.tokens_per_second;
        case Metric::throughput_per_s:
            return statistics.requests_per_second;
        case Metric::ttft_ms:
            return statistics.ttft.mean.in(ms);
        case Metric::tpot_ms:
            if (statistics.tpot) return statistics.tpot->mean.in(ms);
            break;
        case Metric::latency_ms:
            return statistics.latency.mean.in(ms);
        case Metric::memory_gb:
        case Metric::power_w:
        case Metric::weights_gib:
        case Metric::activation_gib:
        case Metric::graphs_gib:
        case Metric::kv_cache_gib:
        case Metric::kv_cache_tokens:
            break;
    }
    throw unusable(fmt::format("metric {} does not apply to phase 'serve'", name(metric)));
}

std::vector<ServingRequest> requests_of(const ModelRow& row) {
    // Mean and deviation of lengths that are spread evenly from a fraction of the nominal length to that.
    const double mean = (1 + row.served->shortest) / 2, cv = (1 - row.served->shortest) / std::sqrt(12) / mean;
    return drawn({.requests = row.served->requests,
                  .rate = row.served->rate_per_s.value_or(1) / s,
                  .prompt_mean = mean * static_cast<double>(*row.prompt_tokens),
                  .prompt_cv = cv,
                  .output_mean = mean * static_cast<double>(*row.output_tokens),
                  .output_cv = cv});
}

}  // namespace roofcast
