#include "report/accuracy_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace roofcast {

namespace {

Cell optional_cell(const std::optional<double>& value) {
    return value ? Cell(*value) : Cell();
}

std::string counted(std::int64_t gpus, const std::string& architecture) {
    const std::string of = architecture.empty() ? "" : architecture + " ";
    return fmt::format("{} {}GPU{}", gpus, of, gpus == 1 ? "" : "s");
}

/// Whose rows tell an error, in at most 28 characters.
std::string whose(const ExpectedError& e) {
    constexpr std::array<std::string_view, 3> known{"measured", "few rows", "unseen"};
    const std::string gpus = counted(e.gpus, e.architecture);
    switch (e.basis) {
        case AccuracyBasis::cross_validated:
            return "this GPU, cross-validated";
        case AccuracyBasis::gpu_left_out:
            return "this GPU, left out of fits";
        case AccuracyBasis::architecture_left_out:
        case AccuracyBasis::all_left_out:
            return gpus + ", left out";
        case AccuracyBasis::fitted:
            return e.gpu.empty() ? gpus + ", in fits" : "this GPU, in the fit";
        case AccuracyBasis::unseen:
            break;
    }
    if (!e.gpu.empty()) return "this GPU";
    if (work_kind(e.work)->group == "memory") return gpus;
    return fmt::format("{}, {}", gpus, known[static_cast<std::size_t>(e.fit)]);
}

std::string title_of(const ExpectedError& e) {
    return std::string(work_kind(e.work)->title);
}

std::string brief_title_of(const ExpectedError& e) {
    const WorkKind* kind = work_kind(e.work);
    return std::string(kind->brief.empty() ? kind->title : kind->brief);
}

bool is_whole_model(const ExpectedError& e) {
    const WorkKind* kind = work_kind(e.work);
    return !kind->classes.empty() && kind->classes.front().starts_with("model_");
}

Table by_work(std::vector<ExpectedError> errors, const std::string& title) {
    // Whole models come first: few ask for a kernel.
    std::stable_partition(errors.begin(), errors.end(), is_whole_model);
    Table table{
        title,
        {{"work", "work"}, {"rows", "rows"}, {"mape_percent", "MAPE %", 3}, {"median_ape_percent", "median %", 3}, {"from", "from"}},
        {}};
    for (const ExpectedError& e : errors)
        table.rows.push_back({title_of(e), e.rows, e.mape_percent, optional_cell(e.median_ape_percent), whose(e)});
    return table;
}

Table by_engine(const std::vector<ExpectedError>& errors, const std::string& title) {
    Table table{title,
                {{"engine", "engine"},
                 {"work", "figure"},
                 {"rows", "rows"},
                 {"mape_percent", "MAPE %", 3},
                 {"median_ape_percent", "median %", 3},
                 {"from", "from"}},
                {}};
    for (const ExpectedError& e : errors)
        table.rows.push_back({e.engine, brief_title_of(e), e.rows, e.mape_percent, optional_cell(e.median_ape_percent), whose(e)});
    return table;
}

/// Every error with all that is known of it.
Table all_columns() {
    return {"",
            {{"work", ""},
             {"engine", ""},
             {"models", ""},
             {"basis", ""},
             {"of_gpu", ""},
             {"of_architecture", ""},
             {"of_gpus", ""},
             {"fit", ""},
             {"rows", ""},
             {"mape_percent", ""},
             {"median_ape_percent", ""},
             {"bias_percent", ""},
             {"in_interval_percent", ""},
             {"roofline_mape_percent", ""},
             {"file", ""}},
            {}};
}

void add(Table& table, const std::vector<ExpectedError>& errors) {
    for (const ExpectedError& e : errors) {
        table.rows.push_back({e.work, e.engine, e.models, std::string(name(e.basis)), e.gpu, e.architecture, e.gpus,
                              std::string(name(e.fit)), e.rows, e.mape_percent, optional_cell(e.median_ape_percent),
                              optional_cell(e.bias_percent), optional_cell(e.in_interval_percent), optional_cell(e.roofline_mape_percent),
                              e.file});
    }
}

Table all_errors(const NamedAccuracy& of) {
    Table table = all_columns();
    for (const auto* errors : {&of.accuracy.fits, &of.accuracy.engines, &of.accuracy.models}) add(table, *errors);
    return table;
}

/// How far fits know the GPU.
std::string status(const NamedAccuracy& of) {
    const std::string& date = of.accuracy.fit_date;
    if (of.accuracy.fit == FittedTo::own) return fmt::format("Measured, fit of {}.", date);
    if (of.accuracy.fit == FittedTo::architecture) return fmt::format("Few rows measured, in the {} fit of {}.", of.architecture, date);
    const std::string_view known = of.accuracy.has_unseen_rows ? "Measured rows are in no fit." : "Never measured.";
    if (date.empty()) return fmt::format("{} No {} GPU is in a fit.", known, of.architecture);
    return fmt::format("{} Predictions use the {} fit of {}.", known, of.architecture, date);
}

bool has_basis(const std::vector<NamedAccuracy>& gpus, std::initializer_list<AccuracyBasis> wanted) {
    return std::any_of(gpus.begin(), gpus.end(), [&](const NamedAccuracy& of) {
        const auto has = [&](const ExpectedError& e) { return std::find(wanted.begin(), wanted.end(), e.basis) != wanted.end(); };
        return std::any_of(of.accuracy.fits.begin(), of.accuracy.fits.end(), has) ||
               std::any_of(of.accuracy.models.begin(), of.accuracy.models.end(), has);
    });
}

std::vector<std::string> notes(const std::vector<NamedAccuracy>& gpus) {
    std::vector<std::string> lines{"APE is |predicted - measured| / measured; MAPE is its mean, median its median."};
    if (has_basis(gpus, {AccuracyBasis::cross_validated}))
        lines.emplace_back("Cross-validated: the GPU's own rows, predicted by fits that did not see them.");
    if (has_basis(gpus, {AccuracyBasis::gpu_left_out, AccuracyBasis::architecture_left_out, AccuracyBasis::all_left_out}))
        lines.emplace_back("Left out: rows of a GPU, predicted by a fit to other GPUs.");
    if (has_basis(gpus, {AccuracyBasis::fitted})) lines.emplace_back("In the fit: the fit saw these rows. Expect more on others.");
    for (const NamedAccuracy& of : gpus) {
        const auto served = [](const ExpectedError& e) { return work_kind(e.work)->group == "served loads"; };
        const auto& engines = of.accuracy.engines;
        const bool elsewhere =
            std::any_of(engines.begin(), engines.end(), [&](const ExpectedError& e) { return served(e) && e.gpu.empty(); });
        const bool here = std::any_of(engines.begin(), engines.end(), [&](const ExpectedError& e) { return served(e) && !e.gpu.empty(); });
        if (elsewhere && !here) lines.push_back(fmt::format("No served load of {} was measured.", of.gpu));
    }
    return lines;
}

nlohmann::ordered_json as_object(const NamedAccuracy& of) {
    nlohmann::ordered_json object{{"gpu", of.gpu}, {"name", of.name}, {"architecture", of.architecture}};
    object["fit"] = name(of.accuracy.fit);
    object["fit_date"] = of.accuracy.fit_date.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(of.accuracy.fit_date);
    object["errors"] = as_json(all_errors(of));
    return object;
}

}  // namespace

