#include "cli/answer.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "roofcast/error.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;

namespace {

const std::string answer_data = "--data-dir=" ROOFCAST_SOURCE_DIR;

}  // namespace

TEST_CASE("answers: a caller in the same process gets what the program prints") {
    const cli::Answer answer = cli::answer({"memory", "--model=llama-3.1-8b", "--gpu=h100-sxm5-80gb", "--software=vllm", answer_data});
    REQUIRE(answer.reports.size() == 1);
    const auto printed =
        nlohmann::ordered_json::parse(test::printed("memory --model llama-3.1-8b --gpu h100-sxm5-80gb --software vllm --format json"));
    auto document = answer.reports.front().document;
    for (const auto& [key, value] : document.items()) CHECK(value == printed[key]);
    CHECK(answer.code == cli::ExitCode::answered);
    CHECK(cli::answer({"memory", "--model=llama-3.1-70b", "--gpu=t4", answer_data}).code == cli::ExitCode::no);
}

TEST_CASE("answers: what the program notes on standard error is in the answer") {
    const cli::Answer answer = cli::answer({"gpu", "show", "h100", answer_data});
    REQUIRE(answer.notes.size() == 1);
    CHECK(answer.notes.front().starts_with("h100 is ambiguous"));
    CHECK(answer.code == cli::ExitCode::answered);
}

TEST_CASE("answers: a wrong command line is an error with its option") {
    const auto key_of = [](const std::vector<std::string>& words) {
        try {
            static_cast<void>(cli::answer(words));
        } catch (const Error& e) {
            return e.detail().key + "|" + e.detail().found;
        }
        return std::string();
    };
    CHECK(key_of({"memory", "--model=llama-3.1-8b", "--tp=28", "--gpu=t4", answer_data}) == "--tp|28");
    CHECK(key_of({"memory", "--model=llama-3.1-8b", "--batch=many"}) == "--batch|many");
    CHECK(key_of({"memory", "--modell=llama-3.1-8b"}) == "|--modell=llama-3.1-8b");
    CHECK(key_of({"memory", "--model="}) == "--model|");
    CHECK(key_of({"memry"}) == "|memry");
}

TEST_CASE("answers: options of a command can be looked at") {
    bool has_tp = false;
    cli::with_command({"memory"}, [&has_tp](const CLI::App& command) { has_tp = command.get_option_no_throw("--tp") != nullptr; });
    CHECK(has_tp);
    CHECK_THROWS_AS(cli::with_command({"memry"}, [](const CLI::App&) {}), Error);
}
