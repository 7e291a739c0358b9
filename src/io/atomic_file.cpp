#include "io/atomic_file.hpp"

#include <unistd.h>

#include <string>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// What `file` stands for once all symbolic links are followed, the last one's missing target included.
std::filesystem::path followed(const std::filesystem::path& file) {
    constexpr int most_links = 40;  // as Linux allows in one path
    std::filesystem::path target = file;
    std::error_code ec;
    for (int i = 0; i < most_links && std::filesystem::is_symlink(target, ec); ++i) {
        const auto next = std::filesystem::read_symlink(target, ec);
        if (ec) break;
        target = next.is_absolute() ? next : target.parent_path() / next;
    }
    if (std::filesystem::is_symlink(target, ec))
        throw Error({.what = "the symbolic links lead in a circle", .file = file.string(), .suggestion = "name a file"});
    return target;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& asked) {
    std::error_code ec;
    const auto status = std::filesystem::status(asked, ec);
    if (std::filesystem::is_directory(status)) {
        throw Error({.what = "this is a directory, a file is needed", .file = asked.string(), .suggestion = "name a file inside it"});
    }
    // Links below /dev, such as /dev/stdout, stand for what is open already: a file put in its place would not be that one, and the names
    // of pipes are no paths. The system has to follow these.
    const bool open_already = asked.string().starts_with("/dev/") || asked.string().starts_with("/proc/");
    if (std::filesystem::exists(status) && (open_already || !std::filesystem::is_regular_file(status))) {
        file_ = asked;
        out_.open(file_, std::ios::binary);
        require_written();
        return;
    }
    file_ = followed(asked);
    temporary_ = file_;
    temporary_ += "." + std::to_string(::getpid()) + ".tmp";
    out_.open(temporary_, std::ios::binary | std::ios::trunc);
    require_written();
}

void AtomicFile::require_written() const {
    if (out_) return;
    if (temporary_.empty())
        throw Error({.what = "the device or pipe cannot be written", .file = file_.string(), .suggestion = "name a regular file"});
    throw Error(
        {.what = "the file cannot be written", .file = file_.string(), .suggestion = "check that its folder exists and is writable"});
}

AtomicFile::~AtomicFile() {
    if (committed_ || temporary_.empty()) return;
    out_.close();
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
}

void AtomicFile::commit() {
    out_.close();
    require_written();
    std::error_code ec;
    if (!temporary_.empty()) std::filesystem::rename(temporary_, file_, ec);
    if (ec) throw Error({.what = "the file cannot be replaced: " + ec.message(), .file = file_.string()});
    committed_ = true;
}

void write_file_atomically(const std::filesystem::path& file, std::string_view text) {
    AtomicFile out(file);
    out.write(text);
    out.commit();
}

}  // namespace roofcast
