#pragma once
/// Tables as people read them: without what is for programs, without empty columns, without what is the same in every row.

#include <string>

#include "document/table.hpp"

namespace roofcast {

struct Condensed {
    Table table;
    std::string same;  ///< settings that all rows share: "precision fp16, batch 1"; empty: none
};

Condensed condensed(const Table& table);

}  // namespace roofcast
