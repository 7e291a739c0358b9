#pragma once
/// Measurement files that grow row by row, so that a run that is cut loses nothing, and can be taken up again.

#include <fstream>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "host/cases.hpp"
#include "roofcast/sample_statistics.hpp"

namespace roofcast::microbench {

/// A file that cannot be used as asked.
struct FileError {
    std::string message;
};

class RowFile {
public:
    /// Columns in the order of the file; those of `identity` tell rows apart, blanks included.
    struct Format {
        std::vector<std::string_view> columns, identity;
    };

    /// Creates `path` with `preamble` (lines without '#') and the header; with `resume`, keeps what is there, drops a row that was cut
    /// while it was written, and reads which cases are done. Throws FileError when the file exists and `resume` is not given, has another
    /// header, or cannot be written.
    RowFile(std::string path, Format format, const std::vector<std::string>& preamble, bool resume);

    [[nodiscard]] bool contains(const Cells& cells) const { return done_.contains(key(cells)); }
    /// Writes a row through to the file. Columns that `cells` lacks stay blank. Throws FileError.
    void append(const Cells& cells);
    [[nodiscard]] std::size_t rows() const { return rows_; }

private:
    [[nodiscard]] std::string key(const Cells& cells) const;
    void take_up();

    std::string path_;
    Format format_;
    std::ofstream out_;
    std::unordered_set<std::string> done_;
    std::size_t rows_ = 0;
};

const RowFile::Format& kernel_format();
const RowFile::Format& device_format();

/// Median as the measured value, with the other figures; microseconds.
Cells latency_cells(const SampleStatistics& us, bool drift);
/// A figure of the device, in the unit that its quantity's name ends in.
Cells value_cells(const SampleStatistics& figure);

/// Fields of a line without quotes, a carriage return at its end passed over.
std::vector<std::string> split_fields(const std::string& line);

/// Text fit for a field without quotes.
std::string plain(std::string_view text);

}  // namespace roofcast::microbench
