#include <fmt/format.h>

#include <memory>
#include <numeric>
#include <stdexcept>

#include "cli/catalogue_filters.hpp"
#include "cli/command.hpp"
#include "cli/gpu_new_command.hpp"
#include "profile/architecture_facts.hpp"
#include "profile/prices.hpp"
#include "report/data_reports.hpp"
#include "roofcast/calibration.hpp"
#include "roofcast/execution.hpp"

namespace roofcast::cli {

namespace {

struct GpuOptions : CommonOptions {
    std::vector<std::string> asked;
    CatalogueFilter filter;
};

void list_gpus(const GpuOptions& options) {
    write(gpu_list_report(matching(load_gpu_catalogue(options.gpus()), options.filter, options.gpus())), options);
}

void show_gpu(const GpuOptions& options) {
    const auto folder = options.gpus();
    Notes notes;
    Gpu gpu;
    gpu.profile = load_chosen_gpu(folder, options.asked.front(), notes);
    gpu.parameters = load_parameters(folder, gpu.profile, options.user_fits());
    write(gpu_report(gpu), options);
    notes.print(options);
}

/// Reads `name` when it is one of the files beside profiles that are none: a fit, an architecture, the table of software, prices. Throws
/// Error on what is wrong in it.
std::optional<CheckedFile> check_other_file(const std::string& name) {
    const std::filesystem::path file = name;
    if (name.ends_with(".fit.toml")) {
        const std::size_t parameters = check_parameter_file(file);
        static_cast<void>(load_fit_summary(file));
        return CheckedFile{name, "fit", parameters};
    }
    if (file.filename() == "execution.toml") {
        const SoftwareStacks software = load_software(file.parent_path());
        return CheckedFile{name, "software", software.by_execution.size() + software.engines.size()};
    }
    if (file.filename() == "prices.csv" || file.filename() == "providers.csv") {
        const PriceList list = load_price_list(file.parent_path());
        if (file.filename() == "providers.csv") return CheckedFile{name, "providers", list.providers.size()};
        const auto rows = [](std::size_t sum, const auto& of_gpu) { return sum + of_gpu.second.size(); };
        return CheckedFile{name, "prices", std::accumulate(list.of_gpu.begin(), list.of_gpu.end(), std::size_t{0}, rows)};
    }
    if (!is_of_architecture(file) || file.extension() != ".toml") return std::nullopt;
    const std::size_t parameters = check_parameter_file(file);
    check_architecture_facts(file);
    return CheckedFile{name, "architecture", parameters};
}

CheckedProfile checked_profile(const std::filesystem::path& folder, GpuProfile gpu) {
    static_cast<void>(load_parameters(folder, gpu));  // throws when a value is outside its bounds
    const auto fit = gpu_fit_file(std::filesystem::path(gpu.file).parent_path(), gpu.id);
    std::error_code ec;
    if (std::filesystem::is_regular_file(fit, ec)) static_cast<void>(check_parameter_file(fit));
    auto findings = check_gpu_profile(gpu);
    return {std::move(gpu), std::move(findings)};
}

void check_gpus(const GpuOptions& options) {
    const auto folder = options.gpus();
    std::vector<CheckedProfile> checked;
    std::vector<CheckedFile> files;
    Notes notes;
    for (const auto& name : options.asked) {
        if (auto file = check_other_file(name)) {
            files.push_back(std::move(*file));
        } else {
            checked.push_back(checked_profile(folder, chosen_gpu(folder, name, notes)));
        }
    }
    if (options.asked.empty()) {
        for (auto& gpu : load_gpu_catalogue(folder)) checked.push_back(checked_profile(folder, std::move(gpu)));
    }
    write(gpu_check_report(checked, files), options);
    notes.print(options);
    if (const std::size_t open = unexplained(checked); open > 0) {
        throw std::runtime_error(fmt::format("{} unexplained {}: correct the value, or explain it in the profile's [explained] table", open,
                                             open == 1 ? "finding" : "findings"));
    }
}

}  // namespace

void add_gpu_command(CLI::App& app) {
    auto* gpu = app.add_subcommand("gpu");
    gpu->require_subcommand(1);
    const auto add = [gpu](const char* name, void (*run)(const GpuOptions&)) {
        auto options = std::make_shared<GpuOptions>();
        auto* command = gpu->add_subcommand(name);
        add_common_options(*command, *options);
        command->callback([options, run] { run(*options); });
        return std::pair{command, options};
    };
    const auto [list, listed] = add("list", list_gpus);
    add_gpu_filters(*list, listed->filter);
    const auto [show, shown] = add("show", show_gpu);
    show->add_option("gpu", shown->asked, "GPU id, alias or profile file")->required()->expected(1);
    const auto [check, checked] = add("check", check_gpus);
    check->add_option("gpu", checked->asked, "GPU ids, aliases or profile files, or files beside profiles (default: all shipped profiles)");
    add_gpu_new_command(*gpu);
}

}  // namespace roofcast::cli
