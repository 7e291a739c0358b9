#include "io/data_folder.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

bool holds_data(const std::filesystem::path& folder) {
    std::error_code ec;
    return std::filesystem::is_directory(folder / "gpus", ec) && std::filesystem::is_directory(folder / "models", ec);
}

std::filesystem::path required(const std::filesystem::path& folder, const char* given_by) {
    if (holds_data(folder)) return folder;
    throw Error({.what = "the folder holds no roofcast data",
                 .key = given_by,
                 .found = folder.string(),
                 .expected = "a folder that holds gpus/ (profiles, arch/_default.toml), software/ and models/"});
}

/// <prefix>/bin/roofcast or <prefix>/lib/libroofcast.so with <prefix>/share/roofcast, or <source>/build/<preset>/roofcast.
std::optional<std::filesystem::path> folder_near(const std::filesystem::path& file) {
    for (auto folder = file.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
        if (holds_data(folder / "share" / "roofcast")) return folder / "share" / "roofcast";
        if (holds_data(folder)) return folder;
    }
    return std::nullopt;
}

/// The shared library that holds this code, such as a module of Python; empty when the program itself holds it.
std::filesystem::path own_library() {
    Dl_info info{};
    static const char here = 0;
    if (dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return {};
    const std::filesystem::path file = info.dli_fname;
    return file.is_absolute() && file.filename().string().find(".so") != std::string::npos ? file : std::filesystem::path();
}

}  // namespace

std::filesystem::path data_folder(const std::optional<std::filesystem::path>& chosen) {
    if (chosen) return required(*chosen, "data_folder");
    if (const char* variable = std::getenv("ROOFCAST_DATA"); variable != nullptr && *variable != '\0')
        return required(variable, "ROOFCAST_DATA");
    std::error_code ec;
    if (auto folder = folder_near(own_library())) return *folder;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", ec);
    if (auto folder = ec ? std::nullopt : folder_near(program)) return *folder;
    if (holds_data(std::filesystem::current_path(ec))) return std::filesystem::current_path(ec);
    throw Error({.what = "the data folder (gpus/, software/, models/) was not found next to the program",
                 .suggestion = "set `data_folder` or ROOFCAST_DATA"});
}

std::filesystem::path user_data_folder() {
    // The XDG base directory specification: relative paths are to be ignored.
    const auto absolute = [](const char* variable) {
        const char* value = std::getenv(variable);
        const std::filesystem::path folder = value == nullptr ? "" : value;
        return folder.is_absolute() ? folder : std::filesystem::path();
    };
    if (const auto data = absolute("XDG_DATA_HOME"); !data.empty()) return data / "roofcast";
    if (const auto home = absolute("HOME"); !home.empty()) return home / ".local" / "share" / "roofcast";
    return {};
}

}  // namespace roofcast
