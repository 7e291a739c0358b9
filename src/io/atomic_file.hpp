#pragma once
/// Files that are replaced as a whole or not at all.

#include <filesystem>
#include <fstream>
#include <string_view>

namespace roofcast {

/// A file that grows beside the one asked for and takes its place when it is complete. A symbolic link stays: the file that it leads to is
/// replaced. Devices and pipes are written to as they are.
class AtomicFile {
public:
    /// Throws Error for a directory, and for what cannot be opened.
    explicit AtomicFile(const std::filesystem::path& file);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    /// Removes what was written so far unless `commit` came before.
    ~AtomicFile();
    void write(std::string_view text) { out_ << text; }
    /// Throws Error, and leaves the file as it was, when it cannot be written or replaced.
    void commit();

private:
    void require_written() const;

    std::filesystem::path file_, temporary_;  ///< temporary: empty when written in place
    std::ofstream out_;
    bool committed_ = false;
};

/// Writes `text` to a temporary file beside `file` and renames it. Throws Error, and leaves `file` as it was, when that fails.
void write_file_atomically(const std::filesystem::path& file, std::string_view text);

}  // namespace roofcast
