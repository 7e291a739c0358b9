#pragma once
/// Tables of many runs, as people read them: without what is the same in every row.

#include <string>
#include <vector>

#include "report/table.hpp"

namespace roofcast {

/// What `condensed` may leave out.
struct Condensing {
    std::string settings;             ///< key of the first column after the settings; of these, model and GPU come first and stay
    std::vector<std::string> unread;  ///< keys of columns for programs alone
};

/// `table` without empty columns, and without those of settings that never change: these go into a line of `before`.
Table condensed(const Table& table, const Condensing& how, std::vector<std::string>& before);

}  // namespace roofcast
