#include "cli/measured_rows.hpp"

#include <fmt/format.h>

#include "io/identifier.hpp"
#include "roofcast/error.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast::cli {

namespace {

/// "net.toml", "nets.toml#small", "folder/config.json".
bool names_model_file(std::string_view name) {
    return name.substr(0, name.find('#')).ends_with(".toml") || name.ends_with(".json") || name.ends_with(".gguf") ||
           name.ends_with(".onnx");
}

}  // namespace

std::vector<std::filesystem::path> data_paths(const std::vector<std::string>& data, const CommonOptions& common) {
    if (!data.empty()) return {data.begin(), data.end()};
    const auto folder = common.data() / "validation_data";
    return {folder / "kernels", folder / "models"};
}

void GpuNames::add(const GpuProfile& profile) {
    for (const std::string& name : {profile.id, profile.name, std::filesystem::path(profile.file).stem().string()})
        added_.insert_or_assign(folded_name(name), profile.id);
    if (!profile.changed_from.empty()) added_.emplace(folded_name(profile.changed_from), profile.id);
    for (const std::string& alias : profile.aliases) added_.emplace(folded_name(alias), profile.id);
}

const std::optional<std::string>& GpuNames::id(const std::string& name) {
    const auto known = ids_.find(name);
    if (known != ids_.end()) return known->second;
    return ids_.emplace(name, found(name)).first->second;
}

std::optional<std::string> GpuNames::found(const std::string& name) {
    for (std::string_view rest = name; !rest.empty(); rest = without_maker(rest)) {
        if (const auto added = added_.find(folded_name(rest)); added != added_.end()) return added->second;
    }
    try {
        const GpuChoice choice = choose_gpu(folder_, name);
        std::string id = choice.file.stem().string();
        if (!choice.note.empty()) ambiguous_.emplace(id, choice.note);
        return id;
    } catch (const Error&) {
        return std::nullopt;  // rows say so, with their file and line
    }
}

std::string GpuNames::note(const std::string& id) const {
    const auto found = ambiguous_.find(id);
    return found != ambiguous_.end() ? found->second : std::string();
}

std::vector<std::string> GpuNames::notes() const {
    std::vector<std::string> texts;
    for (const auto& [id, text] : ambiguous_) texts.push_back(text);
    return texts;
}

void name_by_profiles(Measurements& rows, GpuNames& names) {
    const auto name_in = [&](auto& of_a_kind) {
        std::erase_if(of_a_kind, [&](auto& row) {
            const std::optional<std::string>& id = names.id(row.gpu);
            if (!id) {
                rows.skipped.add(row.origin.file, row.origin.line, fmt::format("no GPU profile is named '{}'", row.gpu));
                return true;
            }
            row.gpu = *id;
            return false;
        });
    };
    name_in(rows.kernels);
    name_in(rows.models);
}

std::vector<Workload> workloads_of(std::vector<ModelRow>& rows, const std::filesystem::path& models_folder) {
    std::vector<Workload> workloads = load_workload_catalogue(models_folder);
    std::map<std::string, std::string> families;
    const auto know = [&families](const Workload& workload) {
        families.emplace(lower_case(workload.id), workload.family);
        for (const std::string& alias : workload.aliases) families.emplace(lower_case(alias), workload.family);
    };
    for (const Workload& workload : workloads) know(workload);
    for (ModelRow& row : rows) {
        const std::string name = lower_case(row.model);
        if (!families.contains(name) && names_model_file(name)) {
            workloads.push_back(find_workload(models_folder, row.model));
            workloads.back().aliases.push_back(name);
            know(workloads.back());
        }
        if (const auto found = families.find(name); row.family.empty() && found != families.end()) row.family = found->second;
    }
    return workloads;
}

}  // namespace roofcast::cli
