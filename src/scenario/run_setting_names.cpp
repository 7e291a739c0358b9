#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "roofcast/error.hpp"
#include "roofcast/execution.hpp"
#include "roofcast/run_settings.hpp"

namespace roofcast {

namespace {

std::int64_t whole_setting(const std::string& text, const char* field, std::int64_t most = largest_run_count) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && value >= 1 && value <= most) return value;
    throw Error({.what = "not a number in range",
                 .key = field,
                 .found = text,
                 .expected = fmt::format("whole numbers from 1 to {}, as a list (1,8,32) or a range (1:64:*2)", most)});
}

template <std::optional<std::int64_t> RunSettings::*Member>
void set_count(RunSettings& s, const std::string& text, const char* field) {
    s.*Member = whole_setting(text, field);
}

/// Techniques are checked together, where they are read.
template <std::string TechniqueSettings::*Member>
void set_technique(RunSettings& s, const std::string& text, const char*) {
    s.techniques.*Member = text;
}

void set_streams(RunSettings& s, const std::string& text, const char* field) {
    s.streams = static_cast<int>(whole_setting(text, field, static_cast<std::int64_t>(most_streams)));
}

void set_layout(RunSettings& s, const std::string& text, const char* field) {
    if (text != "nhwc" && text != "nchw") throw Error({.what = "unknown layout", .key = field, .found = text, .expected = "nhwc or nchw"});
    s.layout = text;
}

void set_host_time(RunSettings& s, const std::string& text, const char* field) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), s.host_time);
    if (error == std::errc{} && end == text.data() + text.size()) return;
    throw Error({.what = "a number is needed", .key = field, .found = text});
}

/// "past=511+tokens=1": several dimensions of one point.
void set_dimensions(RunSettings& s, const std::string& text, const char*) {
    s.dimensions.clear();
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t plus = std::min(text.find('+', start), text.size());
        s.dimensions.push_back(text.substr(start, plus - start));
        start = plus + 1;
    }
    static_cast<void>(given_dimensions(s.dimensions));
}

constexpr RunSetting settings_by_name[] = {
    {"precision", "precision", [](RunSettings& s, const std::string& t, const char* field) { required_precision(s.precision = t, field); }},
    {"weights", "weights", [](RunSettings& s, const std::string& t, const char*) { required_weights(s.weights = t); }},
    {"kv", "kv_precision", [](RunSettings& s, const std::string& t, const char* field) { required_precision(s.kv = t, field); }},
    {"execution", "execution", [](RunSettings& s, const std::string& t, const char*) { required_execution(s.execution = t); }},
    {"software", "software", [](RunSettings& s, const std::string& t, const char*) { s.software = t; }},
    {"layout", "channels_last", set_layout},
    {"batch", "batch", set_count<&RunSettings::batch>},
    {"prompt", "prompt_tokens", set_count<&RunSettings::prompt>},
    {"generate", "generate_tokens", set_count<&RunSettings::generate>},
    {"image_size", "image_size", set_count<&RunSettings::image_size>},
    {"images", "images", set_count<&RunSettings::images>},
    {"dim", "dimensions", set_dimensions},
    {"steps", "steps", set_count<&RunSettings::steps>},
    {"cached_prefix", "techniques.cached_prefix", set_technique<&TechniqueSettings::cached_prefix>},
    {"prefill_chunk", "techniques.prefill_chunk", set_technique<&TechniqueSettings::prefill_chunk>},
    {"kv_block", "techniques.kv_block", set_technique<&TechniqueSettings::kv_block>},
    {"offload", "techniques.offload", set_technique<&TechniqueSettings::offload>},
    {"draft", "techniques.speculation.draft", set_technique<&TechniqueSettings::draft>},
    {"draft_tokens", "techniques.speculation.tokens", set_technique<&TechniqueSettings::draft_tokens>},
    {"mtp", "techniques.speculation.own_head", set_technique<&TechniqueSettings::mtp>},
    {"acceptance", "techniques.speculation.acceptance", set_technique<&TechniqueSettings::acceptance>},
    {"ep", "parallel.expert", set_count<&RunSettings::expert>},
    {"attention_dp", "parallel.attention_data", set_count<&RunSettings::attention_data>},
    {"pcie", "pcie", [](RunSettings& s, const std::string& t, const char*) { required_pcie(s.pcie = t); }},
    {"gpus", "parallel.gpus", set_count<&RunSettings::gpus>},
    {"tp", "parallel.tensor", set_count<&RunSettings::tensor>},
    {"pp", "parallel.pipeline", set_count<&RunSettings::pipeline>},
    {"dp", "parallel.data", set_count<&RunSettings::data>},
    {"streams", "streams", set_streams},
    {"host_time", "host_time", set_host_time},
};

}  // namespace

std::span<const RunSetting> run_settings() {
    return settings_by_name;
}

std::optional<std::string> setting_name(std::string_view field) {
    const auto* known = std::find_if(std::begin(settings_by_name), std::end(settings_by_name),
                                     [field](const RunSetting& setting) { return setting.field == field; });
    return known == std::end(settings_by_name) ? std::nullopt : std::optional<std::string>(known->name);
}

void set(RunSettings& settings, std::string_view name, const std::string& text) {
    const auto* known = std::find_if(std::begin(settings_by_name), std::end(settings_by_name),
                                     [name](const RunSetting& setting) { return setting.name == name; });
    if (known != std::end(settings_by_name)) return known->set(settings, text, known->field.data());
    std::vector<std::string> names;
    for (const RunSetting& setting : settings_by_name) names.emplace_back(setting.name);
    throw Error({.what = "unknown setting", .found = std::string(name), .suggestion = did_you_mean(name, names)});
}

}  // namespace roofcast
