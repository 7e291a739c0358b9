#pragma once
/// A progress bar for people: only where standard error is a terminal.

#include <chrono>
#include <cstdint>

namespace roofcast::cli {

class Progress {
public:
    explicit Progress(std::int64_t total);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    /// Takes the bar away.
    ~Progress();
    void show(std::int64_t done);

private:
    std::int64_t total_;
    bool visible_, drawn_ = false;
    std::chrono::steady_clock::time_point last_{};
};

}  // namespace roofcast::cli
