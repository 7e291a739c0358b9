#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <string>

#include "cli/output.hpp"

namespace roofcast::cli {

namespace {

constexpr int bar_width = 40;
constexpr std::chrono::milliseconds between_frames{100};

}  // namespace

Progress::Progress(std::int64_t total) : total_(total), visible_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
    if (drawn_) draw("\r\x1b[K");
}

void Progress::show(std::int64_t done) {
    if (!visible_ || total_ <= 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (drawn_ && now - last_ < between_frames) return;
    last_ = now;
    drawn_ = true;
    const double share = static_cast<double>(done) / static_cast<double>(total_);
    const auto filled = static_cast<std::size_t>(share * bar_width);
    draw(fmt::format("\r[{}{}] {:3.0f} %  {} of {}", std::string(filled, '#'), std::string(bar_width - filled, '.'), 100 * share, done,
                     total_));
}

}  // namespace roofcast::cli
