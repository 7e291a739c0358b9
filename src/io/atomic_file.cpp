#include "io/atomic_file.hpp"

#include <unistd.h>

#include <fstream>
#include <string>

#include "roofcast/error.hpp"

namespace roofcast {

void write_file_atomically(const std::filesystem::path& file, std::string_view text) {
    std::error_code ec;
    if (std::filesystem::is_directory(file, ec)) {
        throw Error({.what = "this is a directory, a file is needed", .file = file.string(), .suggestion = "name a file inside it"});
    }
    std::filesystem::path temporary = file;
    temporary += "." + std::to_string(::getpid()) + ".tmp";
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out) {
        std::filesystem::remove(temporary, ec);
        throw Error(
            {.what = "the file cannot be written", .file = file.string(), .suggestion = "check that its folder exists and is writable"});
    }
    std::filesystem::rename(temporary, file, ec);
    if (ec) {
        const std::string reason = ec.message();
        std::filesystem::remove(temporary, ec);
        throw Error({.what = "the file cannot be replaced: " + reason, .file = file.string()});
    }
}

}  // namespace roofcast
