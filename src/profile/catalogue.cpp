#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "io/identifier.hpp"
#include "io/text_file.hpp"
#include "io/toml_reader.hpp"
#include "profile/architecture_names.hpp"
#include "profile/gpu_class.hpp"
#include "profile/prices.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

std::string_view without_maker(std::string_view name) {
    constexpr std::array<std::string_view, 6> makers{"nvidia", "amd", "intel", "apple", "geforce", "radeon"};
    const std::size_t end = name.find_first_of(" -_");
    if (end == std::string_view::npos) return {};
    return std::find(makers.begin(), makers.end(), folded_name(name.substr(0, end))) == makers.end() ? std::string_view()
                                                                                                     : name.substr(end + 1);
}

namespace {

/// Other files have a second ending ("card.toml.previous", "card.fit.toml").
bool is_profile(const std::filesystem::path& file) {
    return file.extension() == ".toml" && !file.stem().has_extension();
}

/// Profiles of a folder, sorted.
std::vector<std::filesystem::path> profile_files(const std::filesystem::path& folder) {
    std::error_code ec;
    std::vector<std::filesystem::path> files;
    for (std::filesystem::directory_iterator entry(folder, ec), end; !ec && entry != end; entry.increment(ec)) {
        if (is_profile(entry->path())) files.push_back(entry->path());
    }
    if (ec) throw Error({.what = "the folder of GPU profiles cannot be read: " + ec.message(), .file = folder.string()});
    std::ranges::sort(files, {}, &std::filesystem::path::native);
    return files;
}

/// The names a profile goes by.
struct Names {
    std::filesystem::path file;
    std::string id, name;
    std::vector<std::string> aliases, also_called;
};

/// What stands before the first table: look-ups open every profile.
std::string head_text(const std::filesystem::path& file) {
    std::string text = read_text_file(file);
    if (const auto first_table = text.find("\n["); first_table != std::string::npos) text.resize(first_table + 1);
    return text;
}

toml::table head_of(const std::filesystem::path& file, const std::string& text) {
    try {
        return parse_toml(text, file.string());
    } catch (const Error&) {
        return parse_toml_file(file);
    }
}

Names names_in(const std::filesystem::path& file, const std::string& head_text) {
    const toml::table head = head_of(file, head_text);
    TableReader reader(head, file.string());
    return {.file = file,
            .id = reader.text_if("id").value_or(identifier_of(file.stem().string())),
            .name = reader.text("name"),
            .aliases = reader.texts_if("aliases"),
            .also_called = reader.texts_if("also_called")};
}

bool contains_folded(const std::vector<std::string>& names, const std::string& wanted) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return folded_name(n) == wanted; });
}

bool looks_like_path(std::string_view text) {
    return text.find('/') != std::string_view::npos || text.ends_with(".toml") || text == "." || text == "..";
}

Error unknown_gpu(const std::vector<std::filesystem::path>& files, std::string_view asked) {
    std::vector<std::string> known;
    for (const auto& file : files) {
        const Names n = names_in(file, head_text(file));
        known.push_back(n.id);
        known.insert(known.end(), n.aliases.begin(), n.aliases.end());
    }
    return Error({.what = "unknown GPU",
                  .key = "gpu",
                  .found = fmt::format("\"{}\"", asked),
                  .expected = "an id of `roofcast gpu list`, an alias or a .toml file",
                  .suggestion = did_you_mean(asked, known)});
}

/// Names of the profiles that `wanted`, folded, comes up in, and perhaps of some more: to parse all takes longer than a prediction.
std::vector<Names> profiles_with(const std::vector<std::filesystem::path>& files, const std::string& wanted) {
    std::vector<Names> found;
    for (const auto& file : files) {
        const std::string head = head_text(file);
        const bool has_escapes = head.find('\\') != std::string::npos;
        if (has_escapes || folded_name(identifier_of(file.stem().string()) + '\n' + head).find(wanted) != std::string::npos)
            found.push_back(names_in(file, head));
    }
    return found;
}

GpuChoice choose_by_name(const std::filesystem::path& folder, std::string_view asked) {
    const std::string wanted = folded_name(asked);
    const auto files = profile_files(folder);
    const std::vector<Names> all = profiles_with(files, wanted);
    const auto match = [&](auto&& test) { return std::find_if(all.begin(), all.end(), test); };
    auto found = match([&](const Names& n) { return folded_name(n.id) == wanted; });
    if (found == all.end()) found = match([&](const Names& n) { return folded_name(n.name) == wanted; });
    if (found != all.end()) return {found->file, {}};
    found = match([&](const Names& n) { return contains_folded(n.aliases, wanted); });
    if (found == all.end()) {
        const std::string_view rest = without_maker(asked);
        if (rest.empty()) throw unknown_gpu(files, asked);
        try {
            return choose_by_name(folder, rest);
        } catch (const Error&) {
            throw unknown_gpu(files, asked);
        }
    }
    std::vector<std::string> others;
    for (const auto& n : all) {
        if (contains_folded(n.also_called, wanted)) others.push_back(n.id);
    }
    if (others.empty()) return {found->file, {}};
    return {found->file, fmt::format("{} is ambiguous: took {} (others: {})", asked, found->id, fmt::join(others, ", "))};
}

