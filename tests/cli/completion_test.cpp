// Completion scripts: that of bash is run, those of zsh and fish are compared with the help of each command.

#include <doctest/doctest.h>

#include <algorithm>

#include "cli/help_pages.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast::test;

namespace {

/// Runs a bash that has the script loaded and the program as "roofcast".
class Bash {
public:
    Bash() : script_("roofcast.bash", printed("completion bash")) {}

    /// What is offered after `words`, of which the last is being written.
    [[nodiscard]] std::vector<std::string> offered(const std::vector<std::string>& words) const {
        std::string line;
        for (const std::string& word : words) line += " '" + word + "'";
        const std::string commands = "source " + script_.path().string() + "\nroofcast() { '" ROOFCAST_BINARY "' \"$@\"; }\n" +
                                     "COMP_WORDS=(" + line + ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) +
                                     "\n_roofcast\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
        const TemporaryFile file("run.bash", commands);
        const TemporaryFile out("out", "");
        const std::string run = "cd '" ROOFCAST_SOURCE_DIR "' && ROOFCAST_DATA='" ROOFCAST_SOURCE_DIR "' bash " + file.path().string() +
                                " >" + out.path().string() + " 2>&1";
        CHECK(std::system(run.c_str()) == 0);
        return lines_of(text_of(out.path()));
    }

private:
    TemporaryFile script_;
};

bool offers(const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

TEST_CASE("completion: bash offers commands, subcommands and all options of each command") {
    const Bash bash;
    CHECK(bash.offered({"roofcast", "pre"}) == std::vector<std::string>{"predict"});
    CHECK(bash.offered({"roofcast", "gpu", "sh"}) == std::vector<std::string>{"show"});
    CHECK(offers(bash.offered({"roofcast", "help", ""}), "predict"));
    CHECK(bash.offered({"roofcast", "completion", ""}) == std::vector<std::string>{"bash", "zsh", "fish"});
    for (const std::string command : {"predict", "gpu list", "calibrate", "sweep"}) {
        std::vector<std::string> words{"roofcast"};
        std::istringstream parts(command);
        for (std::string part; parts >> part;) words.push_back(part);
        words.emplace_back("-");
        CHECK(bash.offered(words) == option_names(printed("help " + command)));
    }
}

TEST_CASE("completion: bash offers ids of GPUs, models and engines, choices and files") {
    const Bash bash;
    CHECK(bash.offered({"roofcast", "predict", "-g", "h200"}) == std::vector<std::string>{"h200-sxm-141gb"});
    CHECK(bash.offered({"roofcast", "predict", "--gpu", "l4", "h200-s"}) == std::vector<std::string>{"h200-sxm-141gb"});
    CHECK(bash.offered({"roofcast", "predict", "--gpu", "=", "h200-s"}) == std::vector<std::string>{"h200-sxm-141gb"});
    CHECK(bash.offered({"roofcast", "gpu", "show", "h200-s"}) == std::vector<std::string>{"h200-sxm-141gb"});
    CHECK(bash.offered({"roofcast", "memory", "--model", "llama-3.1-8"}) == std::vector<std::string>{"llama-3.1-8b"});
    CHECK(bash.offered({"roofcast", "sweep", "-p", "fp16,bf"}) == std::vector<std::string>{"fp16,bf16"});
    CHECK(bash.offered({"roofcast", "predict", "--execution", "e"}) == std::vector<std::string>{"eager"});
    CHECK(offers(bash.offered({"roofcast", "predict", "--software", "vllm"}), "vllm"));
    CHECK(offers(bash.offered({"roofcast", "predict", "--format", ""}), "json"));
    CHECK(bash.offered({"roofcast", "pipeline", "READ"}) == std::vector<std::string>{"README.md"});
    // After a flag or a whole value, other options follow.
    CHECK(bash.offered({"roofcast", "predict", "--batch", "4", "--expl"}) == std::vector<std::string>{"--explain"});
}

TEST_CASE("completion: the scripts of zsh and fish have every option of every command") {
    const std::string zsh = printed("completion zsh"), fish = printed("completion fish");
    CHECK(zsh.starts_with("#compdef roofcast\n"));
    const std::vector<std::string> fish_lines = lines_of(fish);
    for (const std::string& command : command_paths()) {
        CAPTURE(command);
        std::string function = "_roofcast_" + command;
        const std::string start_of_line = "complete -c roofcast -n '__roofcast_at \"" + command + "\"' ";
        std::replace_if(
            function.begin(), function.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
        const auto start = zsh.find("\n" + function + "() {");
        REQUIRE(start != std::string::npos);
        const std::string body = zsh.substr(start, zsh.find("\n}\n", start) - start);
        for (const std::string& name : option_names(printed("help " + command))) {
            CAPTURE(name);
            CHECK(contains(body, name + "["));
            const std::string letter_or_word = name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            CHECK(std::any_of(fish_lines.begin(), fish_lines.end(), [&](const std::string& line) {
                return line.starts_with(start_of_line) && contains(line + " ", letter_or_word + " ");
            }));
        }
    }
}

TEST_CASE("completion: ids are those of the data folder, and other shells are refused") {
    CHECK(offers(lines_of(printed("completion --list gpus")), "h100-sxm5-80gb"));
    CHECK(offers(lines_of(printed("completion --list models")), "resnet50"));
    CHECK(offers(lines_of(printed("completion --list engines")), "sglang"));
    CHECK(contains(refused("completion tcsh"), "unknown shell; found tcsh; expected bash, zsh or fish"));
    CHECK(contains(refused("completion"), "the shell is missing; expected bash, zsh or fish"));
}
