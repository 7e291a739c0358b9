#include "roofcast/sweep.hpp"

#include <doctest/doctest.h>

#include <set>

#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/llama_on_a100.hpp"
#include "support/program.hpp"

using namespace roofcast;
using test::rel;

namespace {

struct SweepBench : test::LlamaOnA100 {
    [[nodiscard]] SweepPoint point(Run request, int streams = 1) const {
        request.streams = streams;
        return sweep_point(llama, gpu, request, software);
    }
};

}  // namespace

TEST_CASE("scenario: a grid is the cartesian product, its last list the fastest") {
    const Grid grid({2, 1, 3});
    CHECK(grid.size() == 6);
    CHECK(grid.point(0) == std::vector<std::size_t>{0, 0, 0});
    CHECK(grid.point(2) == std::vector<std::size_t>{0, 0, 2});
    CHECK(grid.point(3) == std::vector<std::size_t>{1, 0, 0});
    std::set<std::vector<std::size_t>> all;
    for (std::int64_t i = 0; i < grid.size(); ++i) all.insert(grid.point(i));
    CHECK(all.size() == 6);
}

TEST_CASE("scenario: a grid too large to count is refused") {
    CHECK_THROWS_AS(Grid({1'000'000, 1'000'000, 1'000'000, 1'000'000}), Error);
    CHECK_NOTHROW(Grid({1'000'000, 1'000}));
}

TEST_CASE("scenario: shards are disjoint, in order, of equal length but for one, and together the whole") {
    for (const std::int64_t size : {1, 2, 7, 100, 101}) {
        for (const std::int64_t count : {1, 2, 3, 7, 50, 103}) {
            std::int64_t expected = 0;
            for (std::int64_t i = 1; i <= count; ++i) {
                const Shard shard{i, count};
                CHECK(shard.first(size) == expected);
                const std::int64_t length = shard.end(size) - shard.first(size);
                CHECK(length >= size / count);
                CHECK(length <= size / count + 1);
                expected = shard.end(size);
            }
            CHECK(expected == size);
        }
    }
}

TEST_CASE("scenario: a shard is i/n, 1-based, and nothing else") {
    CHECK(parse_shard("2/8").index == 2);
    CHECK(parse_shard("8/8").count == 8);
    for (const char* wrong : {"", "0/8", "9/8", "2", "2/", "/8", "2/8/9", "a/b", "-1/8", "1/0", "1.5/2", "1/99999999999999999999"}) {
        CAPTURE(std::string(wrong));
        CHECK_THROWS_AS(parse_shard(wrong), Error);
    }
}

TEST_CASE("scenario: a point that cannot run says why and has no figures") {
    const SweepBench bench;
    const SweepPoint unsupported = bench.point({.precision = Precision::fp8});
    CHECK_FALSE(unsupported.runs());
    CHECK(test::contains(unsupported.reason, "fp8"));
    const SweepPoint large = bench.point({.batch = 4096, .prompt_tokens = 4096, .precision = Precision::bf16});
    CHECK(test::contains(large.reason, "does not fit"));
    REQUIRE(large.memory);
    CHECK(large.latency == Seconds{});
    const SweepPoint uneven = bench.point({.precision = Precision::bf16, .parallel = {.tensor = 3}});
    CHECK(test::contains(uneven.reason, "does not divide them"));
    REQUIRE(uneven.refusal);
    CHECK(uneven.refusal->key == "parallel.tensor");
    CHECK_FALSE(large.refusal);
}

TEST_CASE("scenario: speed-up and efficiency are against the fewest GPUs that can run") {
    const SweepBench bench;
    std::vector<SweepPoint> points;
    // Three ways cannot divide 32 heads: they take no part.
    for (const std::int64_t ways : {4, 3, 2, 8})
        points.push_back(bench.point({.precision = Precision::bf16, .parallel = {.tensor = ways}}));
    relate(points);
    CHECK(*points[2].speedup == 1);
    CHECK(*points[2].parallel_efficiency == 1);
    CHECK_FALSE(points[1].speedup.has_value());
    // Four GPUs against two: as many times the items, over twice the GPUs.
    const double speedup = points[0].items_per_second / points[2].items_per_second;
    CHECK(speedup > 1);
    CHECK(*points[0].speedup == rel(speedup, 1e-12));
    CHECK(*points[0].parallel_efficiency == rel(speedup / 2, 1e-12));
    CHECK(*points[3].parallel_efficiency < *points[0].parallel_efficiency);
}

TEST_CASE("scenario: data-parallel copies scale without loss") {
    const SweepBench bench;
    std::vector<SweepPoint> points;
    for (const std::int64_t copies : {1, 2, 16})
        points.push_back(bench.point({.precision = Precision::bf16, .parallel = {.data = copies}}));
    relate(points);
    for (const SweepPoint& point : points) CHECK(*point.parallel_efficiency == rel(1, 1e-12));
}

TEST_CASE("scenario: streams are compared at equal degrees, GPUs at equal streams") {
    const SweepBench bench;
    std::vector<SweepPoint> points;
    for (const std::int64_t ways : {1, 2}) {
        for (const int streams : {1, 4})
            points.push_back(bench.point({.precision = Precision::bf16, .parallel = {.tensor = ways}}, streams));
    }
    relate(points);
    CHECK(*points[1].streams_speedup == rel(points[1].items_per_second / points[0].items_per_second, 1e-12));
    CHECK(*points[3].speedup == rel(points[3].items_per_second / points[1].items_per_second, 1e-12));
    CHECK(*points[2].streams_speedup == 1);
}
