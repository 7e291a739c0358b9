#include <fmt/format.h>

#include <memory>

#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "report/prediction_report.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

struct MemoryOptions {
    CommonOptions common;
    RunOptions run;
    std::vector<std::string> models, gpus;
};

/// Storage formats that the table compares: the precision of activations, and that of weights.
struct Storage {
    const char* label;
    Precision precision;
    const char* weights;
};
constexpr Storage storages[] = {{"fp32", Precision::fp32, "fp32"},
                                {"fp16", Precision::fp16, "fp16"},
                                {"int8", Precision::fp16, "int8"},
                                {"int4", Precision::fp16, "int4"}};

void add_row(Table& table, const Workload& workload, RunRequest request, const Storage& storage, const std::vector<GpuProfile>& gpus,
             const SoftwareStacks& software) {
    request.shape.precision = storage.precision;
    request.weights = *parse_weight_format(storage.weights);
    const MemoryEstimate m = memory_estimate(workload, completed_sizes(request, workload), software);
    std::vector<Cell> row{workload.id,          std::string(storage.label), m.weights.in(gb), m.kv_cache.in(gb),
                          m.activations.in(gb), m.overhead.in(gb),          m.total().in(gb)};
    for (const GpuProfile& gpu : gpus) {
        if (gpu.capacity) {
            row.emplace_back(m.total() <= *gpu.capacity);
        } else {
            row.emplace_back();
        }
    }
    table.rows.push_back(std::move(row));
}

void run(const MemoryOptions& options) {
    const SoftwareStacks software = load_software(options.common.gpus());
    std::vector<GpuProfile> gpus;
    for (const auto& id : options.gpus) {
        const GpuChoice choice = choose_gpu(options.common.gpus(), id);
        if (!choice.note.empty()) note(choice.note);
        gpus.push_back(load_gpu_profile(choice.file, options.common.gpus()));
    }
    Table table{.columns = {{"model", "model"},
                            {"storage", "storage"},
                            {"weights_gb", "weights GB"},
                            {"kv_cache_gb", "KV cache GB"},
                            {"activations_gb", "activations GB"},
                            {"overhead_gb", "framework GB"},
                            {"total_gb", "total GB"}}};
    for (const GpuProfile& gpu : gpus) table.columns.push_back({"fits_" + gpu.id, "fits " + gpu.id});
    for (const auto& model : options.models) {
        const Workload workload = find_workload(options.common.models(), model);
        const RunRequest request = run_request(options.run, workload, nullptr);
        for (const Storage& storage : storages) add_row(table, workload, request, storage, gpus, software);
    }
    Report report;
    report.document["rows"] = as_json(table);
    report.tables.push_back(std::move(table));
    report.after.push_back(
        "GB is 1e9 bytes. int8 and int4: weights only, activations and KV cache in 16 bits unless --kv says otherwise; int4 with a 16-bit "
        "scale and zero point for each 128 weights.");
    write(report, options.common);
}

}  // namespace

void add_memory_command(CLI::App& app) {
    auto options = std::make_shared<MemoryOptions>();
    CLI::App* command = app.add_subcommand("memory", "Memory of models by precision: weights, KV cache, activations, framework");
    command->add_option("--model", options->models, "Model id, TOML file or Hugging Face config.json; several allowed")->required();
    command->add_option("--gpu", options->gpus, "Also say whether it fits this GPU; several allowed");
    add_run_options(*command, options->run);
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
