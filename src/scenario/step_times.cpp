#include "roofcast/step_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "io/parallel.hpp"
#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

// The largest step where nothing is said: beyond what engines schedule.
constexpr std::int64_t usual_sequences = 1024, usual_tokens = 65'536, usual_context = 131'072;
constexpr std::int64_t most_in_step = std::int64_t{1} << 22;

void require_within(std::int64_t value, std::int64_t most, const char* key) {
    if (value >= 0 && value <= most) return;
    throw Error({.what = "a step is outside the range of its model",
                 .key = key,
                 .found = std::to_string(value),
                 .expected = fmt::format("from 0 to {}", most),
                 .suggestion = "make the model with a larger max_sequences, max_tokens or max_context"});
}

std::int64_t limit(const std::string& text, const std::string& name) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && value >= 1 && value <= most_in_step) return value;
    throw Error({.what = "out of range", .key = name, .found = text, .expected = fmt::format("a whole number from 1 to {}", most_in_step)});
}

template <class T>
void read_all(const OnDemand<T>& values, std::size_t count) {
    constexpr std::size_t at_once = 64;
    in_parallel((count + at_once - 1) / at_once, [&](std::size_t part) {
        for (std::size_t i = part * at_once; i < std::min(count, (part + 1) * at_once); ++i) static_cast<void>(values[i]);
    });
}

void read_part(const StepPart& part, std::size_t count) {
    read_all(part.log_work, count);
    if (!part.rest.empty()) read_all(part.rest, count);
}

}  // namespace

StepTimes::StepTimes(const Workload& workload, const Gpu& gpu, const Run& request, const SoftwareStacks& software, const StepRange& range)
    : range_(range), model_(step_model(workload, gpu, request, software)), table_(tabulated(model_, range)) {}

void StepTimes::check(const StepMix& mix) const {
    require_within(mix.decodes, range_.sequences, "decode_sequences");
    require_within(mix.prompts, range_.sequences, "prefill_sequences");
    require_within(mix.prompt_tokens, range_.prompt_tokens, "prefill_tokens");
    require_within(mix.decodes + mix.prompt_tokens, range_.tokens, "prefill_tokens");
    for (const auto& [tokens, key] : {std::pair(mix.context, "context"), {mix.past, "past"}}) {
        if (!(tokens >= 0 && tokens <= static_cast<double>(range_.context)))
            throw Error({.what = "a step is outside the range of its model",
                         .key = key,
                         .found = fmt::format("{}", tokens),
                         .expected = fmt::format("from 0 to {} tokens", range_.context),
                         .suggestion = "make the model with a larger max_context"});
    }
    if (mix.decodes + mix.prompt_tokens < 1) throw Error({.what = "a step computes at least one token", .key = "decode_sequences"});
    if (mix.prompt_tokens == 0 && mix.prompts > 0)
        throw Error({.what = "each prompt has at least one token", .key = "prefill_tokens", .found = "0"});
    if (mix.prompt_tokens > 0 && (mix.prompts < 1 || mix.prompts > mix.prompt_tokens))
        throw Error({.what = "each prompt has at least one token", .key = "prefill_sequences", .found = std::to_string(mix.prompts)});
}

Seconds StepTimes::time(const StepMix& mix) const {
    check(mix);
    return step_time(table_, mix);
}

Seconds StepTimes::exact(const StepMix& mix) const {
    check(mix);
    return step_time(model_, mix);
}

void StepTimes::prepare() const {
    read_all(table_.body, table_.body.size());
    read_all(table_.head, table_.head.size());
    read_all(table_.waiting, table_.waiting.size());
    read_part(table_.decode, table_.decode.log_work.size());
    if (table_.joint_decode) read_part(*table_.joint_decode, table_.joint_decode->log_work.size());
    read_part(table_.prompt, table_.tokens.values.size() * table_.past.values.size());  // the plane of one prompt
}

StepTimes step_times(const Workload& workload, const Gpu& gpu, const SoftwareStacks& software,
                     const std::vector<std::pair<std::string, std::string>>& settings, const std::filesystem::path& models_folder) {
    StepRange range{.sequences = usual_sequences, .tokens = usual_tokens, .prompt_tokens = usual_tokens, .context = 0, .exact_rows = true};
    RunSettings run;
    for (const auto& [name, text] : settings) {
        if (name == "max_sequences") {
            range.sequences = limit(text, name);
        } else if (name == "max_tokens") {
            range.tokens = range.prompt_tokens = limit(text, name);
        } else if (name == "max_context") {
            range.context = limit(text, name);
        } else {
            set(run, name, text);
        }
    }
    require_software(run, software);
    run.prompt = run.prompt.value_or(1);
    run.generate = run.generate.value_or(1);
    const DecoderLlm* llm = language_model(workload);
    if (range.context == 0)
        range.context = llm != nullptr && llm->max_context > 0 ? std::min(usual_context, llm->max_context) : usual_context;
    Run request = llm == nullptr ? Run{} : completed(run_request(run, workload, &gpu.profile, models_folder), workload, gpu);
    return {workload, gpu, request, software, range};
}

}  // namespace roofcast
