#include "calibration/stated_accuracy.hpp"
#include "document/field.hpp"
#include "report/calibration_report.hpp"

namespace roofcast {

namespace {

/// Errors without a row have no mean.
auto mape_of(std::optional<AccuracySummary> StatedAccuracy::*errors) {
    return [errors](const StatedAccuracy& a) { return a.*errors && (a.*errors)->rows > 0 ? Cell((a.*errors)->mape_percent) : Cell(); };
}

}  // namespace

Report fit_summary_report(const std::vector<FitSummary>& fits) {
    using Stated = StatedAccuracy;
    static const Fields<Stated> fields{
        {{"gpu", "GPU", 4, Show::always}, &Stated::gpu},
        {{"op", "operator class", 4, Show::always}, &Stated::op},
        {{"precision", "precision", 4, Show::always}, &Stated::precision},
        {{"rows", "rows", 4, Show::always}, [](const Stated& a) { return a.in_fit ? a.in_fit->rows : a.left_out->rows; }},
        {{"in_fit_mape_percent", "in fit", 3}, mape_of(&Stated::in_fit)},
        {{"cross_validated_mape_percent", "cross-validated", 3, Show::always}, mape_of(&Stated::cross_validated)},
        {{"never_measured_mape_percent", "GPU never measured", 3, Show::always}, mape_of(&Stated::left_out)},
        {{"never_measured_fit", "fit of other GPUs", 4, Show::wide}, &Stated::pooled}};
    return table_report("accuracy", table_of("Accuracy that the fit files state: MAPE in percent", stated_accuracy(fits), fields));
}

Report accuracy_by_kind_report(const std::vector<FitSummary>& fits) {
    using Kind = KindAccuracy;
    static const Fields<Kind> fields{
        {{"kind", "kind of work", 4, Show::always}, &Kind::group},
        {{"measured_rows", "rows"}, [](const Kind& k) { return k.measured.rows; }},
        {{"measured_mape_percent", "GPU measured", 3, Show::always}, [](const Kind& k) { return k.measured.mean(); }},
        {{"unseen_rows", "rows"}, [](const Kind& k) { return k.unseen.rows; }},
        {{"unseen_mape_percent", "GPU never measured", 3, Show::always}, [](const Kind& k) { return k.unseen.mean(); }}};
    return table_report("accuracy", table_of("Error on rows that the fit did not see: MAPE in percent", accuracy_by_kind(fits), fields));
}

}  // namespace roofcast
