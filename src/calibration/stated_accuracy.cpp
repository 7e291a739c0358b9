#include "calibration/stated_accuracy.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "roofcast/gpu_profile.hpp"

namespace roofcast {

std::vector<StatedAccuracy> stated_accuracy(const std::vector<FitSummary>& fits) {
    std::map<std::tuple<std::string, std::string, std::string>, StatedAccuracy> stated;
    for (const FitSummary& fit : fits) {
        const bool is_default = fit.file == architecture_fit_file({}, default_architecture);
        for (const FitAccuracy& group : fit.groups) {
            StatedAccuracy& line = stated[{group.gpu, group.op, group.precision}];
            if (!is_of_architecture(fit.file)) {
                line.in_fit = group.fit;
                line.cross_validated = group.cross_validated;
            }
            if (!group.gpu_left_out || (is_default && line.left_out)) continue;
            line.left_out = group.gpu_left_out;
            line.pooled = fit.file;
        }
    }
    std::vector<StatedAccuracy> lines;
    for (auto& [key, line] : stated) {
        if (!line.in_fit && !line.left_out) continue;
        std::tie(line.gpu, line.op, line.precision) = key;
        lines.push_back(std::move(line));
    }
    return lines;
}

void WeightedMape::add(const std::optional<AccuracySummary>& a) {
    if (!a || a->rows == 0) return;
    rows += a->rows;
    sum += a->mape_percent * static_cast<double>(a->rows);
}

std::vector<KindAccuracy> accuracy_by_kind(const std::vector<FitSummary>& fits) {
    std::vector<KindAccuracy> kinds;
    for (const WorkKind& kind : work_kinds()) {
        if (kinds.empty() || kinds.back().group != kind.group) kinds.push_back({kind.group});
    }
    for (const StatedAccuracy& line : stated_accuracy(fits)) {
        const WorkKind* kind = kind_of_class(line.op);
        if (kind == nullptr) continue;
        const auto of = std::find_if(kinds.begin(), kinds.end(), [kind](const KindAccuracy& k) { return k.group == kind->group; });
        of->measured.add(line.cross_validated);
        of->unseen.add(line.left_out);
    }
    std::erase_if(kinds, [](const KindAccuracy& k) { return k.measured.rows == 0 && k.unseen.rows == 0; });
    return kinds;
}

}  // namespace roofcast
