#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

#include "roofcast/software.hpp"

namespace roofcast {

bool begins_with_words(std::string_view software, std::string_view match) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    std::size_t at = 0;
    for (const char c : match) {
        if (c == '*') {
            at = std::min(software.find(' ', at), software.size());
        } else if (at == software.size() || lower(software[at++]) != lower(c)) {
            return false;
        }
    }
    return at == software.size() || std::strchr(" /:.+", software[at]) != nullptr;
}

namespace {

bool runs_as(const Engine& engine, Execution execution) {
    return std::find(engine.executions.begin(), engine.executions.end(), execution) != engine.executions.end();
}

/// "vllm==0.9", "vllm-0.9" and "vllm@v0.9" as "vllm 0.9".
std::string spaced(std::string_view software) {
    const std::size_t digit = software.find_first_of("0123456789");
    if (digit == std::string_view::npos || digit == 0) return std::string(software);
    const std::size_t end = digit > 1 && software[digit - 1] == 'v' ? digit - 1 : digit;
    const std::size_t name = software.find_last_not_of("-=@ ", end - 1);
    if (name == std::string_view::npos || name + 1 == end) return std::string(software);
    return std::string(software.substr(0, name + 1)) + ' ' + std::string(software.substr(digit));
}

/// "sglang v0.5.9" as "sglang 0.5.9".
std::string without_v(std::string_view software) {
    std::string text(software);
    for (std::size_t at = text.find(" v"); at != std::string::npos; at = text.find(" v", at + 1)) {
        if (at + 2 < text.size() && std::isdigit(static_cast<unsigned char>(text[at + 2])) != 0) text.erase(at + 1, 1);
    }
    return text;
}

/// Numbers of a version: {0, 24, 1} of "0.24.1rc2".
std::vector<int> numbers_of(std::string_view version) {
    std::vector<int> numbers;
    for (std::size_t at = 0; at < version.size() && std::isdigit(static_cast<unsigned char>(version[at])) != 0;) {
        int number = 0;
        const auto [end, status] = std::from_chars(version.data() + at, version.data() + version.size(), number);
        if (status != std::errc{}) break;
        numbers.push_back(number);
        at = static_cast<std::size_t>(end - version.data());
        if (at < version.size() && version[at] != '.') break;
        ++at;
    }
    return numbers;
}

}  // namespace

bool KnownVersions::hold(std::string_view software) const {
    const std::string text = without_v(spaced(software));
    std::vector<int> version;
    for (std::size_t space = text.find(' '); version.empty() && space != std::string::npos; space = text.find(' ', space + 1))
        version = numbers_of(std::string_view(text).substr(space + 1));
    if (version.empty()) return true;
    std::vector<int> until = numbers_of(last), shortened = version;
    shortened.resize(std::min(version.size(), until.size()));
    return version >= numbers_of(first) && shortened <= until;
}

const Engine* SoftwareStacks::engine(Execution execution, std::string_view asked, std::string_view vendor) const {
    if (asked.empty()) return nullptr;
    const std::string software = without_v(asked);
    const Engine* found = nullptr;
    std::size_t longest = 0;
    for (const Engine& engine : engines) {
        if (!runs_as(engine, execution) || (!engine.vendor.empty() && engine.vendor != vendor)) continue;
        for (const std::string& match : engine.match) {
            const bool preferred = match.size() > longest || (match.size() == longest && !engine.vendor.empty());
            if (!preferred || !begins_with_words(software, match)) continue;
            longest = match.size();
            found = &engine;
        }
    }
    if (found != nullptr) return found;
    const auto is_called = [&](const Engine& engine) { return runs_as(engine, execution) && engine.stack.name == software; };
    const auto named = std::find_if(engines.begin(), engines.end(), is_called);
    if (named != engines.end()) return &*named;
    const std::string other = spaced(software);
    return other == software ? nullptr : engine(execution, other, vendor);
}

const EngineMemory* engine_memory_of(const std::vector<EngineMemory>& tables, std::string_view software) {
    const std::string asked = without_v(spaced(software));
    const EngineMemory* found = nullptr;
    std::size_t longest = 0;
    for (const EngineMemory& table : tables) {
        for (const std::string& match : table.match) {
            if (match.size() <= longest || !begins_with_words(asked, match)) continue;
            longest = match.size();
            found = &table;
        }
    }
    return found;
}

std::string engine_memory_names(const std::vector<EngineMemory>& tables) {
    std::vector<std::string_view> names;
    for (const EngineMemory& table : tables) names.push_back(table.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<const Engine*> SoftwareStacks::named(std::string_view software) const {
    std::vector<const Engine*> chosen;
    for (const Engine& engine : engines) {
        if (engine.family == software || engine.stack.name == software) chosen.push_back(&engine);
    }
    for (std::size_t mode = 0; chosen.empty() && mode < execution_count; ++mode) {
        if (const Engine* found = engine(static_cast<Execution>(mode), software)) chosen.push_back(found);
    }
    return chosen;
}

const SoftwareStack& SoftwareStacks::find(Execution execution, std::string_view software, std::string_view vendor) const {
    const Engine* named = engine(execution, software, vendor);
    return named == nullptr ? by_execution[index(execution)] : named->stack;
}

std::vector<std::string> SoftwareStacks::families_of(std::string_view software, std::string_view vendor) const {
    std::vector<std::string> names;
    for (std::size_t mode = 0; mode < execution_count; ++mode) {
        for (const auto& family : find(static_cast<Execution>(mode), software, vendor).families) {
            if (std::find(names.begin(), names.end(), family->name) == names.end()) names.push_back(family->name);
        }
    }
    return names;
}

}  // namespace roofcast
