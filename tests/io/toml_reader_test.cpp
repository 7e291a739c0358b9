#include "io/toml_reader.hpp"

#include <doctest/doctest.h>

#include "support/paths.hpp"

using namespace roofcast;
using test::TemporaryFile;

namespace {

/// The message of the Error that `action` throws.
template <class Action>
std::string message_of(Action action) {
    try {
        action();
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a file that is missing, a directory or empty is an error that says which") {
    const TemporaryFile empty("empty.toml", " \n");
    CHECK(contains(message_of([] { parse_toml_file("/nonexistent/x.toml"); }), "does not exist"));
    CHECK(contains(message_of([&] { parse_toml_file(empty.path().parent_path()); }), "is a directory"));
    CHECK(contains(message_of([&] { parse_toml_file(empty.path()); }), "is empty"));
}

TEST_CASE("invalid TOML names the line") {
    const TemporaryFile file("bad.toml", "a = 1\nb = = 2\n");
    CHECK(contains(message_of([&] { parse_toml_file(file.path()); }), "bad.toml:2: not valid TOML"));
}

TEST_CASE("a misspelt key is an error with its line and the nearest known key") {
    const TemporaryFile file("a.toml", "name = \"x\"\nlatency = 2\n\n[memory]\nbandwith_gb_s = 5\n");
    const auto table = parse_toml_file(file.path());
    TableReader reader(table, "a.toml");
    TableReader memory = reader.table("memory");
    CHECK_FALSE(memory.number_if("bandwidth_gb_s"));
    const std::string message = message_of([&] { memory.finish(); });
    CHECK(contains(message, "a.toml:5: memory.bandwith_gb_s: unknown key"));
    CHECK(contains(message, "did you mean bandwidth_gb_s?"));
}

TEST_CASE("a misspelt required key is reported as such, with its line") {
    const TemporaryFile file("a.toml", "layers = 2\nhiden = 8\nintermedate = 16\n[memroy]\nx = 1\n[mla]\nnope_dim = 4\n");
    const auto table = parse_toml_file(file.path());
    TableReader reader(table, "a.toml");
    const std::string message = message_of([&] { reader.count("hidden"); });
    CHECK(contains(message, "a.toml:2: hiden: unknown key"));
    CHECK(contains(message, "did you mean hidden?"));
    CHECK(contains(message_of([&] { reader.count("intermediate"); }), "a.toml:3: intermedate: unknown key"));
    CHECK(contains(message_of([&] { reader.table("memory"); }), "a.toml:4: memroy: unknown table"));
    // Other words are other keys: what is missing is missing.
    CHECK(contains(message_of([&] { reader.count("heads"); }), "heads: a required key is missing"));
    // nope_dim differs from rope_dim by a letter, and is known.
    TableReader mla = reader.table("mla");
    mla.expect({"nope_dim"});
    CHECK(contains(message_of([&] { mla.count("rope_dim"); }), "mla.rope_dim: a required key is missing"));
}

TEST_CASE("a misspelt key of a variant's architecture is found behind it") {
    const TemporaryFile file("b.toml", "hiden = 8\n[[variant]]\nlayers = 3\n");
    const auto table = parse_toml_file(file.path());
    TableReader reader(*table["variant"][0].as_table(), "b.toml", "variant[0]", &table);
    CHECK(contains(message_of([&] { reader.count("hidden"); }), "b.toml:1: variant[0].hiden: unknown key"));
}

TEST_CASE("numbers are checked for type, range and being finite") {
    const TemporaryFile file("n.toml", "a = nan\nb = inf\nc = -1\nd = \"x\"\ne = 1.5\n");
    const auto table = parse_toml_file(file.path());
    TableReader reader(table, "n.toml");
    CHECK(contains(message_of([&] { reader.number("a"); }), "n.toml:1: a: out of range; found nan; expected a finite number"));
    CHECK(contains(message_of([&] { reader.number("b"); }), "out of range"));
    CHECK(contains(message_of([&] { reader.number("c", positive); }), "expected a number above 0"));
    CHECK(contains(message_of([&] { reader.number("d"); }), "wrong type"));
    CHECK(contains(message_of([&] { reader.count("e"); }), "expected a whole number of at least 1"));
    CHECK(contains(message_of([&] { reader.number("f"); }), "a required key is missing"));
}

TEST_CASE("a list or a table in place of a value is shown on one line") {
    const TemporaryFile file("lists.toml", "a = [0.0625, 8.8, 2.0, [\"x\", 2]]\nb = { one = 1, none = [], rest = {} }\n");
    const auto table = parse_toml_file(file.path());
    TableReader reader(table, "lists.toml");
    CHECK(contains(message_of([&] { reader.number_if("a", positive); }), "found [0.0625, 8.8, 2.0, ['x', 2]]"));
    CHECK(contains(message_of([&] { reader.number_if("b", positive); }), "found { none = [], one = 1, rest = {} }"));
}

TEST_CASE("a base table stands behind a table and its sub-tables") {
    const TemporaryFile file(
        "b.toml", "layers = 2\nhidden = 8\n[published]\nsource = \"s\"\n[[variant]]\nlayers = 3\n[variant.published]\nparameters = 5\n");
    const auto table = parse_toml_file(file.path());
    TableReader base(table, "b.toml");
    const auto& variant = *table["variant"][0].as_table();
    TableReader reader(variant, "b.toml", "variant", &table);
    CHECK(reader.count("layers") == 3);
    CHECK(reader.count("hidden") == 8);
    TableReader published = reader.table("published");
    CHECK(published.text("source") == "s");
    CHECK(published.count("parameters") == 5);
    CHECK_NOTHROW(reader.finish());
}

TEST_CASE("a key of so many parts that freeing its tables would exhaust the stack is refused") {
    std::string parts = "a";
    for (int i = 0; i < 500'000; ++i) parts += ".a";
    const TemporaryFile key("a.toml", "x = 1\n" + parts + " = 1\n");
    CHECK(contains(message_of([&] { parse_toml_file(key.path()); }), "a.toml:2: tables and lists are nested too deeply"));
    const TemporaryFile header("b.toml", "[" + parts + "]\n");
    CHECK(contains(message_of([&] { parse_toml_file(header.path()); }), "b.toml:1: tables and lists are nested too deeply"));
    // Where the text is no TOML, what was read of it is freed all the same.
    CHECK(contains(message_of([&] { parse_toml(parts + " = = 1", "c"); }), "c:1: not valid TOML"));
}

TEST_CASE("deep keys are refused behind whatever a reader of strings may misread") {
    std::string parts = "a";
    for (int i = 0; i < 40'000; ++i) parts += ".a";
    // A long string may end in four or five quotes: one or two of them are its own.
    for (const std::string before :
         {"s = \"\"\"x\"\"\"\"\n", "s = \"\"\"x\"\"\"\"\"\n", "s = '''x''''\n", "s = \"\\\\\"\n", "# \"\"\"\n", "\"q\".'r' = 1\n"}) {
        const std::string message = message_of([&] { parse_toml(before + parts + " = 1\n", "f"); });
        CAPTURE(before);
        CHECK(contains(message, "f:2: tables and lists are nested too deeply; expected at most 32 levels"));
    }
    // Keys, headers and inline tables add up.
    const std::string five = "a.a.a.a.a";
    CHECK(contains(message_of([&] {
                       parse_toml("[" + five + "." + five + "]\n" + five + "." + five + " = { " + five + " = { " + five + "." + five +
                                      " = 1 } }\n",
                                  "g");
                   }),
                   "nested too deeply"));
    CHECK(parse_toml("[" + five + "]\n" + five + " = { " + five + " = [[1]] }\n", "h").size() == 1);
}

TEST_CASE("a large file with many dots and brackets in all is read, one with a million is not") {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += "[[layer]]\nname = \"a.b\"\nkernel = [3, 3]\nscale = 0.5\n";
    CHECK(parse_toml(text, "large")["layer"].as_array()->size() == 20'000);
    CHECK(contains(message_of([] { parse_toml("# " + std::string(1'000'001, '.'), "dots"); }), "dots: too many dots and brackets"));
}

TEST_CASE("dots in strings, comments and lists of numbers are no parts of keys") {
    const std::string dots(100, '.');
    const std::string text = "# " + dots + "\na = \"" + dots + "\\\"" + dots + "\"  # it's\nb = '" + dots + "'\nc = \"\"\"\n\"" + dots +
                             "\n\"\"\"\nd = \'\'\'" + dots + "'" + dots +
                             "\'\'\'\ne = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, "
                             "1.2, 1.3, 1.4, 1.5, 1.6, 1.7]\nf.g.h.i = 1\n";
    CHECK(parse_toml(text, "a").size() == 6);
}

TEST_CASE("whole numbers that a double does not hold are read as the nearest, and fall out of ranges as others do") {
    const toml::table root = parse_toml("a = 184444444444444441\nb = [184444444444444441, -9223372036854775807]\n", "large.toml");
    TableReader reader(root, "large.toml");
    CHECK(reader.number("a", {}) == 184444444444444441.0);
    CHECK(reader.numbers_if("b") == std::vector<double>{184444444444444441.0, -9223372036854775807.0});
    CHECK(contains(message_of([&] { static_cast<void>(reader.number("a", {0, 1e6})); }), "large.toml:1"));
}
