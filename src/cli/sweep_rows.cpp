#include "cli/sweep_rows.hpp"

#include <algorithm>
#include <iterator>

#include "cli/option_names.hpp"
#include "io/parallel.hpp"
#include "report/run_parts.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

/// Every engine must run in one of the execution modes asked for; a version without data is noted.
void require_engines(const std::vector<SweepAxis>& axes, const SoftwareStacks& software, Notes& notes) {
    const auto values = [&axes](const std::string& option) {
        return std::find_if(axes.begin(), axes.end(), [&](const SweepAxis& a) { return a.option == option; })->values;
    };
    std::vector<std::string> ways = values("--execution");
    if (ways.empty()) ways.push_back(RunOptions{}.execution);
    for (const std::string& engine : values("--software")) {
        const auto runs = [&](const std::string& way) { return software.engine(*parse_execution(way), engine) != nullptr; };
        const auto way = std::find_if(ways.begin(), ways.end(), runs);
        RunOptions options;
        options.software = engine;
        options.execution = way == ways.end() ? ways.front() : *way;
        require_software(options, software, notes);
    }
}

/// Every value of a technique must be one, beside the first values of the others: what speculative decoding needs is given together.
void check_techniques(const SweepInputs& inputs) {
    const auto set = [](RunOptions& run, const SweepAxis& axis, const std::string& value) { axis.set(run, value, axis.option.c_str()); };
    RunOptions first;
    for (const SweepAxis& axis : inputs.axes) {
        if (axis.technique && !axis.values.empty()) set(first, axis, axis.values.front());
    }
    for (const SweepAxis& axis : inputs.axes) {
        if (!axis.technique) continue;
        for (const std::string& value : axis.values) {
            RunOptions run = first;
            set(run, axis, value);
            if (!run.techniques.draft.empty()) run.techniques.draft_model = inputs.drafts.at(run.techniques.draft);
            static_cast<void>(techniques(run.techniques, {}));
        }
    }
}

std::vector<std::int64_t> lengths(const SweepInputs& inputs) {
    std::vector<std::int64_t> all{static_cast<std::int64_t>(inputs.models.size()), static_cast<std::int64_t>(inputs.gpus.size())};
    for (const SweepAxis& axis : inputs.axes) all.push_back(axis.length());
    return all;
}

SweepPoint predicted(const RunOptions& run, const Workload& model, const Gpu& gpu, const SweepInputs& inputs) {
    SweepPoint point;
    try {
        require_software(run, inputs.software);
        point = sweep_point(model, gpu, run_request(run, model, &gpu.profile), inputs.software);
    } catch (const Error& e) {
        point.refusal = e.detail();
    }
    if (point.refusal) point.reason = Error(inputs.worded(*point.refusal)).what();
    return point;
}

}  // namespace

void prepare_sweep(SweepInputs& inputs, const std::filesystem::path& models_folder, Notes& notes) {
    read_values(inputs.axes);
    require_engines(inputs.axes, inputs.software, notes);
    for (const SweepAxis& axis : inputs.axes) {
        if (!axis.values.empty() && !is_sweep_column(axis.key)) inputs.extra.push_back(axis.key);
        if (axis.option != "--draft") continue;
        for (const std::string& id : axis.values) inputs.drafts[id] = load_draft(models_folder, id);
    }
    check_techniques(inputs);
}

SweepInputs load_sweep(const std::vector<std::string>& gpus, const std::vector<std::string>& models, std::vector<SweepAxis> axes,
                       const CommonOptions& common, Notes& notes) {
    SweepInputs inputs;
    inputs.worded = [command = common.command](ErrorDetail detail) { return with_options(std::move(detail), *command); };
    inputs.axes = std::move(axes);
    const auto gpus_folder = common.gpus(), models_folder = common.models();
    inputs.software = load_software(common.software());
    prepare_sweep(inputs, models_folder, notes);
    for (const std::string& id : list_values(gpus, "--gpu")) {
        GpuProfile profile = load_chosen_gpu(gpus_folder, id, notes);
        ParameterSet parameters = load_parameters(gpus_folder, profile, common.user_fits());
        inputs.gpus.push_back({std::move(profile), std::move(parameters)});
    }
    for (const std::string& id : list_values(models, "--model")) inputs.models.push_back(find_workload(models_folder, id));
    return inputs;
}

Sweep::Sweep(const SweepInputs& inputs) : inputs_(inputs), grid_(lengths(inputs)) {
    for (const SweepAxis& axis : inputs.axes) {
        if (axis.scales) group_ *= axis.length();
    }
}

std::vector<SweepRow> Sweep::rows(std::int64_t first) const {
    std::vector<SweepRow> rows;
    std::vector<SweepPoint> points;
    for (std::int64_t i = first; i < first + group_; ++i) {
        rows.push_back(row(grid_.point(i)));
        points.push_back(std::move(rows.back().point));
    }
    relate(points);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].point = std::move(points[i]);
    return rows;
}

std::vector<SweepRow> Sweep::rows_between(std::int64_t first, std::int64_t end, std::size_t threads) const {
    const std::int64_t start = first / group_ * group_, groups = (end - start + group_ - 1) / group_;
    std::vector<std::vector<SweepRow>> parts(static_cast<std::size_t>(groups));
    in_parallel(
        parts.size(), [&](std::size_t i) { parts[i] = rows(start + static_cast<std::int64_t>(i) * group_); }, threads);
    std::vector<SweepRow> all;
    for (auto& part : parts) all.insert(all.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
    all.erase(all.begin() + (end - start), all.end());
    all.erase(all.begin(), all.begin() + (first - start));
    return all;
}

SweepRow Sweep::row(const std::vector<std::size_t>& at) const {
    constexpr std::size_t before_axes = 2;  // model and GPU
    const Workload& model = inputs_.models[at[0]];
    const Gpu& gpu = inputs_.gpus[at[1]];
    SweepRow row{.model = model.id, .gpu = gpu.profile.id, .written = {}, .point = {}, .assumed = assumed_keys(gpu.profile.assumed)};
    RunOptions run;
    for (std::size_t i = 0; i < inputs_.axes.size(); ++i) {
        const SweepAxis& axis = inputs_.axes[i];
        if (axis.values.empty()) continue;
        const std::string& value = row.written[axis.key] = axis.values[at[i + before_axes]];
        axis.set(run, value, axis.option.c_str());
    }
    if (!run.techniques.draft.empty()) run.techniques.draft_model = inputs_.drafts.at(run.techniques.draft);
    row.point = predicted(run, model, gpu, inputs_);
    return row;
}

}  // namespace roofcast::cli
