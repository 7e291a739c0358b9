/// Files that are written and read back: what a fit file says, whatever texts and numbers go into it.

#include <array>
#include <cmath>

#include "fuzz/choices.hpp"
#include "fuzz/input.hpp"
#include "fuzz/targets.hpp"
#include "roofcast/calibration.hpp"

namespace roofcast {

namespace {

using fuzz::Choices;

/// Of any bytes that can be a name on a command line: all but zero.
std::string text_of(Choices& bytes) {
    std::string text;
    constexpr std::size_t longest = 24;
    for (std::size_t i = 0, length = bytes.below(longest); i < length; ++i) text += static_cast<char>(std::max<int>(1, bytes.byte()));
    return text;
}

AccuracySummary accuracy_of(Choices& bytes) {
    constexpr double tenth = 0.1;
    const auto percent = [&bytes] { return tenth * static_cast<double>(bytes.byte()); };
    return {.rows = static_cast<std::int64_t>(1 + bytes.below(200)),
            .mape_percent = percent(),
            .median_ape_percent = percent(),
            .p90_ape_percent = percent(),
            .bias_percent = percent()};
}

}  // namespace

int fuzz::files(const std::uint8_t* data, std::size_t size) {
    Choices bytes(data, size);
    Fit fit;
    constexpr std::size_t most = 3;
    for (std::size_t i = 0, gpus = 1 + bytes.below(most); i < gpus; ++i) fit.gpus.push_back(text_of(bytes));
    for (std::size_t i = 0, warnings = bytes.below(most); i < warnings; ++i) fit.warnings.push_back(text_of(bytes));
    fit.overall.fit = accuracy_of(bytes);
    for (std::size_t i = 0, groups = bytes.below(most); i < groups; ++i) {
        FitAccuracy group{.gpu = text_of(bytes), .op = "gemm", .precision = "fp16"};
        group.fit = accuracy_of(bytes);
        if (bytes.flag()) group.cross_validated = accuracy_of(bytes);
        fit.groups.push_back(group);
    }
    for (std::size_t i = 0, files = bytes.below(most); i < files; ++i)
        fit.files.push_back({.file = text_of(bytes), .rows_used = static_cast<std::int64_t>(bytes.byte())});
    for (std::size_t i = 0, rows = bytes.below(most); i < rows; ++i)
        fit.dropped.push_back({.file = text_of(bytes), .line = 1 + bytes.byte(), .reason = text_of(bytes)});
    FitFileHeader header{.command = text_of(bytes), .date = bytes.flag() ? text_of(bytes) : "2026-01-01", .data_folder = {}};
    header.tool = text_of(bytes);
    const std::string text = fit_file_text(fit, header);
    try {
        const FitSummary back = load_fit_summary(folder().file("gpu.fit.toml", text));
        require(back.gpus.size() == fit.gpus.size(), "a fit file names other GPUs than were written");
        require(back.groups.size() >= fit.groups.size(), "a fit file has fewer groups than were written");
        static_cast<void>(load_residual_intervals(folder().path() / "gpu.fit.toml"));
    } catch (const Error& e) {
        require(false, std::string("a fit file that was written cannot be read: ") + e.what());
    }
    folder().clear();
    return 0;
}

}  // namespace roofcast
