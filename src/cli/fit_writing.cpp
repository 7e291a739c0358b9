#include "cli/fit_writing.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "cli/output.hpp"
#include "io/printable.hpp"
#include "io/text_file.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

/// A file that cannot be read is nobody's to lose unasked.
bool is_shipped_fit(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return false;
    try {
        return !is_refined_fit(file);
    } catch (const Error&) {
        return true;
    }
}

/// Fits in the user's folder replace nothing that shipped.
bool replaces_shipped(const CalibrationJob& job, const CalibrateOptions& options) {
    return !options.common.data_dir.empty() && is_shipped_fit(job.file);
}

std::filesystem::path beside(const std::filesystem::path& file, const char* ending) {
    std::filesystem::path other = file;
    other += ending;
    return other;
}

bool is_terminal() {
    return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
}

}  // namespace

void require_may_write(const CalibrationJob& job, const CalibrateOptions& options) {
    if (!options.write || options.yes || is_terminal() || !replaces_shipped(job, options)) return;
    throw Error({.what = "--write would replace a shipped fit, and there is no terminal to ask on",
                 .file = job.file.string(),
                 .key = "--write",
                 .suggestion = "add --yes, or leave out --data-dir to save the fit in your own folder"});
}

bool may_replace(const CalibrationJob& job, const CalibrateOptions& options, const std::string& comparison) {
    if (options.yes || !replaces_shipped(job, options)) return true;
    if (!comparison.empty()) note(comparison, options.common);
    draw(printable(fmt::format("Replace the shipped fit {}? It is kept as {}. [y/N] ", job.file.string(),
                               beside(job.file, ".previous").filename().string())));
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

void write_fit(const CalibrationJob& job, const Fit& fit, const FitFileHeader& header) {
    const std::string text = fit_file_text(fit, header);
    require_readable(text, fit, job.file);
    std::error_code ec;
    std::filesystem::create_directories(job.file.parent_path(), ec);
    if (std::filesystem::exists(job.file, ec)) {
        const std::string before = read_text_file(job.file);
        if (before == text) return;
        if (fit.refinement && is_shipped_fit(job.file)) write_file(beside(job.file, ".shipped"), before);
        write_file(beside(job.file, ".previous"), before);
    }
    write_file(job.file, text);
}

}  // namespace roofcast::cli
