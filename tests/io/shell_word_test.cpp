#include "io/shell_word.hpp"

#include <doctest/doctest.h>

using roofcast::shell_word;

TEST_CASE("a word of a shell is quoted where it has more than letters, digits and the signs of paths") {
    CHECK(shell_word("llama-3.1-8b") == "llama-3.1-8b");
    CHECK(shell_word("nets.toml#small") == "nets.toml#small");
    CHECK(shell_word("vllm 0.24") == "'vllm 0.24'");
    CHECK(shell_word("a; b") == "'a; b'");
    CHECK(shell_word("it's") == "'it'\\''s'");
    CHECK(shell_word("") == "''");
    CHECK(shell_word("#comment") == "'#comment'");
}
