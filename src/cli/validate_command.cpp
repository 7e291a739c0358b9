#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "cli/command.hpp"
#include "io/atomic_file.hpp"
#include "report/validation_report.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

struct ValidateOptions {
    CommonOptions common;
    std::vector<std::string> gpus, data, ops;
    std::vector<std::string> by{"gpu", "op", "precision"};
    std::string rows_file;
    std::int64_t worst = 10;
    bool strict = false;
};

/// GPUs by id, each loaded when a row first names it.
class GpuShelf {
public:
    explicit GpuShelf(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Loads what the user named and returns its id.
    std::string add(const std::string& id_or_file) {
        const GpuChoice choice = choose_gpu(folder_, id_or_file);
        Gpu gpu = loaded(choice.file);
        notes_.add(choice, gpu.profile);
        std::string id = gpu.profile.id;
        gpus_.insert_or_assign(id, std::move(gpu));
        return id;
    }

    /// nullptr when no profile has that name. Throws Error where one has, and it or its parameters cannot be read.
    const Gpu* find(const std::string& id) {
        const auto known = gpus_.find(id);
        if (known != gpus_.end()) return known->second ? &*known->second : nullptr;
        std::optional<GpuChoice> choice;
        try {
            choice = choose_gpu(folder_, id);
        } catch (const Error& e) {
            notes_.add(e.what());
        }
        const auto& placed = gpus_.emplace(id, choice ? std::optional{loaded(choice->file)} : std::nullopt).first->second;
        return placed ? &*placed : nullptr;
    }

    [[nodiscard]] const Notes& notes() const { return notes_; }

private:
    [[nodiscard]] Gpu loaded(const std::filesystem::path& file) const {
        GpuProfile profile = load_gpu_profile(file, folder_);
        ParameterSet parameters = load_parameters(folder_, profile);
        return {std::move(profile), std::move(parameters)};
    }

    std::filesystem::path folder_;
    std::map<std::string, std::optional<Gpu>> gpus_;  ///< addresses stay valid while it grows
    Notes notes_;
};

std::vector<std::filesystem::path> data_paths(const ValidateOptions& options) {
    if (!options.data.empty()) return {options.data.begin(), options.data.end()};
    const auto folder = options.common.data() / "validation_data";
    return {folder / "kernels", folder / "models"};
}

bool wanted(const std::vector<std::string>& names, std::string_view name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

void require_operators(const std::vector<std::string>& ops) {
    std::vector<std::string> known{"model"};
    for (const std::string_view op : measured_operators()) known.emplace_back(op);
    for (const auto& op : ops) {
        if (std::find(known.begin(), known.end(), op) != known.end()) continue;
        throw Error({.what = "unknown operator",
                     .key = "--op",
                     .found = op,
                     .expected = fmt::format("{}", fmt::join(known, ", ")),
                     .suggestion = did_you_mean(op, known)});
    }
}

/// Rows name GPUs as people do; groups go by the ids of profiles.
void name_by_id(Measurements& measurements, GpuShelf& shelf) {
    const auto rename = [&shelf](std::string& gpu) {
        if (const Gpu* known = shelf.find(gpu)) gpu = known->profile.id;
    };
    for (auto& row : measurements.kernels) rename(row.gpu);
    for (auto& row : measurements.models) rename(row.gpu);
}

/// Leaves the rows of the GPUs and operators asked for.
void keep_wanted(Measurements& measurements, const std::vector<std::string>& gpus, const std::vector<std::string>& ops) {
    std::erase_if(measurements.kernels, [&](const KernelRow& row) { return !wanted(gpus, row.gpu) || !wanted(ops, row.op_name); });
    std::erase_if(measurements.models, [&](const ModelRow& row) { return !wanted(gpus, row.gpu) || !wanted(ops, "model"); });
}

Predictors predictors(const ValidateOptions& options, Measurements& measurements, GpuShelf& shelf) {
    Predictors result;
    result.gpu = [&shelf](const std::string& id) { return shelf.find(id); };
    const auto host_file = options.common.data() / "validation_data" / "host_launch.toml";
    const auto stacks = load_host_stacks(host_file);
    mark_habits(stacks, measurements.kernels);
    result.host_launch = [stacks](const KernelRow& row) { return host_launch(stacks, row); };
    if (!measurements.models.empty())
        result.model = model_predictor(load_workload_catalogue(options.common.models()), load_software(options.common.gpus()));
    return result;
}

void require_nothing_left_out(const Validation& validation) {
    const std::size_t left_out = validation.skipped.size() + validation.impossible.size();
    if (left_out == 0) return;
    ErrorDetail detail{.what = fmt::format("{} rows cannot be used, and --strict is given", left_out)};
    if (!validation.skipped.empty()) {
        detail.file = validation.skipped.front().file;
        detail.line = validation.skipped.front().line;
        detail.found = validation.skipped.front().reason;
    }
    throw Error(std::move(detail));
}

void run(const ValidateOptions& options) {
    ValidationReportOptions report_options;
    report_options.by.clear();
    for (const auto& key : options.by) report_options.by.push_back(parse_group_key(key));
    report_options.worst = static_cast<std::size_t>(options.worst);

    GpuShelf shelf(options.common.gpus());
    const std::vector<std::filesystem::path> data = data_paths(options);
    require_apart("--rows", options.rows_file, data);
    require_apart("--output", options.common.output, data);
    require_apart("--output", options.common.output, {options.rows_file});
    require_operators(options.ops);
    std::vector<std::string> ids;
    for (const auto& gpu : options.gpus) ids.push_back(shelf.add(gpu));
    Measurements measurements = read_measurements(data);
    name_by_id(measurements, shelf);
    keep_wanted(measurements, ids, options.ops);
    const Predictors with = predictors(options, measurements, shelf);
    const Validation validation = judge(measurements, with);

    if (!options.rows_file.empty()) write_file_atomically(options.rows_file, rows_csv(validation, measurements, with.gpu));
    write(validation_report(validation, measurements, with.gpu, report_options), options.common);
    if (validation.rows.empty()) note("no row is left to be judged: does --data hold rows of the GPUs and operators asked for?");
    if (options.common.format == "csv" && !validation.skipped.empty())
        note(fmt::format("{} rows were skipped; tables and JSON list them with their reasons", validation.skipped.size()));
    if (options.strict) require_nothing_left_out(validation);
    shelf.notes().print();
}

}  // namespace

void add_validate_command(CLI::App& app) {
    auto options = std::make_shared<ValidateOptions>();
    CLI::App* command = app.add_subcommand("validate", "How far predictions are from measurements, and how far the data-sheet roofline is");
    command->add_option("--gpu", options->gpus, "Only rows of this GPU: id, alias or profile file; repeatable");
    command->add_option("--data", options->data, "Measurement files or folders (default: the shipped validation_data)");
    command->add_option("--op", options->ops, "Only these operators: gemm, attention, ..., or model; repeatable")->delimiter(',');
    command
        ->add_option("--by", options->by,
                     "Group by gpu, op, precision, model, source, software, family, metric, phase, file, function, execution")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--rows", options->rows_file, "Also write every row with its prediction to this CSV file");
    command->add_option("--worst", options->worst, "Rows to list with the terms of their prediction")
        ->capture_default_str()
        ->check(CLI::Range(0, 100000));
    command->add_flag("--strict", options->strict, "Fail when a row cannot be used");
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
