#include "io/toml_reader.hpp"
#include "roofcast/calibration.hpp"

namespace roofcast {

namespace {

std::optional<AccuracySummary> accuracy(TableReader& group, std::string_view key) {
    if (!group.has(key)) return std::nullopt;
    TableReader figures = group.table(key);
    AccuracySummary a;
    a.rows = figures.count("rows");
    a.mape_percent = figures.number("mape_percent", non_negative);
    a.median_ape_percent = figures.number("median_ape_percent", non_negative);
    a.p90_ape_percent = figures.number("p90_ape_percent", non_negative);
    a.bias_percent = figures.number("bias_percent");
    a.accuracy_percent = 100 - a.mape_percent;
    figures.finish();
    return a;
}

}  // namespace

FitSummary load_fit_summary(const std::filesystem::path& fit_file) {
    const toml::table document = parse_toml_file(fit_file);
    TableReader root(document, fit_file.string());
    TableReader fit = root.table("fit");
    FitSummary summary;
    const std::filesystem::path name = fit_file.filename(), folder = fit_file.parent_path().filename();
    summary.file = (is_of_architecture(fit_file) ? folder / name : name).generic_string();
    summary.gpus = fit.texts_if("gpus");
    summary.date = fit.text_if("date").value_or("");
    TableReader all = fit.table("accuracy");
    for (TableReader& group : all.tables("group")) {
        FitAccuracy figures;
        figures.gpu = group.text("gpu");
        figures.op = group.text("op");
        figures.precision = group.text("precision");
        figures.fit = accuracy(group, "in_fit").value_or(AccuracySummary{});
        figures.cross_validated = accuracy(group, "cross_validated");
        figures.held_out = accuracy(group, "held_out");
        figures.gpu_left_out = accuracy(group, "gpu_left_out");
        group.finish();
        summary.groups.push_back(std::move(figures));
    }
    return summary;
}

}  // namespace roofcast
