#pragma once
/// Files that are replaced as a whole or not at all.

#include <filesystem>
#include <string>
#include <string_view>

namespace roofcast {

/// Told of temporary files as long as they have a name, so that a program that a signal ends can remove them.
class TemporaryNames {
public:
    TemporaryNames() = default;
    TemporaryNames(const TemporaryNames&) = delete;
    TemporaryNames& operator=(const TemporaryNames&) = delete;
    virtual ~TemporaryNames() = default;
    virtual void add(const std::filesystem::path& file) = 0;
    virtual void remove(const std::filesystem::path& file) = 0;
};

/// Where the text stands before it takes the place of the file. A file without a name vanishes with the process and cannot be planted.
/// Some file systems have none: there, and with `named`, it has a random name next to the file.
enum class Temporary { unnamed, named };

/// A file that grows next to the one asked for and takes its place when it is complete and on the disk. What is replaced keeps its mode,
/// and its owner where the system lets it. A symbolic link stays: the file that it leads to is replaced. Devices and pipes are written to
/// as they are.
class AtomicFile {
public:
    /// `names`, if any, must outlive the file. Throws Error for a directory and a folder that does not exist, WriteError for what the
    /// system does not let write.
    explicit AtomicFile(const std::filesystem::path& file, TemporaryNames* names = nullptr, Temporary temporary = Temporary::unnamed);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    /// Removes what was written so far unless `commit` came before.
    ~AtomicFile();
    /// Throws WriteError.
    void write(std::string_view text);
    /// Throws WriteError, and leaves the file as it was, when it cannot be written or replaced.
    void commit();

private:
    void open_in_place();
    void open_beside(Temporary temporary);
    bool open_unnamed(unsigned mode);
    void open_named(unsigned mode);
    void keep_owner_and_mode();
    void flush();
    void give_name();
    void forget_name();
    void close();

    std::filesystem::path file_;
    std::filesystem::path temporary_;  ///< empty: it has no name
    TemporaryNames* names_;
    std::string pending_;  ///< not handed to the system yet
    int descriptor_ = -1;
    bool in_place_ = false, replaces_ = false;
};

/// Writes `text` in place of what `file` holds. Throws as AtomicFile does, and leaves `file` as it was.
void write_file_atomically(const std::filesystem::path& file, std::string_view text, TemporaryNames* names = nullptr);

}  // namespace roofcast
