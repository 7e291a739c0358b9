#include "cli/serving_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "io/number_text.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

constexpr std::int64_t most_requests = 10'000'000;            // whose times fit in memory
constexpr std::int64_t most_in_step = std::int64_t{1} << 20;  // tokens and sequences; tables of step times grow with them
constexpr double fastest = 1e9, longest = 1e9;                // requests per second; seconds

Error wrong(const std::string& option, const std::string& found, const std::string& expected, const std::string& what = "out of range") {
    return Error({.what = what, .key = option, .found = found, .expected = expected});
}

std::int64_t count(const std::string& text, const char* option, std::int64_t least, std::int64_t most) {
    const std::string expected = fmt::format("a whole number from {} to {}", least, most);
    std::int64_t value = 0;
    // "1e6" is a whole number to people.
    const auto written = parsed_number(text);
    if (written && *written == std::floor(*written) && *written >= static_cast<double>(least) && *written <= static_cast<double>(most) &&
        text.find_first_not_of("0123456789") != std::string::npos)
        throw Error({.what = "not a whole number",
                     .key = option,
                     .found = text,
                     .expected = expected,
                     .suggestion = fmt::format("did you mean {:.0f}?", *written)});
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem == std::errc::invalid_argument || end != text.data() + text.size())
        throw wrong(option, text, expected, "not a whole number");
    if (problem != std::errc{} || value < least || value > most) throw wrong(option, text, expected);
    return value;
}

/// Which bounds of a range belong to it.
enum class Ends { both, upper, lower };

double number(const std::string& text, const char* option, double least, double most, Ends ends) {
    const std::string expected = ends == Ends::both    ? fmt::format("a number from {} to {}", least, most)
                                 : ends == Ends::upper ? fmt::format("a number above {}, at most {}", least, most)
                                                       : fmt::format("a number from {} to below {}", least, most);
    const auto value = parsed_number(text);
    if (!value) throw wrong(option, text, expected, "not a number");
    const bool above = ends == Ends::upper ? *value > least : *value >= least, below = ends == Ends::lower ? *value < most : *value <= most;
    if (!above || !below) throw wrong(option, text, expected);
    return *value;
}

/// "TTFT" and "ttft" are one to people.
std::string lower_case(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

Seconds required_time(const std::string& key, const std::string& text) {
    constexpr std::pair<std::string_view, Seconds> units[] = {{"ms", ms}, {"us", us}, {"s", s}};
    const std::string lower = lower_case(text);
    for (const auto& [unit, size] : units) {
        if (!lower.ends_with(unit)) continue;
        const auto value = parsed_number(std::string_view(lower).substr(0, lower.size() - unit.size()));
        if (value && *value > 0 && (*value * size).in(s) <= longest) return *value * size;
        break;
    }
    throw wrong("--slo", fmt::format("{}={}", key, text), "a time above zero with its unit, such as 200ms, 1.5s or 800us", "not a time");
}

}  // namespace

