#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibration/stated_accuracy.hpp"
#include "report/data_reports.hpp"

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

using Errors = std::vector<ExpectedError>;

/// Every error with all that is known of it.
Fields<ExpectedError> error_details() {
    using Error = ExpectedError;
    return {{{"work", "work"}, &Error::work},
            {{"engine", "engine"}, &Error::engine},
            {{"models", "models"}, &Error::models},
            {{"basis", "basis"}, &Error::basis},
            {{"of_gpu", "rows of GPU"}, &Error::gpu},
            {{"of_architecture", "rows of architecture"}, &Error::architecture},
            {{"of_gpus", "GPUs"}, &Error::gpus},
            {{"fit", "fit"}, &Error::fit},
            {{"rows", "rows"}, &Error::rows},
            {{"mape_percent", "MAPE %", 3}, &Error::mape_percent},
            {{"median_ape_percent", "median %", 3}, &Error::median_ape_percent},
            {{"bias_percent", "bias %", 3}, &Error::bias_percent},
            {{"in_interval_percent", "in 80% interval", 3}, &Error::in_interval_percent},
            {{"roofline_mape_percent", "roofline MAPE %", 3}, &Error::roofline_mape_percent},
            {{"file", "file"}, &Error::file}};
}

/// The figures, and whose rows they are of, behind `names`.
Table error_table(std::string title, const Errors& errors, const Fields<ExpectedError>& names) {
    const Fields<ExpectedError> from{{{"from", "from", Show::always, true}, whose}};
    const auto figures = picked(error_details(), {"rows", "mape_percent", "median_ape_percent"});
    return table_of(std::move(title), errors, shown(names + figures + from, Show::always));
}

Table by_engine(const Errors& errors, std::string title) {
    const auto figure = [](const ExpectedError& e) {
        const WorkKind* kind = work_kind(e.work);
        return kind->brief.empty() ? kind->title : kind->brief;
    };
    return error_table(std::move(title), errors, {{{"engine", "engine"}, &ExpectedError::engine}, {{"work", "figure"}, figure}});
}

Errors all_errors(const NamedAccuracy& of) {
    Errors all;
    for (const auto* errors : {&of.accuracy.fits, &of.accuracy.engines, &of.accuracy.models})
        all.insert(all.end(), errors->begin(), errors->end());
    return all;
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
        const auto is_served = [&of](bool here) {
            return std::any_of(of.accuracy.engines.begin(), of.accuracy.engines.end(), [here](const ExpectedError& e) {
                return work_kind(e.work)->group == "served loads" && e.gpu.empty() != here;
            });
        };
        if (is_served(false) && !is_served(true)) lines.push_back(fmt::format("No served load of {} was measured.", of.gpu));
    }
    return lines;
}

/// Errors without a row have no mean.
auto mape_of(std::optional<AccuracySummary> StatedAccuracy::*errors) {
    return [errors](const StatedAccuracy& a) { return a.*errors && (a.*errors)->rows > 0 ? Cell((a.*errors)->mape_percent) : Cell(); };
}

}  // namespace

Report accuracy_report(const std::vector<NamedAccuracy>& gpus) {
    const Fields<ExpectedError> work{{{"work", "work"}, [](const ExpectedError& e) { return work_kind(e.work)->title; }}};
    Report report;
    report.document["accuracy"] = Json::array();
    for (const NamedAccuracy& of : gpus) {
        const std::string whom = gpus.size() == 1 ? "" : of.gpu + ": ";
        const Fields<ExpectedError> gpu{{{"gpu", "GPU"}, [&of](const ExpectedError&) { return of.gpu; }}};
        const Errors errors = all_errors(of);
        append(report.csv, table_of({}, errors, gpu + error_details()));
        report.document["accuracy"].push_back({{"gpu", of.gpu},
                                               {"name", of.name},
                                               {"architecture", of.architecture},
                                               {"fit", name(of.accuracy.fit)},
                                               {"fit_date", text_cell(of.accuracy.fit_date)},
                                               {"errors", as_json(table_of({}, errors, error_details()))}});
        report.before.push_back(fmt::format("{} ({})", of.name, of.gpu));
        report.before.push_back(status(of));
        add_table(report.tables, error_table(whom + "Error on rows that no fit saw", of.accuracy.fits, work));
        add_table(report.tables, by_engine(of.accuracy.engines, whom + "By engine: rows in no fit"));
        add_table(report.tables, by_engine(of.accuracy.models, whom + fmt::format("Models of {}", of.models)));
        if (!of.models.empty() && of.accuracy.models.empty())
            report.after.push_back(fmt::format("No row of a model of {} was measured.", of.models));
    }
    add_lines(report.after, notes(gpus));
    return report;
}

Report fit_summary_report(const std::vector<FitSummary>& fits) {
    using Stated = StatedAccuracy;
    const Fields<Stated> fields{
        {{"gpu", "GPU", Show::always}, &Stated::gpu},
        {{"op", "operator class", Show::always}, &Stated::op},
        {{"precision", "precision", Show::always}, &Stated::precision},
        {{"rows", "rows", Show::always}, [](const Stated& a) { return a.in_fit ? a.in_fit->rows : a.left_out->rows; }},
        {{"in_fit_mape_percent", "in fit", 3}, mape_of(&Stated::in_fit)},
        {{"cross_validated_mape_percent", "cross-validated", 3, Show::always}, mape_of(&Stated::cross_validated)},
        {{"never_measured_mape_percent", "GPU never measured", 3, Show::always}, mape_of(&Stated::left_out)},
        {{"never_measured_fit", "fit of other GPUs", Show::wide}, &Stated::pooled}};
    return table_report("accuracy", table_of("Accuracy that the fit files state: MAPE in percent", stated_accuracy(fits), fields));
}

Report accuracy_by_kind_report(const std::vector<FitSummary>& fits) {
    using Kind = KindAccuracy;
    const Fields<Kind> fields{
        {{"kind", "kind of work", Show::always}, &Kind::group},
        {{"measured_rows", "rows"}, [](const Kind& k) { return k.measured.rows; }},
        {{"measured_mape_percent", "GPU measured", 3, Show::always}, [](const Kind& k) { return k.measured.mean(); }},
        {{"unseen_rows", "rows"}, [](const Kind& k) { return k.unseen.rows; }},
        {{"unseen_mape_percent", "GPU never measured", 3, Show::always}, [](const Kind& k) { return k.unseen.mean(); }}};
    return table_report("accuracy", table_of("Error on rows that the fit did not see: MAPE in percent", accuracy_by_kind(fits), fields));
}

}  // namespace roofcast
