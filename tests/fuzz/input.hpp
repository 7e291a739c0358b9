#pragma once
/// What the fuzz targets share: one reader is chosen by the first byte of the input and gets the rest.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "roofcast/error.hpp"

namespace roofcast::fuzz {

/// A folder of this process alone, in which inputs become files; removed when the process ends in good order.
class PrivateFolder {
public:
    PrivateFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "roofcast-fuzz-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) std::abort();
        path_ = pattern;
        std::filesystem::create_directory(path_ / "arch");
    }
    PrivateFolder(const PrivateFolder&) = delete;
    PrivateFolder& operator=(const PrivateFolder&) = delete;
    ~PrivateFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    /// Writes `text` over the file of that name.
    [[nodiscard]] std::filesystem::path file(std::string_view name, std::string_view text) const {
        const std::filesystem::path file = path_ / name;
        std::ofstream out(file, std::ios::binary | std::ios::trunc);
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
        if (!out.flush()) std::abort();
        return file;
    }

private:
    std::filesystem::path path_;
};

/// libFuzzer offers no place for state between inputs but a static one.
inline const PrivateFolder& folder() {
    static const PrivateFolder private_folder;
    return private_folder;
}

using Reader = void (*)(std::string_view text);

/// Readers are numbered from '0', so that seeds are text. Error is how input is refused; anything else ends the process.
template <std::size_t Count>
int read(const std::uint8_t* data, std::size_t size, const std::array<Reader, Count>& readers) {
    if (size == 0) return 0;
    const std::string text(data + 1, data + size);
    const auto number = static_cast<std::uint8_t>(data[0] - '0');
    try {
        readers[number % Count](text);
    } catch (const Error&) {
        return 0;
    }
    return 0;
}

}  // namespace roofcast::fuzz
