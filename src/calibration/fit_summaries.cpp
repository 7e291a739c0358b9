#include "io/files_in.hpp"
#include "roofcast/accuracy.hpp"

namespace roofcast {

std::vector<FitSummary> load_fit_summaries(const std::filesystem::path& gpus_folder, const std::filesystem::path& user_folder) {
    constexpr std::string_view ending = ".fit.toml";
    const auto fits = gpu_fit_file(gpus_folder, "").parent_path();
    std::vector<FitSummary> summaries;
    for (const auto& file : files_in(fits, ending)) {
        const auto of_user = user_folder.empty() ? user_folder : gpu_fit_file(user_folder, "").parent_path() / file.filename();
        std::error_code ec;
        const bool replaced = !of_user.empty() && std::filesystem::is_regular_file(of_user, ec);
        summaries.push_back(load_fit_summary(replaced ? of_user : file));
    }
    if (!user_folder.empty()) {
        for (const auto& file : files_in(gpu_fit_file(user_folder, "").parent_path(), ending)) {
            std::error_code ec;
            if (!std::filesystem::is_regular_file(fits / file.filename(), ec)) summaries.push_back(load_fit_summary(file));
        }
    }
    for (const auto& file : files_in(architecture_fit_file(gpus_folder, "").parent_path(), ending))
        summaries.push_back(load_fit_summary(file));
    return summaries;
}

}  // namespace roofcast
