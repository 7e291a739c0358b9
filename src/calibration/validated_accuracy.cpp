#include "io/files_in.hpp"
#include "io/strict_csv.hpp"
#include "roofcast/accuracy.hpp"

namespace roofcast {

namespace {

constexpr double most = 1e9;  ///< rows, GPUs and percent

std::optional<double> number_if(const StrictCsv& csv, std::string_view column) {
    if (csv.text(column).empty()) return std::nullopt;
    return csv.number(column, 0, most);
}

ValidatedAccuracy line_in(const StrictCsv& csv) {
    ValidatedAccuracy line{.work = csv.required("work"),
                           .engine = csv.required("engine"),
                           .models = csv.text("models"),
                           .gpu = csv.text("gpu"),
                           .architecture = csv.text("architecture"),
                           .gpus = static_cast<std::int64_t>(csv.number("gpus", 1, most)),
                           .in_interval_percent = number_if(csv, "in_interval_percent"),
                           .roofline_mape_percent = number_if(csv, "roofline_mape_percent"),
                           .file = csv.required("file")};
    if (work_kind(line.work) == nullptr) throw csv.error("work", "unknown kind of work", "a key of work_kinds()");
    const auto fit = parse_fitted_to(csv.text("fit"));
    if (!fit) throw csv.error("fit", "unknown kind of fit", "own, architecture or none");
    line.fit = *fit;
    line.figures = {.rows = static_cast<std::int64_t>(csv.number("rows", 1, most)),
                    .mape_percent = csv.number("mape_percent", 0, most),
                    .median_ape_percent = csv.number("median_ape_percent", 0, most),
                    .p90_ape_percent = csv.number("p90_ape_percent", 0, most),
                    .bias_percent = csv.number("bias_percent", -most, most)};
    line.figures.accuracy_percent = 100 - line.figures.mape_percent;
    return line;
}

}  // namespace

std::vector<ValidatedAccuracy> load_validated_accuracy(const std::filesystem::path& folder) {
    std::vector<ValidatedAccuracy> lines;
    for (const auto& file : files_in(folder, ".csv")) {
        StrictCsv csv(file, {"work", "engine", "models", "gpu", "architecture", "fit", "gpus", "rows", "mape_percent", "median_ape_percent",
                             "p90_ape_percent", "bias_percent", "in_interval_percent", "roofline_mape_percent", "file"});
        csv.read([&] { lines.push_back(line_in(csv)); });
    }
    return lines;
}

}  // namespace roofcast
