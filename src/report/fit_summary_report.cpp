#include <map>
#include <string_view>
#include <tuple>

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

Report accuracy_report(Table table) {
    Report report;
    report.document["accuracy"] = as_json(table);
    report.tables.push_back(std::move(table));
    return report;
}

}  // namespace

Report fit_summary_report(const std::vector<FitSummary>& fits) {
    Table table{"Accuracy that the fit files state: MAPE in percent",
                {{"gpu", "GPU", 4, Show::always},
                 {"op", "operator class", 4, Show::always},
                 {"precision", "precision", 4, Show::always},
                 {"rows", "rows", 4, Show::always},
                 {"in_fit_mape_percent", "in fit", 3},
                 {"cross_validated_mape_percent", "cross-validated", 3, Show::always},
                 {"never_measured_mape_percent", "GPU never measured", 3, Show::always},
                 {"never_measured_fit", "fit of other GPUs", 4, Show::wide}},
                {}};
    for (const auto& [key, line] : lines_of(fits)) {
        if (line.own == nullptr && line.left_out == nullptr) continue;
        const std::int64_t rows = line.own != nullptr ? line.own->fit.rows : line.left_out->gpu_left_out->rows;
        table.rows.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), rows,
                              line.own != nullptr ? mape(line.own->fit) : Cell(),
                              line.own != nullptr ? mape(line.own->cross_validated) : Cell(),
                              line.left_out != nullptr ? mape(line.left_out->gpu_left_out) : Cell(), line.pooled});
    }
    return accuracy_report(std::move(table));
}

Report accuracy_by_kind_report(const std::vector<FitSummary>& fits) {
    std::map<std::string_view, WeightedMape> measured, unseen;
    for (const auto& [key, line] : lines_of(fits)) {
        const WorkKind* kind = kind_of_class(std::get<1>(key));
        if (kind == nullptr) continue;
        if (line.own != nullptr) measured[kind->group].add(line.own->cross_validated);
        if (line.left_out != nullptr) unseen[kind->group].add(line.left_out->gpu_left_out);
    }
    Table table{"Error on rows that the fit did not see: MAPE in percent",
                {{"kind", "kind of work", 4, Show::always},
                 {"measured_rows", "rows"},
                 {"measured_mape_percent", "GPU measured", 3, Show::always},
                 {"unseen_rows", "rows"},
                 {"unseen_mape_percent", "GPU never measured", 3, Show::always}},
                {}};
    for (const std::string_view group : groups_of_work()) {
        const WeightedMape &seen = measured[group], &never = unseen[group];
        if (seen.rows == 0 && never.rows == 0) continue;
        table.rows.push_back({std::string(group), seen.rows, seen.mean(), never.rows, never.mean()});
    }
    return accuracy_report(std::move(table));
}

}  // namespace roofcast