void add_serving_options(CLI::App& command, ServingOptions& o) {
    command.add_option("--rate", o.rate, "Arrival rate of a Poisson process: 5/s, 300/min or 1000/h. A bare number is per second");
    command.add_option("--trace", o.trace, "CSV file of arrival_s, prompt_tokens and output_tokens, instead of random requests");
    command.add_option("--concurrency", o.users, "Users who each send the next request when the last one is finished, instead of a rate");
    command.add_flag("--find-rate", o.find_rate, "Find the highest rate at which enough requests meet --slo");
    command.add_option("--requests", o.requests, "Number of random requests")->capture_default_str();
    command.add_option("--prompt-cv", o.prompt_cv, "Coefficient of variation of the prompt lengths, log-normal (0: all equal)")
        ->capture_default_str();
    command.add_option("--generate-cv", o.generate_cv, "Coefficient of variation of the output lengths (0: all equal)")
        ->capture_default_str();
    command.add_option("--seed", o.seed, "Seed of the random request generator")->capture_default_str();
    command.add_option("--slo", o.slo, "Latency limits, of which misses are counted: ttft=200ms,tpot=30ms,latency=5s, or some of them");
    command.add_option("--slo-share", o.share, "Fraction of the requests that must meet --slo in --find-rate")->capture_default_str();
    command.add_option("--max-seqs", o.max_sequences, "Sequences in the engine at a time (default: the engine's on this GPU, else 256)");
    command.add_option("--max-tokens", o.max_tokens, "Tokens in one scheduler step (default: the engine's on this GPU, else 8192)");
    command
        .add_option("--batching", o.batching,
                    "How steps are formed: mixed (prefill and decode share steps) or prompts_first (decode waits for prefill) (default: "
                    "the engine's)")
        ->check(CLI::IsMember(std::vector<std::string>{batching_names.begin(), batching_names.end()}));
    command.add_option("--chunked-prefill", o.chunked, "Split prompts that exceed one step: on or off (default: the engine's)")
        ->check(CLI::IsMember({"on", "off"}));
    command.add_option("--chunk", o.chunk, "Most prompt tokens in one step (default: --max-tokens)");
    command
        .add_option("--admission", o.admission,
                    "When a sequence enters: the KV cache has room for its prompt (prompt), or also for its output (output) (default: the "
                    "engine's)")
        ->check(CLI::IsMember(std::vector<std::string>{admission_names.begin(), admission_names.end()}));
    command.add_option("--block-size", o.block_size, "Tokens in one block of the KV cache (default: the engine's, else 16)");
    command.add_option(
        "--memory-fraction", o.memory_fraction,
        "Fraction of the GPU's usable memory, as the engine means it. vLLM: weights, activations and cache. SGLang: weights and "
        "cache. TensorRT-LLM: cache, of what the weights leave (default: the engine's, else 0.9)");
    command.add_option("--prefix-cached", o.prefix_cached, "Fraction of each prompt that a prefix cache already holds")
        ->capture_default_str();
}

Hertz required_rate(const std::string& text) {
    constexpr std::pair<std::string_view, Seconds> units[] = {{"/s", s}, {"/sec", s}, {"/min", 60 * s}, {"/h", hour}, {"/hour", hour}};
    const std::string lower = lower_case(text);
    const std::size_t slash = std::min(lower.find('/'), lower.size());
    const auto unit = std::find_if(std::begin(units), std::end(units), [&](const auto& u) { return u.first == lower.substr(slash); });
    const auto value = parsed_number(std::string_view(lower).substr(0, slash));
    constexpr double slowest = 1e-9;
    const bool known = value && (slash == lower.size() || unit != std::end(units));
    const double per_second = known ? (*value / (slash == lower.size() ? s : unit->second)).in(1 / s) : 0;
    if (!known || !(per_second >= slowest && per_second <= fastest))
        throw wrong("--rate", text, fmt::format("requests such as 5/s, 300/min or 1000/h, from {:g} to {:g} per second", slowest, fastest),
                    known ? "out of range" : "not a rate");
    return per_second / s;
}

SchedulerOptions scheduler_options(const ServingOptions& o, const SchedulerOptions& engine) {
    constexpr std::int64_t largest_block = 65'536;
    SchedulerSettings s;
    const auto count_if = [](const std::string& text, const char* option, std::int64_t most) {
        return text.empty() ? std::nullopt : std::optional(count(text, option, 1, most));
    };
    s.max_tokens = count_if(o.max_tokens, "--max-tokens", most_in_step);
    s.max_sequences = count_if(o.max_sequences, "--max-seqs", most_in_step);
    const std::int64_t step = s.max_tokens.value_or(engine.max_tokens);
    if (s.max_sequences > step)
        throw Error({.what = "--max-seqs exceeds --max-tokens, and each sequence takes at least one token of a step",
                     .key = "--max-seqs",
                     .found = o.max_sequences,
                     .expected = fmt::format("at most {}", step)});
    if (!o.batching.empty()) s.batching = batching_of(o.batching);
    if (!o.chunked.empty()) s.chunked = o.chunked == "on";
    if (!o.chunk.empty() && !s.chunked.value_or(engine.chunked))
        throw Error({.what = "chunked prefill is off",
                     .key = "--chunk",
                     .found = o.chunk,
                     .suggestion = "leave it out, or add --chunked-prefill on"});
    s.chunk = count_if(o.chunk, "--chunk", step);
    if (!o.admission.empty()) s.admission = admission_of(o.admission);
    s.block_tokens = count_if(o.block_size, "--block-size", largest_block);
    if (!o.memory_fraction.empty()) s.memory_fraction = number(o.memory_fraction, "--memory-fraction", 0, 1, Ends::upper);
    s.prefix_cached = number(o.prefix_cached, "--prefix-cached", 0, 1, Ends::lower);
    return with(engine, s);
}

