#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <random>
#include <utility>

#include "io/output_target.hpp"
#include "io/write_all.hpp"
#include "io/write_error.hpp"

namespace roofcast {

namespace {

constexpr std::size_t buffered = std::size_t{1} << 16;
constexpr unsigned readable_by_all = 0666, private_mode = 0600;  // what the umask leaves of the first is a new file's mode

WriteError refusal(const std::filesystem::path& file, const char* what, int error) {
    return WriteError({.what = fmt::format("{}: {}", what, system_reason(error)), .file = file.string(), .suggestion = remedy(error)});
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
    return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

/// A name next to `file` that nobody can guess. Long names of files are cut: the longest that systems take is 255 bytes.
std::filesystem::path random_name(const std::filesystem::path& file) {
    constexpr std::size_t longest_stem = 200;
    std::random_device random;
    const auto stem = file.filename().string().substr(0, longest_stem);
    return folder_of(file) / fmt::format(".{}.{:08x}{:08x}.tmp", stem, random(), random());
}

/// Makes a name that nobody has, by `make`, which returns whether it could and sets errno.
template <class Make>
std::filesystem::path made_name(const std::filesystem::path& file, Make make) {
    constexpr int most_tries = 100;
    for (int i = 0; i < most_tries; ++i) {
        auto name = random_name(file);
        if (make(name)) return name;
        if (errno != EEXIST) break;
    }
    throw refusal(file, "the file cannot be written", errno);
}

std::string path_of(int descriptor) {
    return fmt::format("/proc/self/fd/{}", descriptor);
}

/// Makes sure that the name itself outlives a loss of power. Some file systems have no such call for folders.
void sync_folder(const std::filesystem::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    static_cast<void>(::fsync(descriptor));
    ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& asked, TemporaryNames* names, Temporary temporary) : names_(names) {
    const OutputTarget target = output_target(asked);
    file_ = target.file;
    in_place_ = target.in_place;
    if (in_place_) {
        open_in_place();
    } else {
        open_beside(temporary);
    }
}

AtomicFile::~AtomicFile() {
    close();
    if (temporary_.empty()) return;
    ::unlink(temporary_.c_str());
    forget_name();
}

void AtomicFile::open_in_place() {
    // Opening /dev/stdout anew would begin at the start of a file that others append to.
    if (const auto open_already = open_descriptor(file_)) {
        descriptor_ = ::fcntl(*open_already, F_DUPFD_CLOEXEC, 0);
    } else {
        descriptor_ = ::open(file_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
    }
    if (descriptor_ < 0) throw refusal(file_, "the device or pipe cannot be written", errno);
}

void AtomicFile::open_beside(Temporary temporary) {
    std::error_code ec;
    if (const auto folder = folder_of(file_); !std::filesystem::is_directory(folder, ec))
        throw Error({.what = "its folder does not exist", .file = file_.string(), .suggestion = "create it, or name another file"});
    replaces_ = std::filesystem::exists(file_, ec);
    if (replaces_ && ::access(file_.c_str(), W_OK) != 0) throw refusal(file_, "the file cannot be replaced", errno);
    const unsigned mode = replaces_ ? private_mode : readable_by_all;
    if (temporary == Temporary::named || !open_unnamed(mode)) open_named(mode);
    keep_owner_and_mode();
}

bool AtomicFile::open_unnamed(unsigned mode) {
#ifdef O_TMPFILE
    descriptor_ = ::open(folder_of(file_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (descriptor_ < 0) return false;
    if (::access(path_of(descriptor_).c_str(), F_OK) == 0) return true;  // without /proc it could get no name
    close();
#endif
    static_cast<void>(mode);
    return false;
}

void AtomicFile::open_named(unsigned mode) {
    temporary_ = made_name(file_, [&](const std::filesystem::path& name) {
        if (names_ != nullptr) names_->add(name);
        descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (descriptor_ < 0 && names_ != nullptr) {
            const int error = errno;
            names_->remove(name);
            errno = error;
        }
        return descriptor_ >= 0;
    });
}

void AtomicFile::keep_owner_and_mode() {
    struct stat replaced {};
    if (!replaces_ || ::stat(file_.c_str(), &replaced) != 0) return;
    constexpr unsigned permissions = 0777;
    // Only root gives files away; who is in the group may keep it. Without its group a file must not be open to another one.
    const bool owned = ::fchown(descriptor_, replaced.st_uid, replaced.st_gid) == 0;
    const bool same_group = owned || ::fchown(descriptor_, static_cast<uid_t>(-1), replaced.st_gid) == 0;
    const unsigned mode = replaced.st_mode & permissions;
    constexpr unsigned of_group = 0070;
    static_cast<void>(::fchmod(descriptor_, same_group ? mode : mode & ~of_group));
}

void AtomicFile::write(std::string_view text) {
    pending_ += text;
    if (pending_.size() >= buffered) flush();
}

void AtomicFile::flush() {
    if (const int error = write_all(descriptor_, pending_); error != 0)
        throw refusal(file_, in_place_ ? "the device or pipe cannot be written" : "the file cannot be written", error);
    pending_.clear();
}

void AtomicFile::commit() {
    flush();
    if (!in_place_) {
        // Systems that cannot sync a file say EINVAL.
        if (::fsync(descriptor_) != 0 && errno != EINVAL) throw refusal(file_, "the file cannot be written", errno);
        if (temporary_.empty()) give_name();
        if (!temporary_.empty()) {
            if (::rename(temporary_.c_str(), file_.c_str()) != 0) throw refusal(file_, "the file cannot be replaced", errno);
            forget_name();
        }
        sync_folder(folder_of(file_));
    }
    const int descriptor = std::exchange(descriptor_, -1);
    if (::close(descriptor) != 0 && errno != EINTR) throw refusal(file_, "the file cannot be written", errno);
}

/// Links the complete file to its place, or next to it if the place is taken: a link replaces nothing.
void AtomicFile::give_name() {
    const std::string source = path_of(descriptor_);
    const auto link = [&source](const std::filesystem::path& name) {
        return ::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (!replaces_) {
        if (link(file_)) return;
        if (errno != EEXIST) throw refusal(file_, "the file cannot be written", errno);
    }
    temporary_ = made_name(file_, [&](const std::filesystem::path& name) {
        if (names_ != nullptr) names_->add(name);
        const bool linked = link(name);
        const int error = errno;
        if (!linked && names_ != nullptr) names_->remove(name);
        errno = error;
        return linked;
    });
}

void AtomicFile::forget_name() {
    if (names_ != nullptr) names_->remove(temporary_);
    temporary_.clear();
}

void AtomicFile::close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void write_file_atomically(const std::filesystem::path& file, std::string_view text, TemporaryNames* names) {
    AtomicFile out(file, names);
    out.write(text);
    out.commit();
}

}  // namespace roofcast
