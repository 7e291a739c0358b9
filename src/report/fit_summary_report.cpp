#include <algorithm>
#include <array>
#include <map>
#include <string_view>
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

/// A kind of work, as readers of a short table think of it, and the start of the operator classes that belong to it.
struct WorkKind {
    std::string_view name;
    std::vector<std::string_view> classes;
};

const std::vector<WorkKind>& work_kinds() {
    static const std::vector<WorkKind> all{
        {"GEMM", {"gemm"}},
        {"attention", {"attention"}},
        {"convolution", {"conv2d"}},
        {"element-wise, norms, softmax", {"elementwise", "layernorm", "rmsnorm", "softmax"}},
        {"quantization", {"quantize"}},
        {"recurrent layers, hyper-connections", {"causal_convolution", "recurrence", "hyper_connection"}},
        {"sparse attention", {"index_scores", "top_k", "sparse_attention"}},
        {"mixture of experts", {"moe"}},
        {"collectives, copies", {"all_", "reduce_scatter", "memcpy"}},
        {"language models", {"model_llm", "model_vlm"}},
        {"image models, detectors", {"model_cnn", "model_vit", "model_detector"}},
        {"encoders, other models", {"model_"}}};
    return all;
}

/// Index of the first kind that `op` belongs to; the number of kinds for none.
std::size_t kind_of(std::string_view op) {
    const auto belongs = [op](const WorkKind& kind) {
        return std::any_of(kind.classes.begin(), kind.classes.end(), [op](std::string_view start) { return op.starts_with(start); });
    };
    return static_cast<std::size_t>(std::find_if(work_kinds().begin(), work_kinds().end(), belongs) - work_kinds().begin());
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
    std::vector<WeightedMape> measured(work_kinds().size()), unseen(work_kinds().size());
    for (const auto& [key, line] : lines_of(fits)) {
        const std::size_t kind = kind_of(std::get<1>(key));
        if (kind == work_kinds().size()) continue;
        if (line.own != nullptr) measured[kind].add(line.own->cross_validated);
        if (line.left_out != nullptr) unseen[kind].add(line.left_out->gpu_left_out);
    }
    Table table{"Error on rows that the fit did not see: MAPE in percent",
                {{"kind", "kind of work", 4, Show::always},
                 {"measured_rows", "rows"},
                 {"measured_mape_percent", "GPU measured", 3, Show::always},
                 {"unseen_rows", "rows"},
                 {"unseen_mape_percent", "GPU never measured", 3, Show::always}},
                {}};
    for (std::size_t i = 0; i < work_kinds().size(); ++i) {
        if (measured[i].rows == 0 && unseen[i].rows == 0) continue;
        table.rows.push_back({std::string(work_kinds()[i].name), measured[i].rows, measured[i].mean(), unseen[i].rows, unseen[i].mean()});
    }
    return accuracy_report(std::move(table));
}

}  // namespace roofcast