/// A price of no GPU of the folder is a slip of the id.
void require_known_gpus(const PriceList& prices, const std::vector<GpuProfile>& gpus, const std::filesystem::path& file) {
    std::vector<std::string> ids;
    for (const GpuProfile& gpu : gpus) ids.push_back(gpu.id);
    for (const auto& [id, line] : prices.first_line) {
        if (std::find(ids.begin(), ids.end(), id) == ids.end())
            throw Error({.what = "the folder has no profile with this id",
                         .file = file.string(),
                         .line = line,
                         .key = "gpu",
                         .found = fmt::format("\"{}\"", id),
                         .expected = "an id of `roofcast gpu list`",
                         .suggestion = did_you_mean(id, ids)});
    }
}

/// The full profile in `file` if it is of `architecture`.
std::optional<GpuProfile> gpu_in(const std::filesystem::path& file, const std::filesystem::path& gpus_folder,
                                 const std::string& architecture, FactsByCapability& facts) {
    try {
        const toml::table head = head_of(file, head_text(file));
        const auto written = head["architecture"].value<std::string>();
        if (!written || head.contains("compute_tflops")) return std::nullopt;
        if (known_architecture(architecture_id(*written), {architecture}) != architecture) return std::nullopt;
        return load_gpu_profile(file, gpus_folder, PriceList{}, facts);
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace

std::vector<GpuProfile> known_gpus(const std::filesystem::path& gpus_folder, const std::string& architecture) {
    std::vector<GpuProfile> gpus;
    FactsByCapability facts;
    std::error_code ec;
    if (!std::filesystem::is_directory(gpus_folder, ec)) return gpus;
    for (const auto& file : profile_files(gpus_folder)) {
        if (auto known = gpu_in(file, gpus_folder, architecture, facts)) gpus.push_back(std::move(*known));
    }
    return gpus;
}

std::vector<std::string> gpu_ids(const std::filesystem::path& gpus_folder) {
    std::vector<std::string> ids;
    for (const auto& file : profile_files(gpus_folder)) ids.push_back(names_in(file, head_text(file)).id);
    return ids;
}

std::vector<GpuProfile> load_gpu_catalogue(const std::filesystem::path& gpus_folder) {
    std::vector<GpuProfile> gpus;
    std::map<std::string, std::string> owner;  // folded name → id
    const PriceList prices = load_price_list(gpus_folder);
    for (const auto& file : profile_files(gpus_folder)) {
        GpuProfile gpu = load_gpu_profile(file, gpus_folder, prices);
        std::vector<std::string> names = gpu.aliases;
        names.push_back(gpu.id);
        for (const auto& n : names) {
            const auto [place, is_new] = owner.emplace(folded_name(n), gpu.id);
            if (!is_new)
                throw Error({.what = fmt::format("\"{}\" is already the name of {}", n, place->second),
                             .file = file.string(),
                             .key = n == gpu.id ? "id" : "aliases",
                             .suggestion = "list it under also_called"});
        }
        gpus.push_back(std::move(gpu));
    }
    std::sort(gpus.begin(), gpus.end(), [](const GpuProfile& a, const GpuProfile& b) { return a.id < b.id; });
    require_known_gpus(prices, gpus, gpus_folder / "prices.csv");
    return gpus;
}

GpuChoice choose_gpu(const std::filesystem::path& gpus_folder, std::string_view id_or_file) {
    if (looks_like_path(id_or_file)) return {std::filesystem::path(id_or_file), {}};
    std::error_code ec;
    const auto exact = gpus_folder / (std::string(id_or_file) + ".toml");
    if (!id_or_file.empty() && is_profile(exact) && std::filesystem::is_regular_file(exact, ec)) return {exact, {}};
    return choose_by_name(gpus_folder, id_or_file);
}

Gpu load_gpu(const std::filesystem::path& gpus_folder, std::string_view id_or_file) {
    Gpu gpu;
    gpu.profile = load_gpu_profile(choose_gpu(gpus_folder, id_or_file).file, gpus_folder);
    gpu.parameters = load_parameters(gpus_folder, gpu.profile);
    return gpu;
}

}  // namespace roofcast
