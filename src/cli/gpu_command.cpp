#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "cli/command.hpp"
#include "cli/gpu_report.hpp"

namespace roofcast::cli {

namespace {

struct GpuOptions : CommonOptions {
    std::vector<std::string> asked;
};

void list_gpus(const GpuOptions& options) {
    write(gpu_list_report(load_gpu_catalogue(options.gpus())), options);
}

void show_gpu(const GpuOptions& options) {
    const auto folder = options.gpus();
    Notes notes;
    Gpu gpu;
    gpu.profile = load_chosen_gpu(folder, options.asked.front(), notes);
    gpu.parameters = load_parameters(folder, gpu.profile);
    write(gpu_report(gpu), options);
    notes.print();
}

void check_gpus(const GpuOptions& options) {
    const auto folder = options.gpus();
    std::vector<CheckedProfile> checked;
    const auto check = [&](GpuProfile gpu) {
        static_cast<void>(load_parameters(folder, gpu));  // throws when a value is outside its bounds
        auto findings = check_gpu_profile(gpu);
        checked.push_back({std::move(gpu), std::move(findings)});
    };
    Notes notes;
    for (const auto& name : options.asked) check(load_chosen_gpu(folder, name, notes));
    if (options.asked.empty()) {
        for (auto& gpu : load_gpu_catalogue(folder)) check(std::move(gpu));
    }
    write(gpu_check_report(checked), options);
    notes.print();
    if (const std::size_t open = unexplained(checked); open > 0) {
        throw std::runtime_error(fmt::format("{} unexplained {}: correct the value, or give the reason in the profile's [explained] table",
                                             open, open == 1 ? "finding" : "findings"));
    }
}

}  // namespace

void add_gpu_command(CLI::App& app) {
    auto* gpu = app.add_subcommand("gpu", "GPU profiles: list, show, check");
    gpu->require_subcommand(1);
    const auto add = [gpu](const char* name, const char* meaning, void (*run)(const GpuOptions&)) {
        auto options = std::make_shared<GpuOptions>();
        auto* command = gpu->add_subcommand(name, meaning);
        add_common_options(*command, *options);
        command->callback([options, run] { run(*options); });
        return std::pair{command, options};
    };
    add("list", "All shipped GPUs with their main figures", list_gpus);
    const auto [show, shown] = add("show", "Everything about one GPU: facts, precisions, prices, parameters, what is assumed", show_gpu);
    show->add_option("gpu", shown->asked, "Id, alias or profile file")->required()->expected(1);
    const auto [check, checked] =
        add("check", "Hold profiles to what follows from SMs, clocks and architecture; exit 1 on what they do not explain", check_gpus);
    check->add_option("gpu", checked->asked, "Ids, aliases or profile files; none: all shipped ones");
}

}  // namespace roofcast::cli
