#include "workload/hub_cache.hpp"

#include <cstdlib>
#include <string>

#include "io/text_file.hpp"

namespace roofcast {

namespace {

/// Value of an environment variable; empty when it is not set.
std::filesystem::path from_environment(const char* variable) {
    const char* value = std::getenv(variable);
    return value == nullptr ? "" : value;
}

std::filesystem::path cache_folder() {
    if (const auto cache = from_environment("HF_HUB_CACHE"); !cache.empty()) return cache;
    if (const auto home = from_environment("HF_HOME"); !home.empty()) return home / "hub";
    if (const auto cache = from_environment("XDG_CACHE_HOME"); !cache.empty()) return cache / "huggingface" / "hub";
    if (const auto home = from_environment("HOME"); !home.empty()) return home / ".cache" / "huggingface" / "hub";
    return {};
}

bool is_file(const std::filesystem::path& file) {
    std::error_code ec;
    return std::filesystem::is_regular_file(file, ec);
}

/// The text of a small file without white space at its end; empty where there is none.
std::string first_word(const std::filesystem::path& file) {
    if (!is_file(file)) return {};
    const std::string text = read_text_file(file);
    return text.substr(0, text.find_first_of(" \t\r\n"));
}

}  // namespace

std::optional<std::filesystem::path> cached_config(std::string_view hub_id) {
    const auto slash = hub_id.find('/');
    const std::filesystem::path cache = cache_folder();
    if (cache.empty() || slash == std::string_view::npos) return std::nullopt;
    const auto model = cache / ("models--" + std::string(hub_id.substr(0, slash)) + "--" + std::string(hub_id.substr(slash + 1)));
    if (const std::string revision = first_word(model / "refs" / "main"); !revision.empty()) {
        if (auto file = model / "snapshots" / revision / "config.json"; is_file(file)) return file;
    }
    std::optional<std::filesystem::path> latest;
    std::error_code ec;
    for (const auto& snapshot : std::filesystem::directory_iterator(model / "snapshots", ec)) {
        auto file = snapshot.path() / "config.json";
        if (!is_file(file)) continue;
        if (!latest || std::filesystem::last_write_time(file, ec) > std::filesystem::last_write_time(*latest, ec)) latest = std::move(file);
    }
    return latest;
}

}  // namespace roofcast
