#pragma once
/// What the fuzz targets share: one reader is chosen by the first byte of the input and gets the rest.
///
/// An input leaves nothing behind: its files are removed before the next one comes, and what targets keep (a GPU, a table of step times)
/// never changes.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "roofcast/error.hpp"

namespace roofcast::fuzz {

/// What must hold of everything that is not refused. A violation ends the process: libFuzzer keeps the input, the replay names it.
inline void require(bool holds, const std::string& what) {
    if (holds) return;
    std::fprintf(stderr, "violated: %s\n", what.c_str());
    std::abort();
}

/// A folder of this process alone; removed when the process ends in good order.
class PrivateFolder {
public:
    PrivateFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "roofcast-fuzz-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) std::abort();
        path_ = pattern;
    }
    PrivateFolder(const PrivateFolder&) = delete;
    PrivateFolder& operator=(const PrivateFolder&) = delete;
    ~PrivateFolder() {
        clear();
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    /// Writes `text` into a new file of that name, in a folder that is made for it.
    [[nodiscard]] std::filesystem::path file(std::string_view name, std::string_view text) const {
        const std::filesystem::path file = path_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream out(file, std::ios::binary | std::ios::trunc);
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
        if (!out.flush()) std::abort();
        return file;
    }

    void clear() const {
        std::error_code ignored;
        for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) std::filesystem::remove_all(entry.path(), ignored);
    }

private:
    std::filesystem::path path_;
};

/// Of the input at hand. libFuzzer offers no place for a folder but a static one.
inline const PrivateFolder& folder() {
    static const PrivateFolder private_folder;
    return private_folder;
}

inline std::filesystem::path source_dir() {
    return ROOFCAST_SOURCE_DIR;
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
    }
    folder().clear();
    return 0;
}

}  // namespace roofcast::fuzz
