#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "document/field.hpp"
#include "report/calibration_report.hpp"
#include "roofcast/accuracy.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

namespace {

/// One line of the table. A GPU may have been left out of the fit of its architecture and of that of all: the former counts.
struct Line {
    const FitAccuracy* own = nullptr;       ///< fit of the GPU
    const FitAccuracy* left_out = nullptr;  ///< pooled fit with `gpu_left_out`
    std::string pooled;                     ///< its file
};
using LineKey = std::tuple<std::string, std::string, std::string>;

std::map<LineKey, Line> lines_of(const std::vector<FitSummary>& fits) {
    std::map<LineKey, Line> lines;
    for (const FitSummary& fit : fits) {
        const bool is_default = fit.file == architecture_fit_file({}, default_architecture);
        for (const FitAccuracy& group : fit.groups) {
            Line& line = lines[{group.gpu, group.op, group.precision}];
            if (!is_of_architecture(fit.file)) line.own = &group;
            if (!group.gpu_left_out || (is_default && line.left_out != nullptr)) continue;
            line.left_out = &group;
            line.pooled = fit.file;
        }
    }
    return lines;
}

/// Titles of the coarse kinds of work, in their order.
std::vector<std::string_view> groups_of_work() {
    std::vector<std::string_view> groups;
    for (const WorkKind& kind : work_kinds()) {
        if (groups.empty() || groups.back() != kind.group) groups.push_back(kind.group);
    }
    return groups;
}

/// Mean of MAPEs, each weighted with its rows.
struct WeightedMape {
    std::int64_t rows = 0;
    double sum = 0;
    void add(const std::optional<AccuracySummary>& a) {
        if (!a || a->rows == 0) return;
        rows += a->rows;
        sum += a->mape_percent * static_cast<double>(a->rows);
    }
    [[nodiscard]] Cell mean() const { return rows > 0 ? Cell(sum / static_cast<double>(rows)) : Cell(); }
};

Cell mape(const std::optional<AccuracySummary>& a) {
    return a && a->rows > 0 ? Cell(a->mape_percent) : Cell();
}

Report report_of(Table table) {
    Report report;
    report.document["accuracy"] = as_json(table);
    report.tables = {std::move(table)};
    return report;
}

}  // namespace

Report fit_summary_report(const std::vector<FitSummary>& fits) {
    using Row = std::pair<const LineKey, Line>;
    const auto of_own = [](auto summary) {
        return [summary](const Row& row) { return row.second.own ? mape(row.second.own->*summary) : Cell(); };
    };
    const Fields<Row> fields{
        {{"gpu", "GPU", 4, Show::always}, [](const Row& row) { return std::get<0>(row.first); }},
        {{"op", "operator class", 4, Show::always}, [](const Row& row) { return std::get<1>(row.first); }},
        {{"precision", "precision", 4, Show::always}, [](const Row& row) { return std::get<2>(row.first); }},
        {{"rows", "rows", 4, Show::always},
         [](const Row& row) { return row.second.own ? row.second.own->fit.rows : row.second.left_out->gpu_left_out->rows; }},
        {{"in_fit_mape_percent", "in fit", 3}, of_own(&FitAccuracy::fit)},
        {{"cross_validated_mape_percent", "cross-validated", 3, Show::always}, of_own(&FitAccuracy::cross_validated)},
        {{"never_measured_mape_percent", "GPU never measured", 3, Show::always},
         [](const Row& row) { return row.second.left_out ? mape(row.second.left_out->gpu_left_out) : Cell(); }},
        {{"never_measured_fit", "fit of other GPUs", 4, Show::wide}, [](const Row& row) { return row.second.pooled; }}};
    std::map<LineKey, Line> lines = lines_of(fits);
    std::erase_if(lines, [](const Row& row) { return !row.second.own && !row.second.left_out; });
    return report_of(table_of("Accuracy that the fit files state: MAPE in percent", lines, fields));
}

Report accuracy_by_kind_report(const std::vector<FitSummary>& fits) {
    std::map<std::string_view, WeightedMape> measured, unseen;
    for (const auto& [key, line] : lines_of(fits)) {
        const WorkKind* kind = kind_of_class(std::get<1>(key));
        if (kind == nullptr) continue;
        if (line.own != nullptr) measured[kind->group].add(line.own->cross_validated);
        if (line.left_out != nullptr) unseen[kind->group].add(line.left_out->gpu_left_out);
    }
    using Group = std::string_view;
    const Fields<Group> fields{
        {{"kind", "kind of work", 4, Show::always}, std::identity{}},
        {{"measured_rows", "rows"}, [&](Group group) { return measured[group].rows; }},
        {{"measured_mape_percent", "GPU measured", 3, Show::always}, [&](Group group) { return measured[group].mean(); }},
        {{"unseen_rows", "rows"}, [&](Group group) { return unseen[group].rows; }},
        {{"unseen_mape_percent", "GPU never measured", 3, Show::always}, [&](Group group) { return unseen[group].mean(); }}};
    std::vector<Group> groups = groups_of_work();
    std::erase_if(groups, [&](Group group) { return measured[group].rows == 0 && unseen[group].rows == 0; });
    return report_of(table_of("Error on rows that the fit did not see: MAPE in percent", groups, fields));
}

}  // namespace roofcast
