// Help, the overview, the reference and man pages, all through the built program.

#include <doctest/doctest.h>

#include <cctype>
#include <filesystem>
#include <set>

#include "cli/help_pages.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast::test;

namespace {

/// Runs `command` in `folder`, where the program is "roofcast". The exit code.
int run_in(const std::filesystem::path& folder, const std::string& command) {
    const std::string line = "cd '" + folder.string() + "' && PATH='" + std::filesystem::path(ROOFCAST_BINARY).parent_path().string() +
                             "':$PATH ROOFCAST_DATA='" ROOFCAST_SOURCE_DIR "' XDG_DATA_HOME=/nonexistent; export PATH ROOFCAST_DATA " +
                             "XDG_DATA_HOME; " + command;
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("help: every page fits 80 columns, groups its options, describes each and gives two examples") {
    const auto commands = command_paths();
    REQUIRE(commands.size() > 20);
    for (const std::string& command : commands) {
        CAPTURE(command);
        const std::string page = printed(command + " --help");
        CHECK(page.starts_with("Usage: roofcast " + command));
        for (const std::string& line : lines_of(page)) {
            CAPTURE(line);
            CHECK(line.size() <= 80);
            CHECK_FALSE(line.ends_with(' '));
        }
        // Options without a row of src/cli/option_docs.cpp are in the group "Other" and have the value VALUE.
        CHECK_FALSE(contains(page, "\nOther:\n"));
        CHECK_FALSE(contains(page, " VALUE"));
        CHECK(example_lines(page).size() == 2);
    }
}

TEST_CASE("help: what is said of an option begins with a capital letter and does not end with a full stop") {
    for (const std::string& command : command_paths()) {
        const auto texts = option_texts(printed("help " + command));
        REQUIRE_FALSE(texts.empty());
        for (const std::string& text : texts) {
            CAPTURE(command);
            CAPTURE(text);
            REQUIRE_FALSE(text.empty());
            CHECK(std::isupper(static_cast<unsigned char>(text.front())) != 0);
            CHECK_FALSE(text.ends_with('.'));
            CHECK_FALSE(contains(text, "..."));
            CHECK_FALSE(contains(text, "(default: ["));
        }
    }
}

TEST_CASE("help: the program alone, help and --help print the overview with all commands") {
    const std::string overview = printed("");
    CHECK(printed("help") == overview);
    CHECK(printed("--help") == overview);
    for (const char* task : {"Predict and size:", "Serve and buy:", "Measure and calibrate:", "Look things up:"})
        CHECK(contains(overview, task));
    // A command without a row of src/cli/command_docs.cpp stands under "Commands".
    CHECK_FALSE(contains(overview, "\nCommands:\n"));
    for (const std::string& command : lines_of(printed("completion --list commands"))) CHECK(contains(overview, "\n  " + command + " "));
    CHECK(example_lines(overview).size() == 3);
    for (const std::string& line : lines_of(overview)) CHECK(line.size() <= 80);
    CHECK(printed("--version").starts_with("roofcast "));
}

TEST_CASE("help: help COMMAND is COMMAND --help, and unknown commands are refused") {
    for (const std::string& command : command_paths()) CHECK(printed("help " + command) == printed(command + " --help"));
    CHECK(contains(refused("help predikt"), "did you mean predict?"));
    CHECK(contains(refused("help gpu shw"), "expected list, show, check, new; did you mean show?"));
    CHECK(contains(refused("help predict all"), "predict has no subcommands; found all"));
    CHECK(contains(refused("gpu shw"), "unknown subcommand; found shw; expected list, show, check, new; did you mean show?"));
    CHECK(contains(refused("gpu"), "gpu: a subcommand is required; expected list, show, check, new; see roofcast gpu --help"));
}

TEST_CASE("help: letters stand for the long options wherever these are") {
    const std::pair<std::string, std::string> letters[] = {{"-g", "--gpu"}, {"-m", "--model"}, {"-b", "--batch"}, {"-p", "--precision"}};
    for (const std::string& command : command_paths()) {
        const auto names = option_names(printed("help " + command));
        const std::set<std::string> known(names.begin(), names.end());
        for (const auto& [letter, option] : letters) {
            CAPTURE(command);
            CAPTURE(option);
            CHECK(known.contains(letter) == known.contains(option));
        }
    }
    CHECK(printed("predict -g h100-sxm5-80gb a100-pcie-80gb -m resnet50 -b 4 -p fp16") ==
          printed("predict --gpu h100-sxm5-80gb a100-pcie-80gb --model resnet50 --batch 4 --precision fp16"));
    CHECK(contains(refused("predict -g a100-pcie-80gb -m resnet50 -b010"), "leading zero; found -b010; write 10"));
}

TEST_CASE("help: examples run as they stand in a checkout") {
    const TemporaryFile place("here", "");
    const auto folder = place.path().parent_path();
    for (const char* part : {"docs", "gpus", "models", "software", "validation_data"})
        std::filesystem::create_directory_symlink(source_dir() / part, folder / part);
    std::set<std::string> examples;
    for (const std::string& line : example_lines(printed("help"))) examples.insert(line);
    for (const std::string& command : command_paths()) {
        for (const std::string& line : example_lines(printed("help " + command))) examples.insert(line);
    }
    CHECK(examples.size() > 40);
    for (const std::string& example : examples) {
        CAPTURE(example);
        CHECK(run_in(folder, example + " >out 2>err </dev/null") == 0);
        CHECK(std::filesystem::file_size(folder / "out") + (contains(example, "--output") ? 1 : 0) > 0);
    }
}

TEST_CASE("help: docs/reference/commands.md is what roofcast help --markdown prints") {
    const std::string fresh = printed("help --markdown");
    const bool is_fresh = text_of(source_dir() / "docs" / "reference" / "commands.md") == fresh;
    CHECK_MESSAGE(is_fresh, "run: roofcast help --markdown >docs/reference/commands.md");
    for (const std::string& command : command_paths()) CHECK(contains(fresh, "# roofcast " + command + "\n"));
}

TEST_CASE("help: every command has a man page that groff formats without a warning") {
    const TemporaryFile place("here", "");
    const auto folder = place.path().parent_path() / "man1";
    CHECK(printed("help --man '" + folder.string() + "'").empty());
    std::vector<std::string> pages{"roofcast"};
    for (std::string command : command_paths()) {
        std::replace(command.begin(), command.end(), ' ', '-');
        pages.push_back("roofcast-" + command);
    }
    for (const std::string& page : pages) {
        CAPTURE(page);
        REQUIRE(std::filesystem::exists(folder / (page + ".1")));
        CHECK(run_in(folder, "groff -man -Tutf8 -ww " + page + ".1 >out 2>err") == 0);
        CHECK(text_of(folder / "err").empty());
        CHECK(text_of(folder / "out").size() > 500);
    }
    CHECK(contains(text_of(folder / "roofcast-predict.1"), "\\fB\\-b, \\-\\-batch\\fR \\fIN\\fR"));
}
