#pragma once
/// RFC 4180 by libcsv: quoted fields, CRLF; a UTF-8 byte order mark and `#` lines at the top are passed over.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// One record. The views are valid during the call only.
struct CsvRecord {
    int line = 0;  ///< 1-based, where the record begins
    std::vector<std::string_view> fields;
};

/// Calls `on_record` for each record of `text`, the header included; blank lines are passed over. Throws Error with file and line when a
/// quote is misplaced or left open, and passes on what `on_record` throws.
void read_csv(std::string_view text, const std::string& file, const std::function<void(const CsvRecord&)>& on_record);

}  // namespace roofcast
