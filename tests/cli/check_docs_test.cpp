#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <sstream>

#include "support/paths.hpp"

using roofcast::test::contains;
using roofcast::test::TemporaryFile;

namespace {

/// What tools/check-docs says of a project whose README and only page are these.
std::string doc_findings(const std::string& readme, const std::string& page, int expected_status) {
    const TemporaryFile file("README.md", readme);
    const auto root = file.path().parent_path();
    std::filesystem::create_directory(root / "docs");
    std::ofstream(root / "docs" / "page.md") << page;
    std::ofstream(root / "docs" / "words.txt") << "kubectl\nroofcast\n";
    const std::string command = (roofcast::test::source_dir() / "tools" / "check-docs").string() + " --root " + root.string() + " >" +
                                (root / "messages").string() + " 2>&1";
    CHECK(WEXITSTATUS(std::system(command.c_str())) == expected_status);
    return roofcast::test::text_of(root / "messages");
}

const std::string good_readme = "# A project\n\nRead the [page](docs/page.md#first-steps) of roofcast.\n";
const std::string good_page = "# Page\n\n## First steps\n\nOne fact.\n\n- Another fact.\n\n```console\n$ true\n```\n";

}  // namespace

TEST_CASE("documentation in order has no findings") {
    CHECK(doc_findings(good_readme, good_page, 0).empty());
}

TEST_CASE("a link to a missing file or heading, or out of docs, is found") {
    CHECK(contains(doc_findings("[a](docs/no.md)\n", good_page, 1), "README.md:1: docs/no.md does not exist"));
    CHECK(
        contains(doc_findings("[a](docs/page.md#no-steps)\n", good_page, 1), "README.md:1: docs/page.md#no-steps: no-steps is no heading"));
    CHECK(
        contains(doc_findings(good_readme, good_page + "\n[out](../README.md)\n", 1), "docs/page.md:13: ../README.md lies outside docs/"));
    // GitHub keeps the two hyphens around the dash, the site joins them.
    CHECK(contains(doc_findings("[a](docs/page.md#a--b)\n", good_page + "\n## A – B\n", 1), "a--b is an anchor on GitHub or on the site"));
}

TEST_CASE("a link in code is no link") {
    CHECK(doc_findings(good_readme, good_page + "\nA `[a](b)` in code.\n", 0).empty());
}

TEST_CASE("a long sentence and a page of long sentences are found, whatever tables and code hold") {
    std::string words;
    for (int i = 0; i < 21; ++i) words += "fact ";
    CHECK(contains(doc_findings(good_readme, "# Page\n\n## First steps\n\nA " + words + words + ".\n", 1),
                   "docs/page.md:5: a sentence of 43 words"));
    CHECK(
        contains(doc_findings(good_readme, "# Page\n\n## First steps\n\nA " + words + ".\n", 1), "docs/page.md:1: 22.0 words a sentence"));
    CHECK(doc_findings(good_readme, good_page + "\n| a |\n|---|\n| " + words + words + " |\n\n    " + words + words + "\n", 0).empty());
}

TEST_CASE("an unknown word is found, in text and tables alike, and words of code and of the list are known") {
    CHECK(contains(doc_findings(good_readme, good_page + "\nA speling.\n", 1), "docs/page.md:13: unknown word: speling"));
    CHECK(contains(doc_findings(good_readme, good_page + "\n| speling |\n|---|\n", 1), "docs/page.md:13: unknown word: speling"));
    CHECK(doc_findings(good_readme, good_page + "\nKubectl and `speling`.\n", 0).empty());
}

TEST_CASE("a console block of more than 100 columns is found") {
    CHECK(contains(doc_findings(good_readme, good_page + "\n```console\n" + std::string(101, 'x') + "\n```\n", 1),
                   "docs/page.md:14: 101 columns"));
    CHECK(doc_findings(good_readme, good_page + "\n```console\n" + std::string(100, 'x') + "\n```\n", 0).empty());
}

TEST_CASE("a list or table that the site would show as text is found") {
    CHECK(contains(doc_findings(good_readme, good_page + "\nText:\n- item\n", 1), "docs/page.md:14: a list needs an empty line above"));
    CHECK(contains(doc_findings(good_readme, good_page + "\nText:\n| a |\n|---|\n", 1),
                   "docs/page.md:14: a table needs an empty line above"));
}
