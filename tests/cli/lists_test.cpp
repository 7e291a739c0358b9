// Ranges of sweep, and filters of gpu list and model list.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/number_ranges.hpp"
#include "roofcast/error.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;
using nlohmann::json;
using test::contains;
using test::printed;
using test::refused;
using Words = std::vector<std::string>;

namespace {

std::string range_error(const std::string& text) {
    try {
        static_cast<void>(cli::range_values(text, "--batch"));
    } catch (const Error& e) {
        return e.what();
    }
    return {};
}

/// The ids that a list prints.
Words ids(const std::string& arguments, const char* key) {
    Words all;
    const json document = json::parse(printed(arguments + " --format json"));
    for (const json& row : document.at(key)) all.push_back(row.at("id"));
    return all;
}

}  // namespace

TEST_CASE("lists: ranges have both ends, a step or a factor") {
    CHECK(cli::range_values("1:4", "--batch") == Words{"1", "2", "3", "4"});
    CHECK(cli::range_values("1:9:2", "--batch") == Words{"1", "3", "5", "7", "9"});
    CHECK(cli::range_values("1:8:+3", "--batch") == Words{"1", "4", "7"});
    CHECK(cli::range_values("1:64:*2", "--batch") == Words{"1", "2", "4", "8", "16", "32", "64"});
    CHECK(cli::range_values("3:80:*5", "--batch") == Words{"3", "15", "75"});
    CHECK(cli::range_values("7:7", "--batch") == Words{"7"});
    CHECK(cli::range_values("1:1099511627776:*1099511627776", "--batch") == Words{"1", "1099511627776"});
    CHECK(cli::range_values("1:10000", "--batch").size() == 10000);
}

TEST_CASE("lists: wrong ranges say what is wrong and what a range looks like") {
    for (const char* text :
         {":", "1:", ":4", "1:x", "1:4:", "1:4:*", "1:4:2:2", "-1:4", "1.5:4", "1:4:-1", "1:99999999999999999999", "1:4:**2"}) {
        CAPTURE(text);
        CHECK(contains(range_error(text), "--batch: not a range of whole numbers"));
    }
    CHECK(contains(range_error("9:1"), "ends before it starts; found 9:1; expected START:END, START:END:STEP or START:END:*FACTOR"));
    CHECK(contains(range_error("9:1"), "did you mean 1:9?"));
    CHECK(contains(range_error("1:9:0"), "step of a range is at least 1"));
    CHECK(contains(range_error("1:9:*1"), "factor is at least 2"));
    CHECK(contains(range_error("0:9:*2"), "starts at 1 or above"));
    CHECK(contains(range_error("1:10001"), "more than 10000 values"));
}

TEST_CASE("lists: sweep takes ranges for whole numbers beside values, and no value twice") {
    const std::string sweep = "sweep -g a100-sxm4-80gb -m resnet50 --format json ";
    const json rows = json::parse(printed(sweep + "-b '1:4:*2,6'"))["points"];
    REQUIRE(rows.size() == 4);
    CHECK(rows[0]["batch"] == 1);
    CHECK(rows[2]["batch"] == 4);
    CHECK(rows[3]["batch"] == 6);
    CHECK(printed(sweep + "-b 1:3 --streams 1:2") == printed(sweep + "-b 1,2,3 --streams 1,2"));
    CHECK(contains(refused(sweep + "-b 1:4,2"), "--batch: the list has a value twice; found 2"));
    CHECK(contains(refused(sweep + "-b 4:1"), "--batch: the range ends before it starts"));
    CHECK(contains(refused(sweep + "-b 0:2"), "--batch: not a number in range; found 0"));
    CHECK(contains(refused(sweep + "-p fp16:fp32"), "--precision: unknown precision; found fp16:fp32"));
}

TEST_CASE("lists: filters of gpu list combine") {
    const Words all = ids("gpu list", "gpus"), amd = ids("gpu list --vendor amd", "gpus");
    CHECK(amd.size() > 3);
    CHECK(amd.size() < all.size() / 2);
    const Words hopper = ids("gpu list --architecture Hopper", "gpus"), measured = ids("gpu list --architecture hopper --measured", "gpus");
    CHECK(measured == Words{"h100-sxm5-80gb", "h200-sxm-141gb"});
    CHECK(hopper.size() > measured.size());
    CHECK(ids("gpu list --search 'RTX 4090'", "gpus").front() == "rtx-4090");
    CHECK(ids("gpu list --search h200-sxm", "gpus") == Words{"h200-sxm-141gb"});
}

TEST_CASE("lists: filters of model list combine") {
    const Words cnn = ids("model list --family cnn", "models"), resnets = ids("model list --family cnn --search ResNet50", "models");
    CHECK(cnn.size() > resnets.size());
    CHECK(std::find(resnets.begin(), resnets.end(), "resnet50") != resnets.end());
    for (const std::string& id : resnets) CHECK(std::find(cnn.begin(), cnn.end(), id) != cnn.end());
    // By an alias: the hub id.
    const Words by_hub = ids("model list --search meta-llama/Llama-3.1-8B", "models");
    CHECK(std::find(by_hub.begin(), by_hub.end(), "llama-3.1-8b") != by_hub.end());
}

TEST_CASE("lists: filters that nothing passes are answered with no, and with what there is") {
    const std::pair<const char*, const char*> cases[] = {
        {"gpu list --vendor amdd", "no GPU passes all filters; found --vendor amdd; expected --vendor of AMD, "},
        {"gpu list --vendor amd --search h100", "no GPU passes all filters; found --vendor amd --search h100; leave out a filter"},
        {"model list --family dogs", "no model passes all filters; found --family dogs; expected --family of cnn, "},
        {"model list --search dogs", "no model passes all filters; found --search dogs"}};
    for (const auto& [arguments, part] : cases) {
        const auto result = test::roofcast(arguments, true);
        CAPTURE(result.output);
        CHECK(result.exit_code == 1);
        CHECK(contains(result.output, part));
        CHECK(test::roofcast(arguments).output.empty());
    }
}
