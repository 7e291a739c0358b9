#pragma once
/// Options of a simulated serving engine, and the text forms of their values.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "roofcast/serving.hpp"

namespace roofcast::cli {

/// As written by the user: whole numbers and fractions are checked when they are read.
struct ServingOptions {
    std::string rate, trace, users, slo;
    std::string requests = "10000", seed = "0", prompt_cv = "0", generate_cv = "0";
    std::string max_sequences, max_tokens, chunk, block_size, batching, chunked, admission, memory_fraction;  ///< empty: the engine's
    std::string prefix_cached = "0", share = "0.99";
    bool find_rate = false;
};

void add_serving_options(CLI::App& command, ServingOptions& options);

/// Each throws Error naming the option, what was found and what is expected.
/// What the user sets of `engine`'s scheduler.
SchedulerOptions scheduler_options(const ServingOptions& options, const SchedulerOptions& engine);
/// Of --rate: "5", "5/s", "300/min", "1000/h".
Hertz required_rate(const std::string& text);
ServiceObjective service_objective(const std::string& text);
/// Poisson arrivals; at 1/s when the rate is searched for and where users send requests. Token counts are those of the run.
ArrivalProcess arrival_process(const ServingOptions& options, const Run& run);
/// Of --concurrency, at least one for each data-parallel copy; 0 without it.
std::int64_t concurrent_users(const ServingOptions& options, const Parallelism& parallel);
double share_to_meet(const ServingOptions& options);

/// Throws Error when options contradict each other: no source of requests or several, a search without objective.
void refuse_contradictions(const ServingOptions& options, bool tokens_given);

}  // namespace roofcast::cli
