#pragma once
/// Running the built program and reading what it prints.

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace roofcast::test {

struct ProgramResult {
    int exit_code = -1;
    std::string output;  ///< standard output, or standard error with `errors`
};

/// Runs `roofcast ARGUMENTS` through the shell. With `errors`, captures standard error in place of standard output. Fits of users are
/// looked for in `user_data` alone: those of whoever runs the tests would change predictions.
inline ProgramResult roofcast(const std::string& arguments, bool errors = false, const std::string& user_data = "/nonexistent") {
    const std::string redirection = errors ? " 2>&1 >/dev/null" : " 2>/dev/null";
    // The width of whoever runs the tests is not theirs.
    const bool sets_width = std::getenv("ROOFCAST_TEST_COLUMNS") != nullptr;
    const std::string width = sets_width ? "COLUMNS=$ROOFCAST_TEST_COLUMNS " : "COLUMNS= ";
    const std::string command = width + "XDG_DATA_HOME='" + user_data + "' ROOFCAST_DATA='" ROOFCAST_SOURCE_DIR "' '" ROOFCAST_BINARY "' " +
                                arguments + redirection + " </dev/null";
    ProgramResult result;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return result;
    std::array<char, 4096> buffer{};
    std::size_t count = 0;
    while ((count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) result.output.append(buffer.data(), count);
    const int status = pclose(pipe);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// What a right command line prints.
inline std::string printed(const std::string& arguments) {
    CAPTURE(arguments);
    const ProgramResult result = roofcast(arguments);
    REQUIRE(result.exit_code == 0);
    return result.output;
}

/// The only prediction of what `predict --format json` prints.
inline nlohmann::json only_prediction(const std::string& output) {
    const nlohmann::json predictions = nlohmann::json::parse(output).at("predictions");
    REQUIRE(predictions.size() == 1);
    return predictions.front();
}

/// What a wrong command line prints on standard error: one line, and exit code 2.
inline std::string refused(const std::string& arguments) {
    CAPTURE(arguments);
    const ProgramResult result = roofcast(arguments, true);
    CHECK(result.exit_code == 2);
    CHECK(std::count(result.output.begin(), result.output.end(), '\n') == 1);
    return result.output;
}

}  // namespace roofcast::test
