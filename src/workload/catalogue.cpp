#include "workload/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "io/identifier.hpp"
#include "io/text_file.hpp"
#include "roofcast/error.hpp"
#include "workload/hub_cache.hpp"

namespace roofcast {

namespace {

std::vector<std::filesystem::path> model_files(const std::filesystem::path& folder) {
    std::error_code ec;
    if (!std::filesystem::is_directory(folder, ec)) {
        throw Error({.what = "the folder of models does not exist", .file = folder.string(), .suggestion = "check `models_folder`"});
    }
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".toml") files.push_back(entry.path());
    }
    std::ranges::sort(files, {}, &std::filesystem::path::native);
    return files;
}

/// Configurations as Hugging Face has them, each named after its hub id: `hub/ORG__NAME.json`.
std::vector<std::filesystem::path> hub_files(const std::filesystem::path& folder) {
    std::error_code ec;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "hub", ec)) {
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::ranges::sort(files, {}, &std::filesystem::path::native);
    return files;
}

/// Id and hub id of a file of `hub_files`, in lower case.
struct HubNames {
    std::string id, hub_id;
};

HubNames hub_names(const std::filesystem::path& file) {
    const std::string stem = lower_case(file.stem().string());
    const auto bar = stem.find("__");
    if (bar == std::string::npos) return {stem, stem};
    return {stem.substr(bar + 2), stem.substr(0, bar) + "/" + stem.substr(bar + 2)};
}

bool has_file_ending(std::string_view name) {
    constexpr std::string_view endings[] = {".toml", ".json", ".gguf", ".safetensors", ".onnx"};
    const std::string lower = lower_case(name);
    return std::any_of(std::begin(endings), std::end(endings), [&](std::string_view ending) { return lower.ends_with(ending); });
}

bool looks_like_file(std::string_view name) {
    return has_file_ending(name) || name.find('/') != std::string_view::npos;
}

/// Formats of models that roofcast does not read yet.
void refuse_unread_format(std::string_view name) {
    constexpr std::pair<std::string_view, std::string_view> unread[] = {{".pt", "PyTorch"}, {".pth", "PyTorch"}};
    for (const auto& [ending, format] : unread) {
        if (!lower_case(name).ends_with(ending)) continue;
        throw Error({.what = fmt::format("roofcast does not read {} files yet", format),
                     .key = "model",
                     .found = std::string(name),
                     .expected = "an id from `roofcast model list`, a TOML, GGUF, safetensors or ONNX file, or a Hugging Face config.json",
                     .suggestion = "give the config.json of the same model, or its id"});
    }
}

/// "organization/name", as Hugging Face names models.
bool looks_like_hub_id(std::string_view name) {
    return std::count(name.begin(), name.end(), '/') == 1 && !name.starts_with('/') && !name.starts_with('.') && !name.ends_with('/') &&
           !has_file_ending(name);
}

Error unknown_model(const std::filesystem::path& models_folder, const std::vector<std::filesystem::path>& files, std::string_view wanted) {
    std::vector<std::string> known;
    for (const auto& file : files) {
        for (std::string& name : workload_names(file)) known.push_back(std::move(name));
    }
    for (const auto& file : hub_files(models_folder)) known.push_back(hub_names(file).id);
    std::string suggestion = did_you_mean(wanted, known);
    if (suggestion.empty()) suggestion = "see `roofcast model list`";
    return Error(
        {.what = "unknown model",
         .key = "model",
         .found = std::string(wanted),
         .expected = "an id or alias of models/, file.toml#id, a TOML, GGUF, safetensors or ONNX file, or a Hugging Face config.json",
         .suggestion = std::move(suggestion)});
}

/// Ids with hyphens are also known with underscores.
char alike(char c) {
    return c == '_' ? '-' : c;
}

Error unknown_hub_id(std::string_view wanted) {
    return Error({.what = "this is neither a file, nor the hub id of a shipped model, nor in the local Hugging Face cache",
                  .key = "model",
                  .found = std::string(wanted),
                  .suggestion = fmt::format("fetch its configuration with `hf download {} config.json` and give that file", wanted)});
}

}  // namespace

std::vector<Workload> load_workload_catalogue(const std::filesystem::path& models_folder) {
    std::vector<Workload> catalogue;
    std::map<std::string, std::string> owner;
    BlockLibrary blocks = blocks_for(models_folder / "model.toml");
    auto files = model_files(models_folder);
    for (auto& file : hub_files(models_folder)) files.push_back(std::move(file));
    for (const auto& file : files) {
        for (Workload& workload : load_workloads(file, blocks)) {
            std::vector<std::string> names = workload.aliases;
            names.push_back(workload.id);
            for (const std::string& name : names) {
                const auto [known, inserted] = owner.emplace(name, workload.file);
                if (inserted) continue;
                throw Error({.what = fmt::format("the name is taken by a model of {}", known->second),
                             .file = workload.file,
                             .key = "id",
                             .found = name,
                             .expected = "an unused id or alias"});
            }
            catalogue.push_back(std::move(workload));
        }
    }
    std::sort(catalogue.begin(), catalogue.end(), [](const Workload& a, const Workload& b) { return a.id < b.id; });
    return catalogue;
}

Workload find_workload(const std::filesystem::path& models_folder, std::string_view id_or_file) {
    const auto in_file = [&](std::string_view file, std::string_view id) {
        BlockLibrary blocks = blocks_for(file, models_folder);
        return load_workload(file, id, blocks);
    };
    if (const auto hash = id_or_file.rfind('#'); hash != std::string_view::npos)
        return in_file(id_or_file.substr(0, hash), id_or_file.substr(hash + 1));
    refuse_unread_format(id_or_file);
    const bool hub_id = looks_like_hub_id(id_or_file) && !std::filesystem::exists(id_or_file);
    if (looks_like_file(id_or_file) && !hub_id) return in_file(id_or_file, {});
    // Parsing every file would take longer than a prediction: only a file that holds the quoted name can define it.
    const auto files = model_files(models_folder);
    std::string wanted = lower_case(id_or_file);
    std::replace(wanted.begin(), wanted.end(), ' ', '-');  // "Llama 3.1 8B"
    const std::string quoted = '"' + wanted + '"';
    const auto same = [](char a, char b) { return alike(a) == alike(b); };
    const auto hash = [](char c) { return std::hash<char>{}(alike(c)); };
    const std::boyer_moore_horspool_searcher name(quoted.begin(), quoted.end(), hash, same);
    for (const auto& file : files) {
        const std::string text = read_text_file(file);
        if (std::search(text.begin(), text.end(), name) == text.end()) continue;
        if (auto workload = workload_in(text, file, wanted)) return *std::move(workload);
    }
    for (const auto& file : hub_files(models_folder)) {
        const HubNames names = hub_names(file);
        if (wanted == names.id || wanted == names.hub_id) return load_workload(file);
    }
    if (hub_id) {
        if (const auto file = cached_config(id_or_file)) {
            Workload workload = load_workload(*file);
            workload.id = lower_case(id_or_file.substr(id_or_file.find('/') + 1));
            workload.name = std::string(id_or_file);
            return workload;
        }
        throw unknown_hub_id(id_or_file);
    }
    if (is_checkpoint(id_or_file)) return load_workload(id_or_file);
    throw unknown_model(models_folder, files, id_or_file);
}

}  // namespace roofcast
