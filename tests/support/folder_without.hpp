#pragma once
/// Shipped profiles but for some.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/paths.hpp"

namespace roofcast::test {

/// A folder of links to the shipped profiles and architectures, without the GPUs `ids`: GPUs that roofcast does not know.
class FolderWithout {
public:
    explicit FolderWithout(const std::vector<std::string>& ids) : readme_("readme", "profiles for a test") {
        for (const auto& entry : std::filesystem::directory_iterator(gpus_dir())) {
            const bool left_out = std::find(ids.begin(), ids.end(), entry.path().stem().string()) != ids.end();
            if (!left_out) std::filesystem::create_symlink(entry.path(), path() / entry.path().filename());
        }
    }
    [[nodiscard]] std::filesystem::path path() const { return readme_.path().parent_path(); }

private:
    TemporaryFile readme_;
};

}  // namespace roofcast::test
