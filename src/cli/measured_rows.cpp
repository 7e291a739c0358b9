#include "cli/measured_rows.hpp"

#include <fmt/format.h>

#include "roofcast/error.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast::cli {

std::vector<std::filesystem::path> data_paths(const std::vector<std::string>& data, const CommonOptions& common) {
    if (!data.empty()) return {data.begin(), data.end()};
    const auto folder = common.data() / "validation_data";
    return {folder / "kernels", folder / "models"};
}

const std::optional<std::string>& GpuNames::id(const std::string& name) {
    const auto known = ids_.find(name);
    if (known != ids_.end()) return known->second;
    std::optional<std::string> id;
    try {
        const GpuChoice choice = choose_gpu(folder_, name);
        id = choice.file.stem().string();
        if (!choice.note.empty()) ambiguous_.emplace(*id, choice.note);
    } catch (const Error&) {
        // Rows say so, with their file and line.
    }
    return ids_.emplace(name, std::move(id)).first->second;
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
                rows.skipped.push_back({row.origin.file, row.origin.line, fmt::format("no GPU profile is named '{}'", row.gpu)});
                return true;
            }
            row.gpu = *id;
            return false;
        });
    };
    name_in(rows.kernels);
    name_in(rows.models);
}

}  // namespace roofcast::cli
