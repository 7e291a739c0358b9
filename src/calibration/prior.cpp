#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/coordinates.hpp"
#include "calibration/stage_solver.hpp"
#include "calibration/stages.hpp"
#include "io/toml_reader.hpp"
#include "roofcast/calibration.hpp"

namespace roofcast {

namespace {

/// What a fit file says of one stage.
struct StageRecord {
    double rows = 0;
    double noise = 0;  ///< standard deviation of relative errors: the loss is half of their square where they are small
};
using StageRecords = std::map<std::string, StageRecord, std::less<>>;

StageRecords stage_records(const toml::table& document, const std::string& file) {
    StageRecords records;
    TableReader root(document, file);
    TableReader fit = root.table("fit");
    for (TableReader& stage : fit.tables("stage")) {
        const std::string name = stage.text("name");
        const auto rows = static_cast<double>(stage.count("rows", 0));
        const double loss = stage.table("loss").number("after", non_negative);
        records[name] = {rows, std::sqrt(2 * loss)};
    }
    return records;
}

/// The standard error that a fit file states for a parameter.
std::optional<double> standard_error(const toml::table& document, const std::string& parameter) {
    toml::node_view<const toml::node> node{document};
    for (std::size_t begin = 0; begin <= parameter.size();) {
        const std::size_t dot = std::min(parameter.find('.', begin), parameter.size());
        node = node[parameter.substr(begin, dot - begin)];
        begin = dot + 1;
    }
    return node["standard_error"].value<double>();
}

bool names(const std::vector<std::string_view>& prefixes, const std::string& parameter) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return parameter.starts_with(p); });
}

/// The stage that fitted a parameter: the first that names it and had rows.
const StageRecord* record_of(const StageRecords& records, const std::string& parameter) {
    for (const Stage& stage : stages()) {
        const auto found = records.find(stage.name);
        if (found == records.end() || found->second.rows <= 0) continue;
        if (names(stage.parameters, parameter) || names(stage.otherwise, parameter)) return &found->second;
    }
    return nullptr;
}

/// Rows that a fitted value weighs as much as. Standard errors are those of a parameter alone: many that rows tell only together have large
/// ones, so that a quarter of the rows counts whatever they are.
double rows_behind(const StageRecord& record, std::optional<double> error, const ParameterSpec& spec, double value) {
    const double least = std::min(record.rows, std::max(firm_pull, record.rows / 4));
    if (!error || *error <= 0) return least;
    const double in_range = *error / unit_slope(spec, value);
    // The pull of k rows is k δ²/(2 · 0.3²) u², a normal distribution of that error σ²/2 u²/error².
    constexpr double delta = 0.1;
    const double rows = std::pow(record.noise * pull_spread / (delta * in_range), 2);
    return std::clamp(rows, least, record.rows);
}

std::string name_of(const ParameterSet& parameters, const GpuProfile& gpu, bool of_gpu) {
    if (of_gpu) return "shipped fit of " + gpu.id;
    const auto any = [&](Provenance wanted) {
        return std::find(parameters.provenance.begin(), parameters.provenance.end(), wanted) != parameters.provenance.end();
    };
    if (any(Provenance::architecture_fit)) return fmt::format("shipped fit of {}", gpu.architecture);
    return any(Provenance::pooled_fit) ? "shipped fit of all architectures" : "hand values";
}

}  // namespace

PriorFit prior_fit(ParameterSet parameters, const GpuProfile& gpu, const std::optional<std::filesystem::path>& fit_file) {
    PriorFit prior{
        .name = name_of(parameters, gpu, fit_file.has_value()), .of_gpu = fit_file.has_value(), .parameters = {}, .rows = {}, .noise = {}};
    toml::table document;
    StageRecords records;
    if (fit_file) {
        document = parse_toml_file(*fit_file);
        records = stage_records(document, fit_file->string());
    }
    for (std::size_t i = 0; i < parameter_specs().size(); ++i) {
        const ParameterSpec& spec = parameter_specs()[i];
        const Provenance from = parameters.provenance[i];
        const StageRecord* record = from == Provenance::gpu_fit ? record_of(records, spec.name) : nullptr;
        prior.noise.push_back(record != nullptr ? record->noise : 0);
        if (record != nullptr) {
            prior.rows.push_back(rows_behind(*record, standard_error(document, spec.name), spec, spec.get(parameters.values)));
        } else {
            prior.rows.push_back(from >= Provenance::pooled_fit ? firm_pull : kernel_pull);
        }
    }
    prior.parameters = std::move(parameters);
    return prior;
}

}  // namespace roofcast
