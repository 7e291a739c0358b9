#include <map>
#include <tuple>

#include "report/calibration_report.hpp"
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

Cell mape(const std::optional<AccuracySummary>& a) {
    return a && a->rows > 0 ? Cell(a->mape_percent) : Cell();
}

}  // namespace

Report fit_summary_report(const std::vector<FitSummary>& fits) {
    Table table{"Accuracy that the fit files state: MAPE in percent",
                {{"gpu", "GPU"},
                 {"op", "operator class"},
                 {"precision", "precision"},
                 {"rows", "rows"},
                 {"in_fit_mape_percent", "GPU measured: in fit", 3},
                 {"cross_validated_mape_percent", "cross-validated", 3},
                 {"never_measured_mape_percent", "GPU never measured", 3},
                 {"never_measured_fit", "from the other GPUs of"}},
                {}};
    for (const auto& [key, line] : lines_of(fits)) {
        if (line.own == nullptr && line.left_out == nullptr) continue;
        const std::int64_t rows = line.own != nullptr ? line.own->fit.rows : line.left_out->gpu_left_out->rows;
        table.rows.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), rows,
                              line.own != nullptr ? mape(line.own->fit) : Cell(),
                              line.own != nullptr ? mape(line.own->cross_validated) : Cell(),
                              line.left_out != nullptr ? mape(line.left_out->gpu_left_out) : Cell(), line.pooled});
    }
    Report report;
    report.document["accuracy"] = as_json(table);
    if (table.rows.empty()) report.after.emplace_back("no fit file: `roofcast calibrate --write` or tools/refit makes them");
    report.tables.push_back(std::move(table));
    return report;
}

}  // namespace roofcast
