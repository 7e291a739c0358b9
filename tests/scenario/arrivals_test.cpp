#include <doctest/doctest.h>

#include <cmath>

#include "roofcast/error.hpp"
#include "roofcast/serving.hpp"
#include "support/compare.hpp"
#include "support/program.hpp"

using namespace roofcast;
using test::contains;
using test::rel;

namespace {

std::string refused(const std::string& text) {
    try {
        static_cast<void>(read_trace_text(text, "t.csv"));
    } catch (const Error& e) {
        return e.what();
    }
    return {};
}

}  // namespace

TEST_CASE("arrivals are exponential and lengths log-normal with the mean and variation asked for") {
    const ArrivalProcess process{
        .requests = 200'000, .rate = 5 / s, .prompt_mean = 512, .prompt_cv = 0.5, .output_mean = 128, .output_cv = 1, .seed = 3};
    const auto requests = drawn(process);
    const double count = 200'000;
    double prompts = 0, outputs = 0, prompt_squares = 0, long_gaps = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        prompts += static_cast<double>(requests[i].prompt_tokens);
        prompt_squares += std::pow(static_cast<double>(requests[i].prompt_tokens), 2);
        outputs += static_cast<double>(requests[i].output_tokens);
        const Seconds before = i == 0 ? Seconds{} : requests[i - 1].arrival;
        long_gaps += requests[i].arrival - before > 0.4 * s ? 1 : 0;
    }
    // Standard errors of the means: 1/√200000 = 0.2 % times the variation; tolerances are about four of them.
    CHECK(requests.back().arrival.in(s) == rel(count / 5, 0.01));
    CHECK(long_gaps / count == rel(std::exp(-2), 0.02));  // P(gap > 2 mean gaps)
    CHECK(prompts / count == rel(512, 0.005));
    CHECK(std::sqrt(prompt_squares / count - std::pow(prompts / count, 2)) / 512 == rel(0.5, 0.02));
    CHECK(outputs / count == rel(128, 0.01));
}

TEST_CASE("draws depend on the seed alone, the same with every standard library, and scale with the rate") {
    ArrivalProcess process{.requests = 3, .rate = 1 / s, .prompt_mean = 100, .output_mean = 7, .seed = 5489};
    // The first output of mt19937_64 with its default seed is 14514284786278117030: u = 0.786820954867802, -ln u = 0.239754625748665.
    const auto one = drawn(process);
    CHECK(one[0].arrival.in(s) == rel(0.2397546, 1e-5));
    CHECK(one[0].prompt_tokens == 100);
    process.rate = 4 / s;
    process.prompt_cv = 1;
    const auto faster = drawn(process);
    for (std::size_t i = 0; i < 3; ++i) CHECK(faster[i].arrival.in(s) == rel(one[i].arrival.in(s) / 4, 1e-12));
    process.seed = 1;
    CHECK(drawn(process)[0].arrival != faster[0].arrival);
    CHECK(spread_out(one, 2)[1].arrival == 2 * one[1].arrival);
}

TEST_CASE("a trace has columns and rows in any order, and begins at its first arrival") {
    const auto requests = read_trace_text(
        "# from a log\r\noutput_tokens,arrival_s,prompt_tokens\r\n7,103.5,20\r\n 5 ,101,10\r\n\r\n6,1.02e2,30\r\n", "t.csv");
    REQUIRE(requests.size() == 3);
    CHECK(requests[0].arrival == Seconds{});
    CHECK(requests[0].prompt_tokens == 10);
    CHECK(requests[0].output_tokens == 5);
    CHECK(requests[1].arrival.in(s) == rel(1, 1e-12));
    CHECK(requests[2].arrival.in(s) == rel(2.5, 1e-12));
}

TEST_CASE("a trace with a bad line is refused with file and line") {
    const std::string header = "arrival_s,prompt_tokens,output_tokens\n";
    for (const char* row : {"-1,5,5", "nan,5,5", "inf,5,5", "1e10,5,5", "1,0,5", "1,5,-3", "1,5,2.5", "1,5,many", "1,,5",
                            "1,5,99999999999999999999", "1,5", "1,5,5,5"}) {
        CAPTURE(row);
        CHECK(contains(refused(header + "1,2,3\n" + row + "\n"), "t.csv:3"));
    }
    CHECK(contains(refused("arrival_s,prompt_tokens,output\n1,2,3\n"), "did you mean output_tokens"));
    CHECK(contains(refused("arrival_s,prompt_tokens\n1,2\n"), "output_tokens"));
    CHECK(contains(refused("arrival_s,arrival_s,prompt_tokens\n1,2,3\n"), "twice"));
    CHECK(contains(refused(header), "no request"));
    CHECK(contains(refused(header + "\"1,2,3\n"), "quote"));
}
