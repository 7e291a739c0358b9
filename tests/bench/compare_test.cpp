#include "support/compare.hpp"

#include <doctest/doctest.h>

#include "roofcast/bench.hpp"
#include "roofcast/error.hpp"
#include "support/program.hpp"

using namespace roofcast;
using roofcast::test::contains;
using roofcast::test::rel;

namespace {

BenchSeries series(const Labels& work, const Labels& run_by, double value, const std::string& metric = "latency_us") {
    BenchSeries s{work, run_by, metric, metric == "latency_us", {}};
    s.statistics.mean = value;
    return s;
}

std::string error_of(const std::vector<BenchSeries>& all, const std::vector<std::string>& keys) {
    try {
        compare(all, keys);
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("relative performance is above 1 for the better of two, be it a time or a rate") {
    CHECK(relative_performance(series({}, {}, 127), series({}, {}, 100)) == rel(1.27, 1e-12));
    CHECK(relative_performance(series({}, {}, 100, "tokens_per_s"), series({}, {}, 127, "tokens_per_s")) == rel(1.27, 1e-12));
}

TEST_CASE("devices are compared on the work that both did") {
    // a over b: 10/5 = 2 and 8/16 = 1/2, so the geometric mean is 1.
    const auto c =
        compare({series({{"m", "1"}}, {{"gpu", "a"}}, 10), series({{"m", "2"}}, {{"gpu", "a"}}, 8), series({{"m", "3"}}, {{"gpu", "a"}}, 8),
                 series({{"m", "1"}}, {{"gpu", "b"}}, 5), series({{"m", "2"}}, {{"gpu", "b"}}, 16)},
                {"gpu"});
    REQUIRE(c.contestants == std::vector<std::string>{"a", "b"});
    REQUIRE(c.works.size() == 2);
    CHECK(c.works[0].fastest == 1);
    CHECK(c.works[1].fastest == 0);
    CHECK(c.unmatched == 1);
    CHECK(c.summaries.at(0).by_contestant[1].relative == rel(1, 1e-12));
    CHECK(c.summaries.at(0).by_contestant[1].fastest == 1);
}

TEST_CASE("files of two GPUs match as files, and the difference is said") {
    const auto c = compare(
        {series({{"m", "1"}}, {{"file", "x"}, {"gpu", "a"}}, 10), series({{"m", "1"}}, {{"file", "y"}, {"gpu", "b"}}, 5)}, {"file"});
    CHECK(c.works.size() == 1);
    CHECK(c.also_differs == std::vector<std::string>{"gpu"});
}

TEST_CASE("precisions are compared within each GPU") {
    const auto c = compare({series({}, {{"gpu", "a"}, {"precision", "fp16"}}, 10), series({}, {{"gpu", "b"}, {"precision", "fp16"}}, 6),
                            series({}, {{"gpu", "a"}, {"precision", "fp8"}}, 5), series({}, {{"gpu", "b"}, {"precision", "fp8"}}, 3)},
                           {"precision"});
    REQUIRE(c.works.size() == 2);
    CHECK(described(c.works[0].work) == "gpu=a");
    CHECK(c.summaries.at(0).by_contestant[1].relative == rel(2, 1e-12));
}

TEST_CASE("several series of one contestant and one work count by their median") {
    const auto c = compare({series({}, {{"gpu", "a"}, {"source", "s"}}, 10), series({}, {{"gpu", "b"}, {"source", "s"}}, 5),
                            series({}, {{"gpu", "b"}, {"source", "t"}}, 7)},
                           {"gpu"});
    CHECK(c.works.at(0).by_contestant[1].statistics.typical() == 6);
}

TEST_CASE("comparisons that cannot be made are refused") {
    const std::vector<BenchSeries> all{series({{"m", "1"}}, {{"gpu", "a"}}, 1), series({{"m", "2"}}, {{"gpu", "b"}}, 1)};
    CHECK(contains(error_of(all, {"gpu"}), "no work in common"));
    CHECK(contains(error_of(all, {"gpus"}), "did you mean gpu"));
    CHECK(contains(error_of({all[0]}, {"gpu"}), "only one contestant"));
}

TEST_CASE("a summary marks the fastest of those that did the same work") {
    const auto s = standings({series({}, {{"mode", "eager"}}, 10), series({}, {{"mode", "compiled"}}, 5), series({{"m", "1"}}, {}, 3)});
    CHECK(s[0].relative == 1);
    CHECK(s[1].relative == rel(2, 1e-12));
    CHECK(s[1].fastest);
    CHECK_FALSE(s[0].fastest);
    CHECK_FALSE(s[2].fastest);
}