ServiceObjective service_objective(const std::string& text) {
    ServiceObjective objective;
    if (text.ends_with(','))
        throw Error(
            {.what = "a limit is missing after the last comma", .key = "--slo", .found = text, .suggestion = "leave the comma out"});
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view item = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), item.size() + 1));
        const std::size_t equals = std::min(item.find('='), item.size());
        const std::string key = lower_case(item.substr(0, equals));
        auto* limit = key == "ttft" ? &objective.ttft : key == "tpot" ? &objective.tpot : key == "latency" ? &objective.latency : nullptr;
        if (limit == nullptr || equals == item.size())
            throw Error({.what = "not a limit",
                         .key = "--slo",
                         .found = std::string(item),
                         .expected = "ttft=TIME, tpot=TIME or latency=TIME, joined by commas",
                         .suggestion = did_you_mean(key, {"ttft", "tpot", "latency"})});
        if (*limit)
            throw Error({.what = "a limit is given twice", .key = "--slo", .found = std::string(item), .suggestion = "give each once"});
        *limit = required_time(key, std::string(item.substr(equals + 1)));
    }
    return objective;
}

ArrivalProcess arrival_process(const ServingOptions& o, const Run& run) {
    constexpr double largest_cv = 10;
    ArrivalProcess process;
    process.requests = count(o.requests, "--requests", 1, most_requests);
    process.rate = o.rate.empty() ? 1 / s : required_rate(o.rate);
    process.prompt_mean = static_cast<double>(run.prompt_tokens);
    process.output_mean = static_cast<double>(run.generate_tokens);
    process.prompt_cv = number(o.prompt_cv, "--prompt-cv", 0, largest_cv, Ends::both);
    process.output_cv = number(o.generate_cv, "--generate-cv", 0, largest_cv, Ends::both);
    process.seed = static_cast<std::uint64_t>(count(o.seed, "--seed", 0, std::numeric_limits<std::int64_t>::max()));
    return process;
}

std::int64_t concurrent_users(const ServingOptions& o, const Parallelism& parallel) {
    return o.users.empty() ? 0 : count(o.users, "--concurrency", parallel.data, most_requests);
}

double share_to_meet(const ServingOptions& o) {
    return number(o.share, "--slo-share", 0, 1, Ends::upper);
}

void refuse_contradictions(const ServingOptions& o, bool tokens_given) {
    std::vector<std::string_view> sources;
    if (!o.rate.empty()) sources.push_back("--rate");
    if (!o.trace.empty()) sources.push_back("--trace");
    if (!o.users.empty()) sources.push_back("--concurrency");
    if (o.find_rate) sources.push_back("--find-rate");
    if (sources.size() != 1)
        throw Error({.what = sources.empty() ? "no option says when requests arrive" : "several options say when requests arrive",
                     .found = fmt::format("{}", fmt::join(sources, " and ")),
                     .expected = "one of --rate, --trace, --concurrency and --find-rate",
                     .suggestion = "such as --rate 5/s"});
    if (o.find_rate && o.slo.empty())
        throw Error({.what = "the search for a rate needs limits",
                     .key = "--find-rate",
                     .suggestion = "add --slo, such as --slo ttft=200ms,tpot=30ms"});
    const ServingOptions defaults;
    if (!o.find_rate && o.share != defaults.share)
        throw Error({.what = "only --find-rate uses this option",
                     .key = "--slo-share",
                     .suggestion = "leave it out, or give --find-rate instead of --rate"});
    if (o.trace.empty()) return;
    const bool drawn_given = tokens_given || o.requests != defaults.requests || o.prompt_cv != defaults.prompt_cv ||
                             o.generate_cv != defaults.generate_cv || o.seed != defaults.seed;
    if (drawn_given)
        throw Error({.what = "a trace lists its own requests",
                     .key = "--trace",
                     .suggestion = "leave out --prompt, --generate, --requests, --prompt-cv, --generate-cv and --seed"});
}

}  // namespace roofcast::cli
