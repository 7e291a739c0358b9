#include "validation/served_row.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "validation/unusable.hpp"

namespace roofcast {

ServingQuestion question_of(const ServedLoad& load, const RunRequest& request) {
    ServingQuestion question{.request = request, .options = {}, .objective = {}, .share = {}};
    question.options.max_sequences = load.max_sequences;
    question.options.max_tokens = load.max_tokens;
    question.options.memory_fraction = load.memory_fraction;
    question.options.admission = load.reserves_output ? Admission::output : Admission::prompt;
    // A copy of the model without a user would wait for arrivals.
    if (!load.rate_per_s) question.users = std::max(load.users, request.shape.parallel.data);
    return question;
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
            break;
    }
    throw unusable(fmt::format("{} does not suit phase 'serve'", name(metric)));
}

std::vector<ServingRequest> requests_of(const ModelRow& row) {
    return drawn({.requests = row.served->requests,
                  .rate = row.served->rate_per_s.value_or(1) / s,
                  .prompt_mean = static_cast<double>(row.prompt_tokens.value_or(1)),
                  .output_mean = static_cast<double>(row.output_tokens.value_or(1))});
}

}  // namespace roofcast
