#pragma once
/// Software with one library of one kernel family.

#include <filesystem>
#include <fstream>
#include <string>

#include "roofcast/software.hpp"
#include "support/paths.hpp"

namespace roofcast::test {

/// The family's table has these lines in addition to its name.
inline SoftwareStacks with_own_family(const std::string& lines) {
    const TemporaryFile ways("execution.toml", text_of(software_dir() / "execution.toml"));
    const auto folder = ways.path().parent_path();
    std::filesystem::create_directory(folder / "engines");
    std::filesystem::create_directory(folder / "libraries");
    std::ofstream(folder / "libraries" / "maker.toml") << "name = \"maker\"\nsource = \"a test\"\n[[family]]\nname = \"own\"\n" << lines;
    return load_software(folder);
}

}  // namespace roofcast::test
