#pragma once
/// Examples of commands that tests run in many ways: tests/support/commands.txt.

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/paths.hpp"

namespace roofcast::test {

struct ExampleCommand {
    std::string schema, arguments;
};

/// All examples. Files that they name are found from wherever the tests run.
inline std::vector<ExampleCommand> example_commands() {
    const std::string folder = source_dir().string() + "/";
    std::ifstream file(source_dir() / "tests" / "support" / "commands.txt");
    std::vector<ExampleCommand> commands;
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(": ");
        if (line.empty() || line.front() == '#' || colon == std::string::npos) continue;
        std::string arguments = line.substr(colon + 2);
        for (const std::string start : {" docs/", " validation_data/"}) {
            for (auto at = arguments.find(start); at != std::string::npos; at = arguments.find(start, at + 1 + folder.size()))
                arguments.insert(at + 1, folder);
        }
        commands.push_back({line.substr(0, colon), std::move(arguments)});
    }
    REQUIRE_FALSE(commands.empty());
    return commands;
}

}  // namespace roofcast::test
