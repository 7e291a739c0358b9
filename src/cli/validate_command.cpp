#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "charts/charts.hpp"
#include "cli/command.hpp"
#include "cli/measured_rows.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "report/data_reports.hpp"
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
    GpuShelf(const std::filesystem::path& folder, std::filesystem::path user_fits, const SoftwareStacks& software)
        : folder_(folder), user_fits_(std::move(user_fits)), software_(&software), names_(folder) {}

    /// Loads what the user named and returns its id.
    std::string add(const std::string& id_or_file) {
        const GpuChoice choice = choose_gpu(folder_, id_or_file);
        Gpu gpu = loaded(choice.file);
        notes_.add(choice, gpu.profile);
        std::string id = gpu.profile.id;
        names_.add(gpu.profile);
        gpus_.insert_or_assign(id, std::move(gpu));
        return id;
    }

    /// The id of the profile that a row's name stands for; the name itself where there is none, which is said when the row is judged.
    std::string id(const std::string& name) { return names_.id(name).value_or(name); }

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
        notes_.add(names_.note(id));
        const auto& placed = gpus_.emplace(id, choice ? std::optional{loaded(choice->file)} : std::nullopt).first->second;
        return placed ? &*placed : nullptr;
    }

    [[nodiscard]] const Notes& notes() const { return notes_; }

private:
    [[nodiscard]] Gpu loaded(const std::filesystem::path& file) const {
        GpuProfile profile = load_gpu_profile(file, folder_);
        ParameterSet parameters = load_parameters(folder_, profile, user_fits_);
        return {with_libraries(std::move(profile), *software_), std::move(parameters)};
    }

    std::filesystem::path folder_, user_fits_;
    const SoftwareStacks* software_;
    std::map<std::string, std::optional<Gpu>> gpus_;  ///< addresses stay valid while it grows
    GpuNames names_;                                  ///< of rows
    Notes notes_;
};

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

/// Leaves the rows of the GPUs and operators asked for. Rows name GPUs as people do; groups go by the ids of profiles, of which only those
/// of rows that stay are read.
void keep_wanted(Measurements& measurements, GpuShelf& shelf, const std::vector<std::string>& gpus, const std::vector<std::string>& ops) {
    const auto leave = [&](auto& rows, auto op_of) {
        std::erase_if(rows, [&](auto& row) {
            if (!wanted(ops, op_of(row))) return true;
            row.gpu = shelf.id(row.gpu);
            return !wanted(gpus, row.gpu);
        });
    };
    leave(measurements.kernels, [](const KernelRow& row) -> std::string_view { return row.op_name; });
    leave(measurements.models,
          [](const ModelRow& row) -> std::string_view { return row.block ? std::string_view(row.block->op_name) : "model"; });
}

Predictors predictors(const ValidateOptions& options, Measurements& measurements, GpuShelf& shelf, const SoftwareStacks& software) {
    Predictors result;
    result.gpu = [&shelf](const std::string& id) { return shelf.find(id); };
    const auto host_file = options.common.software() / "hosts.toml";
    const MeasuringHosts hosts = load_measuring_hosts(host_file);
    mark_rows(software, hosts, measurements.kernels, [&shelf](const std::string& id) -> const GpuProfile* {
        const Gpu* gpu = shelf.find(id);
        return gpu == nullptr ? nullptr : &gpu->profile;
    });
    result.host_launch = [hosts](const KernelRow& row) { return host_launch(hosts, row); };
    if (!measurements.models.empty()) {
        result.model = model_predictor(workloads_of(measurements.models, options.common.models()), software, hosts);
    }
    return result;
}

/// Shows how many whole models are judged: a row of a server under load takes about a second.
Validation judged(const Measurements& measurements, Predictors with) {
    Progress progress(static_cast<std::int64_t>(measurements.models.size()));
    std::int64_t done = 0;
    if (with.model) {
        with.model = [&progress, &done, predict = std::move(with.model)](const ModelRow& row, const Gpu& gpu) {
            progress.show(done++);
            return predict(row, gpu);
        };
    }
    return judge(measurements, with);
}

