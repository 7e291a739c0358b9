#include "report/accuracy_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "document/field.hpp"

namespace roofcast {

namespace {

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

using Errors = std::vector<ExpectedError>;

const Fields<ExpectedError>& brief_fields() {
    using Error = ExpectedError;
    static const Fields<Error> fields{{{"rows", "rows", 4, Show::always}, [](const Error& e) { return e.rows; }},
                                      {{"mape_percent", "MAPE %", 3, Show::always}, [](const Error& e) { return e.mape_percent; }},
                                      {{"median_ape_percent", "median %", 3, Show::always},
                                       [](const Error& e) { return cell_if(e.median_ape_percent, std::identity{}); }},
                                      {{"from", "from", 4, Show::always, true}, [](const Error& e) { return whose(e); }}};
    return fields;
}

Table by_work(const Errors& errors, const std::string& title) {
    const Fields<ExpectedError> fields{{{"work", "work", 4, Show::always}, [](const ExpectedError& e) { return title_of(e); }}};
    return table_of<ExpectedError>(title, errors, fields + brief_fields());
}

Table by_engine(const Errors& errors, const std::string& title) {
    const Fields<ExpectedError> fields{{{"engine", "engine", 4, Show::always}, [](const ExpectedError& e) { return e.engine; }},
                                       {{"work", "figure", 4, Show::always}, [](const ExpectedError& e) { return brief_title_of(e); }}};
    return table_of<ExpectedError>(title, errors, fields + brief_fields());
}

/// Every error with all that is known of it.
const Fields<ExpectedError>& error_details() {
    using Error = ExpectedError;
    const auto number = [](std::optional<double> Error::*value) {
        return [value](const Error& e) { return cell_if(e.*value, std::identity{}); };
    };
    static const Fields<Error> fields{{{"work", "work"}, [](const Error& e) { return e.work; }},
                                      {{"engine", "engine"}, [](const Error& e) { return e.engine; }},
                                      {{"models", "models"}, [](const Error& e) { return e.models; }},
                                      {{"basis", "basis"}, [](const Error& e) { return std::string(name(e.basis)); }},
                                      {{"of_gpu", "rows of GPU"}, [](const Error& e) { return e.gpu; }},
                                      {{"of_architecture", "rows of architecture"}, [](const Error& e) { return e.architecture; }},
                                      {{"of_gpus", "GPUs"}, [](const Error& e) { return e.gpus; }},
                                      {{"fit", "fit"}, [](const Error& e) { return std::string(name(e.fit)); }},
                                      {{"rows", "rows"}, [](const Error& e) { return e.rows; }},
                                      {{"mape_percent", "MAPE %", 3}, [](const Error& e) { return e.mape_percent; }},
                                      {{"median_ape_percent", "median %", 3}, number(&Error::median_ape_percent)},
                                      {{"bias_percent", "bias %", 3}, number(&Error::bias_percent)},
                                      {{"in_interval_percent", "in 80% interval", 3}, number(&Error::in_interval_percent)},
                                      {{"roofline_mape_percent", "roofline MAPE %", 3}, number(&Error::roofline_mape_percent)},
                                      {{"file", "file"}, [](const Error& e) { return e.file; }}};
    return fields;
}

Table all_errors(const NamedAccuracy& of) {
    Errors all;
    for (const auto* errors : {&of.accuracy.fits, &of.accuracy.engines, &of.accuracy.models})
        all.insert(all.end(), errors->begin(), errors->end());
    return table_of<ExpectedError>({}, all, error_details());
}

/// How far fits know the GPU.
std::string status(const NamedAccuracy& of) {
    const std::string& date = of.accuracy.fit_date;
    if (of.accuracy.fit == FittedTo::own) return date.empty() ? "Measured." : fmt::format("Measured, fit of {}.", date);
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
        if (of.accuracy.fit == FittedTo::none && of.accuracy.fit_date.empty())
            lines.push_back(fmt::format(
                "No GPU of the architecture of {} was measured. These are errors of other architectures. Expect larger ones.", of.gpu));
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
    report.csv.columns = columns_of(error_details());
    report.csv.columns.insert(report.csv.columns.begin(), {"gpu", "GPU"});
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
