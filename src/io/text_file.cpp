#include "io/text_file.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <system_error>

#include "io/within_memory.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// All of `in`, of which an endless pipe must not fill the memory. `expected`: bytes that it probably has.
std::string text_of(std::istream& in, std::size_t expected, const std::filesystem::path& file) {
    constexpr std::size_t largest = 1'000'000'000, chunk = 65'536;
    std::string text;
    std::size_t next = std::min(expected, largest) + 1;  // the end is found with the last byte
    while (in) {
        const std::size_t before = text.size();
        text.resize(before + next);
        in.read(text.data() + before, static_cast<std::streamsize>(next));
        text.resize(before + static_cast<std::size_t>(in.gcount()));
        next = chunk;
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
        throw Error({.what = "this is a directory, not a file", .file = file.string(), .suggestion = "name one file inside it"});
    }
    if (!std::filesystem::is_regular_file(status) && !std::filesystem::is_fifo(status)) {
        throw Error({.what = "this is neither a file nor a pipe", .file = file.string(), .suggestion = "name a regular file"});
    }
    std::ifstream in(file, std::ios::binary);
    if (!in) throw Error({.what = "the file cannot be opened", .file = file.string(), .suggestion = "check its permissions"});
    const std::uintmax_t size = std::filesystem::is_regular_file(status) ? std::filesystem::file_size(file, ec) : 0;
    const std::size_t expected = ec ? 0 : static_cast<std::size_t>(size);
    std::string text = within_memory(file, [&] { return text_of(in, expected, file); });
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) throw Error({.what = "the file is empty", .file = file.string()});
    return text;
}

}  // namespace roofcast
