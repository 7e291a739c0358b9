#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <sstream>

#include "support/paths.hpp"
#include "support/program.hpp"

using roofcast::test::contains;
using roofcast::test::TemporaryFile;

namespace {

/// A project of one example, with a program of which `script` is the whole text.
class Project {
public:
    explicit Project(const std::string& script, const char* readme = "```console\n$ roofcast say hello\nas before\n```\n")
        : readme_("README.md", readme) {
        std::filesystem::create_directory(root() / "tools");
        std::filesystem::copy_file(roofcast::test::source_dir() / "tools" / "update-docs", root() / "tools" / "update-docs");
        std::ofstream(root() / "program") << "#!/bin/sh\n" << script << '\n';
        std::filesystem::permissions(root() / "program", std::filesystem::perms::owner_all);
    }
    /// Exit status of the tool.
    [[nodiscard]] int update(const std::string& options = "") const {
        const std::string folder = root().string();
        const std::string command = folder + "/tools/update-docs " + options + " " + folder + "/program >" + folder + "/messages 2>&1";
        return WEXITSTATUS(std::system(command.c_str()));
    }
    [[nodiscard]] std::string text(const char* file) const {
        std::ostringstream out;
        out << std::ifstream(root() / file).rdbuf();
        return out.str();
    }

private:
    [[nodiscard]] std::filesystem::path root() const { return readme_.path().parent_path(); }
    TemporaryFile readme_;
};

}  // namespace

TEST_CASE("an example of the documentation is replaced by what the program prints") {
    const Project project("echo \"$*\"; echo a note >&2");
    CHECK(project.update("--check") == 1);
    CHECK(project.update() == 0);
    CHECK(project.text("README.md") == "```console\n$ roofcast say hello\nsay hello\n```\n");
    CHECK(project.update("--check") == 0);
}

TEST_CASE("an example of the documentation that fails or prints nothing is an error and changes nothing") {
    for (const char* script : {"echo half; echo the reason >&2; exit 2", "echo the reason >&2", "exit 139"}) {
        CAPTURE(script);
        const Project project(script);
        CHECK(project.update() == 1);
        CHECK(project.update("--check") == 1);
        CHECK(contains(project.text("README.md"), "as before"));
        CHECK(contains(project.text("messages"), "roofcast say hello"));
        if (contains(script, "reason")) CHECK(contains(project.text("messages"), "the reason"));
    }
}

TEST_CASE("an example without an end is an error, not the end of what follows it") {
    const char* readme =
        "```console\n$ roofcast say hello\nas before\n\n## A section\n\n```console\n$ roofcast say hello\nas before\n```\n";
    const Project project("echo hello", readme);
    CHECK(project.update() == 1);
    CHECK(project.text("README.md") == readme);
    CHECK(contains(project.text("messages"), "README.md:7: an example above has no end"));
}

TEST_CASE("the last example without an end is an error too, whatever follows it") {
    for (const char* after : {"", "Prose that follows.\n", "## A section\n\n```\nplain\n```\n"}) {
        CAPTURE(after);
        const std::string readme = std::string("```console\n$ roofcast say hello\nas before\n") + after;
        const Project project("echo hello", readme.c_str());
        CHECK(project.update() == 1);
        CHECK(project.text("README.md") == readme);
        CHECK(contains(project.text("messages"), "no end"));
    }
}
