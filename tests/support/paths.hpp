#pragma once
/// Where the shipped data lies, and temporary files.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace roofcast::test {

inline std::filesystem::path source_dir() {
    return ROOFCAST_SOURCE_DIR;
}
inline std::filesystem::path gpus_dir() {
    return source_dir() / "gpus";
}
inline std::filesystem::path software_dir() {
    return source_dir() / "software";
}
inline std::filesystem::path models_dir() {
    return source_dir() / "models";
}

inline std::string text_of(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

/// A file with `text` in a folder of its own, and in folders of that one where `name` has slashes, removed when it goes out of scope.
class TemporaryFile {
public:
    TemporaryFile(std::string_view name, std::string_view text) {
        std::string pattern = (std::filesystem::temp_directory_path() / "roofcast-test-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
        path_ = folder_ / name;
        std::filesystem::create_directories(path_.parent_path());
        std::ofstream(path_, std::ios::binary) << text;
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path folder_, path_;
};

}  // namespace roofcast::test