Report accuracy_report(const std::vector<NamedAccuracy>& gpus) {
    Report report;
    report.document["accuracy"] = nlohmann::ordered_json::array();
    report.csv = all_columns();
    report.csv.columns.insert(report.csv.columns.begin(), {"gpu", ""});
    for (const NamedAccuracy& of : gpus) {
        const std::string whom = gpus.size() == 1 ? "" : of.gpu + ": ";
        report.document["accuracy"].push_back(as_object(of));
        report.before.push_back(fmt::format("{} ({})", of.name, of.gpu));
        report.before.push_back(status(of));
        for (const auto& row : all_errors(of).rows) {
            report.csv.rows.push_back({of.gpu});
            report.csv.rows.back().insert(report.csv.rows.back().end(), row.begin(), row.end());
        }
        if (!of.accuracy.fits.empty()) report.tables.push_back(by_work(of.accuracy.fits, whom + "Error on rows that no fit saw"));
        if (!of.accuracy.engines.empty()) report.tables.push_back(by_engine(of.accuracy.engines, whom + "By engine: rows in no fit"));
        if (!of.accuracy.models.empty())
            report.tables.push_back(by_engine(of.accuracy.models, whom + fmt::format("Models of {}", of.models)));
        if (!of.models.empty() && of.accuracy.models.empty())
            report.after.push_back(fmt::format("No row of a model of {} was measured.", of.models));
    }
    for (auto& line : notes(gpus)) report.after.push_back(std::move(line));
    return report;
}

}  // namespace roofcast
