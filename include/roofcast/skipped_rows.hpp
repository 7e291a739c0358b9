#pragma once
/// Rows that cannot be used, counted by reason: what is kept does not grow with their number.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace roofcast {

/// Rows that are skipped for one reason, and where the first of them stands.
struct SkippedReason {
    std::string file;
    int line = 0;  ///< 0: the format has no lines
    std::string reason;
    std::int64_t rows = 1;
};

class SkippedRows {
public:
    /// Reasons that are distinguished. Rows of further ones share a last reason that says so.
    static constexpr std::size_t most_reasons = 1000;

    /// A long reason is cut: it may quote a cell of any size.
    void add(std::string_view file, int line, std::string_view reason, std::int64_t rows = 1);
    void add(const SkippedRows& others);

    /// Skipped rows of all reasons.
    [[nodiscard]] std::int64_t rows() const { return rows_; }
    [[nodiscard]] bool empty() const { return rows_ == 0; }
    /// In the order in which they were met.
    [[nodiscard]] const std::vector<SkippedReason>& reasons() const { return reasons_; }
    /// Most rows first.
    [[nodiscard]] std::vector<SkippedReason> by_rows() const;

private:
    std::vector<SkippedReason> reasons_;
    std::unordered_map<std::string, std::size_t> places_;  ///< in reasons_
    std::int64_t rows_ = 0;
};

/// "3 rows (first: rows.csv:7): n is missing".
std::string skipped_text(const SkippedReason& skipped);

}  // namespace roofcast
