#include "profile/architecture_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace roofcast {

namespace {

constexpr std::string_view architecture_folder = "arch", fits_folder = "fits";

}  // namespace

std::optional<ComputeCapability> parse_capability(std::string_view text) {
    ComputeCapability capability;
    const char* end = text.data() + text.size();
    const auto major = std::from_chars(text.data(), end, capability.major);
    if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
    const auto minor = std::from_chars(major.ptr + 1, end, capability.minor);
    if (minor.ec != std::errc{} || minor.ptr != end || capability.major < 1 || capability.minor < 0) return std::nullopt;
    return capability;
}

std::filesystem::path architecture_file(const std::filesystem::path& gpus_folder, std::string_view architecture) {
    return gpus_folder / architecture_folder / fmt::format("{}.toml", architecture);
}

std::filesystem::path architecture_fit_file(const std::filesystem::path& gpus_folder, std::string_view architecture) {
    return gpus_folder / fits_folder / architecture_folder / fmt::format("{}.fit.toml", architecture);
}

std::filesystem::path gpu_fit_file(const std::filesystem::path& gpus_folder, std::string_view id) {
    return gpus_folder / fits_folder / fmt::format("{}.fit.toml", id);
}

std::filesystem::path family_fit_file(const std::filesystem::path& gpus_folder, std::string_view id, std::string_view family) {
    return gpus_folder / fits_folder / id / fmt::format("{}.fit.toml", family);
}

bool is_of_architecture(const std::filesystem::path& file) {
    return file.parent_path().filename() == architecture_folder;
}

std::string written(ComputeCapability capability) {
    return fmt::format("{}.{}", capability.major, capability.minor);
}

std::string architecture_id(std::string_view text) {
    std::string id;
    for (const char c : text) {
        id += c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return id;
}

std::vector<std::string> known_architectures(const std::filesystem::path& gpus_folder) {
    std::vector<std::string> names;
    std::error_code ec;
    for (const auto& entry : std::filesystem::directory_iterator(gpus_folder / architecture_folder, ec)) {
        const auto& file = entry.path();
        const std::string stem = file.stem().string();
        if (file.extension() == ".toml" && stem.front() != '_' && stem.find('.') == std::string::npos) names.push_back(stem);
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::string known_architecture(const std::string& id, const std::vector<std::string>& known) {
    std::string joined = id;
    joined.erase(std::remove(joined.begin(), joined.end(), '-'), joined.end());
    if (std::find(known.begin(), known.end(), joined) != known.end()) return joined;
    const auto place = std::find_if(known.begin(), known.end(), [&](const std::string& k) { return id.starts_with(k + "-"); });
    return place == known.end() ? id : *place;
}

}  // namespace roofcast
