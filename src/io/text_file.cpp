#include "io/text_file.hpp"

#include <fstream>
#include <system_error>

#include "io/within_memory.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// All of `in`, of which an endless pipe must not fill the memory.
std::string text_of(std::istream& in, const std::filesystem::path& file) {
    constexpr std::size_t largest = 1'000'000'000, chunk = 65'536;
    std::string text;
    while (in) {
        const std::size_t before = text.size();
        text.resize(before + chunk);
        in.read(text.data() + before, static_cast<std::streamsize>(chunk));
        text.resize(before + static_cast<std::size_t>(in.gcount()));
        if (text.size() > largest) throw Error({.what = "the file is too large", .file = file.string(), .expected = "at most 1 GB"});
    }
    if (in.bad()) throw Error({.what = "the file cannot be read", .file = file.string()});
    return text;
}

}  // namespace

std::string read_text_file(const std::filesystem::path& file) {
    std::error_code ec;
    const auto status = std::filesystem::status(file, ec);
    if (!std::filesystem::exists(status)) {
        throw Error({.what = "the file does not exist", .file = file.string(), .suggestion = "check the path"});
    }
    if (std::filesystem::is_directory(status)) {
        throw Error({.what = "this is a directory, a file is needed", .file = file.string(), .suggestion = "name one file inside it"});
    }
    if (!std::filesystem::is_regular_file(status) && !std::filesystem::is_fifo(status)) {
        throw Error({.what = "this is neither a file nor a pipe", .file = file.string(), .suggestion = "name a regular file"});
    }
    std::ifstream in(file, std::ios::binary);
    if (!in) throw Error({.what = "the file cannot be opened", .file = file.string(), .suggestion = "check its permissions"});
    std::string text = within_memory(file, [&] { return text_of(in, file); });
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) throw Error({.what = "the file is empty", .file = file.string()});
    return text;
}

}  // namespace roofcast
