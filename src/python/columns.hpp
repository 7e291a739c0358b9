#pragma once
/// Columns of many rows as buffers that NumPy, pandas and Arrow read in place.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "document/table.hpp"

namespace roofcast::python {

/// Values of one column as they come: numbers as such, texts as numbers of a list of categories.
class ColumnBuilder {
public:
    void add(const Cell& cell);
    /// The rows of `other` behind these.
    void append(const ColumnBuilder& other);

    std::size_t rows = 0;
    std::vector<double> numbers;          ///< up to the last number; NaN: no value
    std::vector<std::int32_t> codes;      ///< up to the last text; −1: no value
    std::vector<std::string> categories;  ///< by code, in the order of their first row
    bool has_null = false, has_fraction = false, has_whole = false, has_flag = false;

private:
    void add_number(double number);
    std::int32_t code_of(const std::string& text);
    std::unordered_map<std::string, std::int32_t> known_;
};

/// A finished column. `texts`: `values` are codes into `categories`, −1 for none.
struct PythonColumn {
    std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint8_t>, std::vector<std::int32_t>> values;
    std::vector<std::string> categories;
    bool texts = false;
};

/// Numbers of whole values without gaps as int64, flags without gaps as bool, texts as codes, all else as float64 with NaN for gaps.
PythonColumn finished(ColumnBuilder column);

}  // namespace roofcast::python
