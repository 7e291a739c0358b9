// What is printed fits the terminal.
#include <doctest/doctest.h>

#include <cstdlib>
#include <sstream>

#include "document/text_table.hpp"
#include "support/commands.hpp"
#include "support/program.hpp"

namespace {

/// COLUMNS as a terminal that wide would have, until the end of the scope.
class TerminalWidth {
public:
    explicit TerminalWidth(std::size_t columns) { ::setenv("ROOFCAST_TEST_COLUMNS", std::to_string(columns).c_str(), 1); }
    TerminalWidth(const TerminalWidth&) = delete;
    TerminalWidth& operator=(const TerminalWidth&) = delete;
    ~TerminalWidth() { ::unsetenv("ROOFCAST_TEST_COLUMNS"); }
};

std::string widest_line(const std::string& text) {
    std::istringstream lines(text);
    std::string widest;
    for (std::string line; std::getline(lines, line);) {
        if (roofcast::text_width(line) > roofcast::text_width(widest)) widest = line;
    }
    return widest;
}

}  // namespace

TEST_CASE("no command prints a line that is longer than the terminal is wide") {
    for (const std::size_t columns : {80, 120}) {
        const TerminalWidth terminal(columns);
        for (const auto& command : roofcast::test::example_commands()) {
            CAPTURE(command.arguments);
            const auto result = roofcast::test::roofcast(command.arguments);
            CHECK((result.exit_code == 0 || result.exit_code == 1));
            CHECK_FALSE(result.output.empty());
            const std::string widest = widest_line(result.output);
            CAPTURE(widest);
            CHECK(roofcast::text_width(widest) <= columns);
        }
    }
}

TEST_CASE("--wide prints every column, whatever the terminal's width") {
    const TerminalWidth terminal(80);
    const std::string list = roofcast::test::printed("gpu list"), wide = roofcast::test::printed("gpu list --wide");
    CHECK(roofcast::test::contains(list, "--wide"));
    CHECK_FALSE(roofcast::test::contains(list, "TDP W"));
    CHECK(roofcast::test::contains(wide, "TDP W"));
}

TEST_CASE("--columns and --no-headers print what a script reads") {
    const std::string ids = roofcast::test::printed("gpu list --columns id --no-headers");
    CHECK(ids.starts_with("a10\n"));
    CHECK(roofcast::test::printed("gpu list --columns id,tdp_watts --format csv").starts_with("id,tdp_watts\na10,150\n"));
    CHECK(roofcast::test::contains(roofcast::test::refused("gpu list --columns tdp"), "--columns"));
    CHECK(roofcast::test::contains(roofcast::test::refused("gpu list --columns id --format json"), "JSON always has all fields"));
}

TEST_CASE("only a terminal gets colors, or who asks for them") {
    const std::string misfit = "predict --gpu t4 --model llama-3.1-70b";
    CHECK(roofcast::test::roofcast(misfit).output.find('\x1b') == std::string::npos);
    CHECK(roofcast::test::roofcast(misfit + " --color always").output.find('\x1b') != std::string::npos);
}

TEST_CASE("Markdown has the tables of the text") {
    const std::string text = roofcast::test::printed("predict --gpu rtx-4090 --model llama-3.1-8b --format markdown");
    CHECK(text.starts_with("## Llama 3.1 8B on GeForce RTX 4090"));
    CHECK(roofcast::test::contains(text, "- **TPOT**: "));
    CHECK(roofcast::test::contains(text, "| phase | passes | latency ms |"));
}

TEST_CASE("a long answer on a terminal goes through the pager, and can be left out of it") {
    // `script` (Debian: bsdutils, which every system has) gives the program a terminal.
    const auto on_terminal = [](const std::string& arguments) {
        const std::string command =
            "script -qec \"stty rows 40 cols 80; TERM=xterm PAGER='sed s/^/paged:/' ROOFCAST_DATA='" ROOFCAST_SOURCE_DIR
            "' '" ROOFCAST_BINARY "' " +
            arguments + "\" /dev/null </dev/null";
        FILE* pipe = popen(command.c_str(), "r");
        REQUIRE(pipe != nullptr);
        std::string output;
        for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += static_cast<char>(c);
        CHECK(pclose(pipe) == 0);
        return output;
    };
    CHECK(on_terminal("gpu list").starts_with("paged:id"));
    CHECK(on_terminal("gpu list --no-pager").starts_with("id"));
    CHECK(on_terminal("gpu list --search rtx-4090").starts_with("id"));  // fewer lines than the screen
}