/// Rows that were skipped or set aside.
std::size_t unusable(const Validation& validation) {
    return static_cast<std::size_t>(validation.skipped.rows()) + validation.impossible.size();
}

void require_nothing_left_out(const Validation& validation) {
    const std::size_t left_out = unusable(validation);
    if (left_out == 0) return;
    ErrorDetail detail{.what = fmt::format("--strict: {} rows cannot be used", left_out)};
    if (!validation.skipped.empty()) {
        const SkippedReason& first = validation.skipped.reasons().front();
        detail.file = first.file;
        detail.line = first.line;
        detail.found = first.reason;
    }
    throw Error(std::move(detail));
}

void run(const ValidateOptions& options) {
    ValidationReportOptions report_options;
    report_options.by.clear();
    for (const auto& key : options.by) report_options.by.push_back(parse_group_key(key));
    report_options.worst = static_cast<std::size_t>(options.worst);

    const SoftwareStacks software = load_software(options.common.software());
    GpuShelf shelf(options.common.gpus(), options.common.user_fits(), software);
    const std::vector<std::filesystem::path> data = data_paths(options.data, options.common);
    const std::vector<std::filesystem::path> read = measurement_files(data);
    require_output("--rows", options.rows_file, options.common);
    require_apart("--rows", options.rows_file, read);
    require_apart("--output", options.common.output, read);
    require_apart("--output", options.common.output, {options.rows_file});
    require_operators(options.ops);
    std::vector<std::string> ids;
    for (const auto& gpu : options.gpus) ids.push_back(shelf.add(gpu));
    Measurements measurements = read_measurements(data);
    keep_wanted(measurements, shelf, ids, options.ops);
    const Validation validation = judged(measurements, predictors(options, measurements, shelf, software));

    if (!options.rows_file.empty()) write_file(options.rows_file, rows_csv(validation, measurements));
    write(with_charts(validation_report(validation, measurements, report_options),
                      validation_charts(validation, measurements, report_options.by)),
          options.common);
    if (validation.rows.empty()) {
        const std::size_t lost = unusable(validation);
        const bool filtered = !options.gpus.empty() || !options.ops.empty();
        note(lost == 0 ? std::string("no row is left to compare: --data has no row of these GPUs and operators")
             : filtered
                 ? fmt::format("no row is left to compare: {} were skipped or set aside, and the others are of other GPUs or operators",
                               lost)
                 : std::string("no row is left to compare: all were skipped or set aside"),
             options.common);
    }
    if (options.common.format == "csv" && !validation.skipped.empty())
        note(fmt::format("{} rows were skipped; --format table and json list the reasons", validation.skipped.rows()), options.common);
    if (options.strict) require_nothing_left_out(validation);
    shelf.notes().print(options.common);
    end_with(validation.rows.empty() ? ExitCode::no : ExitCode::answered);
}

}  // namespace

void add_validate_command(CLI::App& app) {
    auto options = std::make_shared<ValidateOptions>();
    CLI::App* command = app.add_subcommand("validate");
    command->add_option("-g,--gpu", options->gpus, "Use only rows of this GPU: id, alias or profile file. Several are allowed")
        ->delimiter(',');
    command->add_option("--data", options->data, "Measurement files or folders (default: the shipped validation_data/)");
    command->add_option("--op", options->ops, "Use only rows of these operators, such as gemm or attention, or model for whole models")
        ->delimiter(',');
    command
        ->add_option("--by", options->by,
                     "Group by gpu, op, precision, model, source, software, family, metric, phase, file, function, execution, bound, "
                     "kernel or weight_precision")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--rows", options->rows_file, "CSV file for every row with its prediction");
    command->add_option("--worst", options->worst, "Number of rows with the largest errors to list")
        ->capture_default_str()
        ->check(CLI::Range(0, 100000));
    command->add_flag("--strict", options->strict, "Exit with code 2 when a row cannot be used");
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
