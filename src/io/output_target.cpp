#include "io/output_target.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// Whether `link` is in a folder such as /tmp and belongs to somebody who is neither the user nor the folder's owner. Linux refuses to
/// follow such a link too (fs.protected_symlinks), but not to a program that reads it.
bool is_planted(const std::filesystem::path& link) {
    struct stat of_link {
    }, of_folder{};
    const auto folder = link.has_parent_path() ? link.parent_path() : std::filesystem::path(".");
    if (::lstat(link.c_str(), &of_link) != 0 || ::stat(folder.c_str(), &of_folder) != 0) return false;
    const bool shared = (of_folder.st_mode & S_ISVTX) != 0 && (of_folder.st_mode & S_IWOTH) != 0;
    return shared && of_link.st_uid != ::geteuid() && of_link.st_uid != of_folder.st_uid;
}

std::filesystem::path followed(const std::filesystem::path& file) {
    constexpr int most_links = 40;  // as Linux allows in one path
    std::filesystem::path target = file;
    std::error_code ec;
    for (int i = 0; i < most_links && std::filesystem::is_symlink(target, ec); ++i) {
        if (is_planted(target))
            throw Error({.what = "the symbolic link belongs to another user", .file = target.string(), .suggestion = "name another file"});
        const auto next = std::filesystem::read_symlink(target, ec);
        if (ec) break;
        target = next.is_absolute() ? next : target.parent_path() / next;
    }
    if (std::filesystem::is_symlink(target, ec))
        throw Error({.what = "the symbolic links form a loop", .file = file.string(), .suggestion = "name a file"});
    return target;
}

}  // namespace

OutputTarget output_target(const std::filesystem::path& asked) {
    std::error_code ec;
    const auto status = std::filesystem::status(asked, ec);
    if (std::filesystem::is_directory(status))
        throw Error({.what = "this is a directory, not a file", .file = asked.string(), .suggestion = "name a file inside it"});
    // /dev/stdout and its like stand for what is open already: a file put in its place would not be that one, and the names of pipes are no
    // paths. The system has to follow these.
    const bool open_already = open_descriptor(asked) || asked.string().starts_with("/proc/");
    if (std::filesystem::exists(status) && (open_already || !std::filesystem::is_regular_file(status))) return {asked, true};
    return {followed(asked), false};
}

std::optional<int> open_descriptor(const std::filesystem::path& file) {
    const std::string name = file.string();
    if (name == "/dev/stdout") return STDOUT_FILENO;
    if (name == "/dev/stderr") return STDERR_FILENO;
    for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
        if (!name.starts_with(folder)) continue;
        int number = -1;
        const auto [end, error] = std::from_chars(name.data() + folder.size(), name.data() + name.size(), number);
        if (error == std::errc{} && end == name.data() + name.size()) return number;
    }
    return std::nullopt;
}

}  // namespace roofcast
