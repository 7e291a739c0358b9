#pragma once
/// Reading the header of a GGUF file number by number.

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "io/printable.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

/// Reads a header front to back, and never beyond the end of the file.
class GgufStream {
public:
    explicit GgufStream(const std::filesystem::path& file) : file_(file.string()), in_(file, std::ios::binary) {
        std::error_code ec;
        if (!std::filesystem::is_regular_file(file, ec))
            throw Error({.what = "the file does not exist", .file = file_, .suggestion = "check the path"});
        left_ = std::filesystem::file_size(file, ec);
        if (!in_ || ec) throw Error({.what = "the file cannot be opened", .file = file_, .suggestion = "check its permissions"});
    }

    [[nodiscard]] Error error(std::string what, std::string found = {}, std::string expected = {}) const {
        return Error(
            {.what = std::move(what), .file = file_, .key = printable(key_), .found = std::move(found), .expected = std::move(expected)});
    }
    [[nodiscard]] std::uint64_t left() const { return left_; }
    /// What errors from now on are about.
    void about(std::string key) { key_ = std::move(key); }

    template <class Number>
    Number number() {
        Number value{};
        take(sizeof value);
        in_.read(reinterpret_cast<char*>(&value), sizeof value);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
        check();
        return value;
    }
    /// A length, of elements that take `least` bytes each at least.
    std::uint64_t length(std::uint64_t least, std::uint64_t most, const char* of) {
        const auto count = number<std::uint64_t>();
        if (count > most) throw error(fmt::format("too many {}", of), std::to_string(count), fmt::format("at most {}", most));
        if (count > left_ / least) throw error(fmt::format("the file ends before its {}", of), std::to_string(count));
        return count;
    }
    std::string text(std::uint64_t longest, const char* of) {
        std::string text(length(1, longest, of), '\0');
        keep(text.size());
        take(text.size());
        in_.read(text.data(), static_cast<std::streamsize>(text.size()));
        check();
        return text;
    }
    void skip(std::uint64_t bytes) {
        take(bytes);
        constexpr std::uint64_t buffered = 65'536;
        if (bytes <= buffered) {
            in_.ignore(static_cast<std::streamsize>(bytes));
        } else {
            in_.seekg(static_cast<std::streamoff>(bytes), std::ios::cur);
        }
        check();
    }
    void keep(std::uint64_t bytes) {
        kept_ += bytes;
        if (kept_ > most_kept) throw error("the header is too large", {}, "64 MiB of names and values at most");
    }

private:
    static constexpr std::uint64_t most_kept = std::uint64_t{64} << 20;
    static_assert(std::endian::native == std::endian::little, "numbers are read as they lie in the file");

    void take(std::uint64_t bytes) {
        if (bytes > left_) throw error("the file ends within its header", {}, "a whole GGUF file, or at least its header");
        left_ -= bytes;
    }
    void check() const {
        if (!in_) throw error("the file cannot be read");
    }

    std::string file_, key_;
    std::ifstream in_;
    std::uint64_t left_ = 0, kept_ = 0;
};

}  // namespace roofcast
