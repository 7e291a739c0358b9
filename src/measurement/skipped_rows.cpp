#include "roofcast/skipped_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofcast {

namespace {

constexpr std::size_t longest_reason = 300;
constexpr std::string_view other_reasons = "other reasons, of which there are too many to list";

/// At most `longest_reason` bytes of `text`, never half a character.
std::string shortened(std::string_view text) {
    if (text.size() <= longest_reason) return std::string(text);
    std::size_t end = longest_reason;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    return std::string(text.substr(0, end)) + "…";
}

}  // namespace

void SkippedRows::add(std::string_view file, int line, std::string_view reason, std::int64_t rows) {
    rows_ += rows;
    std::string key = shortened(reason);
    auto known = places_.find(key);
    if (known == places_.end() && reasons_.size() >= most_reasons) {
        key = other_reasons;
        known = places_.find(key);
    }
    if (known != places_.end()) {
        reasons_[known->second].rows += rows;
        return;
    }
    reasons_.push_back({std::string(file), line, key, rows});
    places_.emplace(std::move(key), reasons_.size() - 1);
}

void SkippedRows::add(const SkippedRows& others) {
    for (const SkippedReason& other : others.reasons_) add(other.file, other.line, other.reason, other.rows);
}

std::vector<SkippedReason> SkippedRows::by_rows() const {
    std::vector<SkippedReason> order = reasons_;
    std::stable_sort(order.begin(), order.end(), [](const SkippedReason& a, const SkippedReason& b) { return a.rows > b.rows; });
    return order;
}

std::string skipped_text(const SkippedReason& skipped) {
    const std::string line = skipped.line > 0 ? fmt::format(":{}", skipped.line) : "";
    if (skipped.rows == 1) return fmt::format("1 row ({}{}): {}", skipped.file, line, skipped.reason);
    return fmt::format("{} rows (first: {}{}): {}", skipped.rows, skipped.file, line, skipped.reason);
}

}  // namespace roofcast
