#include "cli/catalogue_filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "io/identifier.hpp"
#include "roofcast/calibration.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

/// Case, spaces and underscores are no difference: "RTX 4090" and "rtx-4090".
std::string searchable(std::string text) {
    text = lower_case(text);
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == ' ' || c == '_'; }, '-');
    return text;
}

bool is_named(const std::string& wanted, const std::string& name) {
    return wanted.empty() || searchable(wanted) == searchable(name);
}

/// Whether `text` is part of a name.
bool is_found(const std::string& text, const std::string& id, const std::string& name, const std::vector<std::string>& aliases) {
    const auto holds = [part = searchable(text)](const std::string& one) { return searchable(one).find(part) != std::string::npos; };
    return holds(id) || holds(name) || std::any_of(aliases.begin(), aliases.end(), holds);
}

/// One filter with what values it could have had.
struct Asked {
    std::string option, value;
    std::set<std::string> known;
};

NoAnswer nothing_matches(const char* kind, const std::vector<Asked>& asked) {
    ErrorDetail detail{.what = fmt::format("no {} passes all filters", kind)};
    for (const Asked& one : asked) {
        if (one.value.empty()) continue;
        detail.found += fmt::format("{}{} {}", detail.found.empty() ? "" : " ", one.option, one.value);
        const std::vector<std::string> known(one.known.begin(), one.known.end());
        const bool is_known = std::any_of(known.begin(), known.end(), [&](const std::string& name) { return is_named(one.value, name); });
        if (!known.empty() && !is_known) detail.expected = fmt::format("{} of {}", one.option, fmt::join(known, ", "));
    }
    if (detail.expected.empty()) detail.suggestion = "leave out a filter";
    return NoAnswer(detail);
}

}  // namespace

void add_gpu_filters(CLI::App& command, CatalogueFilter& filter) {
    command.add_option("--vendor", filter.vendor, "List only GPUs of this vendor, such as nvidia or amd");
    command.add_option("--architecture", filter.architecture, "List only GPUs of this architecture, such as hopper or ada");
    command.add_flag("--measured", filter.measured, "List only GPUs that were measured: those with a fit of their own");
    command.add_option("--search", filter.search, "List only GPUs with this text in their id, name or an alias");
}

void add_model_filters(CLI::App& command, CatalogueFilter& filter) {
    command.add_option("--family", filter.family, "List only models of this family, such as llm, vlm, encoder, vit, cnn or diffusion");
    command.add_option("--search", filter.search, "List only models with this text in their id, name or an alias");
}

std::vector<GpuProfile> matching(std::vector<GpuProfile> gpus, const CatalogueFilter& filter, const std::filesystem::path& gpus_folder) {
    Asked vendor{"--vendor", filter.vendor, {}}, architecture{"--architecture", filter.architecture, {}};
    std::erase_if(gpus, [&](const GpuProfile& gpu) {
        vendor.known.insert(gpu.vendor);
        architecture.known.insert(gpu.architecture);
        std::error_code ec;
        const bool measured = !filter.measured || std::filesystem::exists(gpu_fit_file(gpus_folder, gpu.id), ec);
        auto aliases = gpu.aliases;
        aliases.insert(aliases.end(), gpu.also_called.begin(), gpu.also_called.end());
        return !measured || !is_named(filter.vendor, gpu.vendor) || !is_named(filter.architecture, gpu.architecture) ||
               !is_found(filter.search, gpu.id, gpu.name, aliases);
    });
    if (gpus.empty()) throw nothing_matches("GPU", {vendor, architecture, {"--search", filter.search, {}}});
    return gpus;
}

std::vector<Workload> matching(std::vector<Workload> models, const CatalogueFilter& filter) {
    Asked family{"--family", filter.family, {}};
    std::erase_if(models, [&](const Workload& model) {
        family.known.insert(model.family);
        return !is_named(filter.family, model.family) || !is_found(filter.search, model.id, model.name, model.aliases);
    });
    if (models.empty()) throw nothing_matches("model", {family, {"--search", filter.search, {}}});
    return models;
}

}  // namespace roofcast::cli
