#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>

#include "cli/catalogue_filters.hpp"
#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "graph/published.hpp"
#include "prediction/shapes.hpp"
#include "report/data_reports.hpp"
#include "workload/catalogue.hpp"

namespace roofcast::cli {

namespace {

struct ModelOptions {
    CommonOptions common;
    std::string id;
    std::vector<std::string> files, dimensions;
    std::optional<std::int64_t> image_size, prompt;
    CatalogueFilter filter;
};

void add_list(CLI::App& model, const std::shared_ptr<ModelOptions>& options) {
    CLI::App* command = model.add_subcommand("list");
    add_model_filters(*command, options->filter);
    add_common_options(*command, options->common);
    command->callback([options] {
        write(model_list_report(matching(load_workload_catalogue(options->common.models()), options->filter)), options->common);
    });
}

void add_show(CLI::App& model, const std::shared_ptr<ModelOptions>& options) {
    CLI::App* command = model.add_subcommand("show");
    add_common_options(*command, options->common);
    command
        ->add_option("model", options->id,
                     "Model id, alias, hub id, file.toml, file.toml#id, or a file: config.json, ONNX, GGUF, safetensors")
        ->required();
    command->add_option("--dim", options->dimensions, "Size of a symbolic dimension of an ONNX net: NAME=N (repeatable)")
        ->allow_extra_args(false);
    command->add_option("--image-size", options->image_size, "Height and width of each image in pixels (default: the model's)")
        ->check(CLI::Range(std::int64_t{1}, largest_run_count));
    command->add_option("--prompt", options->prompt, "Tokens in each sequence of an ONNX net")
        ->check(CLI::Range(std::int64_t{1}, largest_run_count));
    command->callback([options] {
        std::error_code ec;
        const bool path = options->id.find('/') != std::string::npos && std::filesystem::exists(options->id, ec);
        const bool file = path || options->id.ends_with(".toml") || options->id.ends_with(".json") || options->id.ends_with(".gguf") ||
                          options->id.ends_with(".onnx");
        const auto folder = file ? std::filesystem::path() : options->common.models();
        const Workload workload = find_workload(folder, options->id);
        refuse_useless({.prompt = options->prompt.has_value(),
                        .image_size = options->image_size.has_value(),
                        .dimensions = !options->dimensions.empty()},
                       workload);
        Run sizes;
        sizes.dimensions = given_dimensions(options->dimensions);
        sizes.image_size = options->image_size.value_or(0);
        sizes.prompt_tokens = options->prompt.value_or(0);
        write(model_report(workload, sizes), options->common);
    });
}

void add_check(CLI::App& model, const std::shared_ptr<ModelOptions>& options) {
    CLI::App* command = model.add_subcommand("check");
    add_common_options(*command, options->common);
    command->add_option("files", options->files, "Files: TOML, Hugging Face config.json, ONNX, GGUF, safetensors")->required();
    command->callback([options] {
        std::vector<Workload> workloads;
        for (const std::string& file : options->files) {
            for (Workload& workload : load_workloads(file)) workloads.push_back(std::move(workload));
        }
        write(model_list_report(workloads), options->common);
        for (const Workload& workload : workloads) {
            if (!agreement_with_published(workload).holds)
                throw std::runtime_error("a model deviates from its published figures by more than 1% or their rounding");
        }
    });
}

}  // namespace

void add_model_command(CLI::App& app) {
    CLI::App* model = app.add_subcommand("model");
    model->require_subcommand(1);
    auto options = std::make_shared<ModelOptions>();
    add_list(*model, options);
    add_show(*model, options);
    add_check(*model, options);
}

}  // namespace roofcast::cli
