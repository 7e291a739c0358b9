#include "cli/option_names.hpp"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;
using cli::FieldOption;
using test::contains;
using test::printed;
using test::refused;

namespace {

constexpr const char* commands[] = {"predict",  "memory", "validate", "calibrate", "bench compare", "sweep",
                                    "pipeline", "cost",   "compare",  "serve-sim", "recommend"};

/// Lines of the library's sources without comments.
std::vector<std::string> library_lines() {
    std::vector<std::string> lines;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::filesystem::path(ROOFCAST_SOURCE_DIR) / "src")) {
        if (entry.path().extension() != ".cpp" || entry.path().parent_path().filename() == "cli") continue;
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);) lines.push_back(line.substr(0, line.find("//")));
    }
    return lines;
}

/// With --batch and --tp, but not --prompt.
class SmallCommand {
public:
    SmallCommand() {
        app_.add_option("--batch", value_);
        app_.add_option("--tp", value_);
    }
    [[nodiscard]] const CLI::App& app() const { return app_; }

private:
    CLI::App app_;
    std::string value_;
};

}  // namespace

TEST_CASE("options: every field stands in the table once, for an option that some command has") {
    std::set<std::string_view> fields;
    std::set<std::string> options;
    for (const char* command : commands) {
        std::istringstream words(printed(std::string(command) + " --help"));
        for (std::string word; words >> word;) options.insert(word.substr(0, word.find(',')));
    }
    REQUIRE(options.contains("--tp"));
    for (const FieldOption& known : cli::field_options()) {
        CAPTURE(std::string(known.field));
        CHECK(fields.insert(known.field).second);
        CHECK(options.contains(std::string(known.option)));
    }
}

TEST_CASE("options: the library names every field of the table, and no field in a text that the table lacks") {
    std::string all;
    std::set<std::string> named;
    const std::regex field("`([a-z_]+(\\.[a-z_]+)*)`");
    for (const std::string& line : library_lines()) {
        all += line + '\n';
        if (line.find('"') == std::string::npos) continue;
        for (std::sregex_iterator m(line.begin(), line.end(), field), end; m != end; ++m) named.insert((*m)[1]);
    }
    std::set<std::string> known{"like"};  // a key of software files
    for (const FieldOption& one : cli::field_options()) {
        const std::string name(one.field);
        CAPTURE(name);
        known.insert(name);
        const bool is_named = contains(all, '"' + name + '"') || contains(all, '`' + name + '`');
        CHECK(is_named);
    }
    REQUIRE(named.contains("parallel.tensor"));
    for (const std::string& name : named) {
        CAPTURE(name);
        CHECK(known.contains(name));
    }
}

TEST_CASE("options: a command's own options stand for fields in lines, cells and JSON alike") {
    const SmallCommand command;
    Report report;
    report.document = {{"`batch`", {{"notes", {"`batch` 2", "`roofcast gpu list`"}}, {"batch", 2}}}};
    report.before = {"with `parallel.tensor`"};
    report.after = {"`prompt_tokens` is of other commands"};
    report.tables = {{.title = "by `batch`", .columns = {{"reason", "reason"}}, .rows = {{std::string("`batch` divides")}}}};
    report.csv = report.tables.front();
    const Report shown = cli::with_options(report, command.app());
    CHECK(shown.document.dump() == R"({"`batch`":{"notes":["--batch 2","`roofcast gpu list`"],"batch":2}})");
    CHECK(shown.before.front() == "with --tp");
    CHECK(shown.after.front() == report.after.front());
    CHECK(shown.tables.front().title == "by --batch");
    CHECK(shown.tables.front().rows[0][0] == Cell("--batch divides"));
    CHECK(shown.csv.rows[0][0] == Cell("--batch divides"));
}

TEST_CASE("options: errors of the library name options on the command line") {
    const std::string llama = "predict --gpu h100 --model llama-3.1-8b ";
    const std::pair<std::string, std::string> cases[] = {
        {llama + "--tp 3",
         "roofcast: --tp: llama-3.1-8b has 32 attention heads, and 3 does not divide them; use --tp 1, 2, 4, 8, 16 or 32\n"},
        {llama + "--tp 4 --pp 4", "found 4 (16 GPUs in one copy); use --pp 2 or fewer"},
        {"predict --gpu h100 --model llama-2-7b --prompt 4000 --generate 200",
         "roofcast: --prompt: llama-2-7b supports at most 4096 tokens of context; found 4199 tokens with those to generate; --prompt 3897 "
         "or "
         "less\n"},
        {llama + "--precision fp16 --kv fp32", "--kv: the KV cache is wider than the precision of attention"},
        {llama + "--cached-prefix 1", "--cached-prefix: out of range"},
        {llama + "--layout nhwc", "--layout: llama-3.1-8b takes no images"},
        {llama + "--host-time 0", "--host-time: out of range"},
        {"predict --gpu h100 --model swin-tiny --image-size 1", "--image-size: the image is too small"},
        {"predict --gpu v100 --model resnet50 --precision bf16", "--precision: Tesla V100"},
        {"predict --gpu h100 --model resnet50 --data-dir /nonexistent",
         "--data-dir: the folder holds no roofcast data; found /nonexistent"},
        {"serve-sim --gpu h100 --model resnet50 --rate 1", "--model: resnet50 is not a language model"},
        {"cost --gpu h100 --model resnet50 --host-watts -1", "--host-watts: out of range"},
        {"cost --gpu h100 --model resnet50 --instance nonsense", "--instance: "},
        {"recommend --gpu h100 --model llama-3.1-8b --generate 1 --slo tpot=1s",
         "--slo: TPOT needs at least two output tokens; found tpot; leave it out, or --generate 2 or more"},
        {"sweep --gpu h100 --model resnet50 --shard 9/8", "--shard: invalid shard"},
        {"validate --by nothing", "--by: unknown key to group by"}};
    for (const auto& [arguments, part] : cases) {
        const std::string text = refused(arguments);
        CAPTURE(text);
        CHECK(contains(text, part));
    }
}

TEST_CASE("options: reports name options on the command line, in every format") {
    for (const char* format : {"table", "json", "csv"}) {
        const std::string text = printed(std::string("sweep --gpu h100 --model llama-3.1-8b --tp 1,3 --format ") + format);
        CAPTURE(text);
        CHECK(contains(text, "--tp: llama-3.1-8b has 32 attention heads, and 3 does not divide them"));
        CHECK_FALSE(contains(text, "parallel.tensor"));
    }
    CHECK(contains(printed("cost --gpu h100 --model resnet50"), "(--utilization)"));
    const std::string answer = printed("recommend --gpu h100 --model llama-3.1-8b --slo tpot=1s");
    for (const char* part : {"(no --rate)", "ranked by --confidence expected", "no --rate of requests is given"})
        CHECK(contains(answer, part));
}

TEST_CASE("options: a pipeline's errors name keys of its file") {
    const test::TemporaryFile file(
        "fields.toml", "name = \"p\"\n[[stage]]\nname = \"text\"\nmodel = \"llama-3.1-8b\"\ndevice = \"h100\"\ntensor_parallel = 3\n");
    const std::string text = refused("pipeline " + file.path().string());
    CAPTURE(text);
    CHECK(contains(
        text, ": tensor_parallel: stage text: llama-3.1-8b has 32 attention heads, and 3 does not divide them; use `tensor_parallel` 1,"));
}
