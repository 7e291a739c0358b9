#include "host/plan.hpp"

#include <doctest/doctest.h>

#include <map>

#include "support/compare.hpp"
#include "support/program.hpp"

using namespace roofcast::microbench;
using roofcast::test::contains;
using roofcast::test::rel;

TEST_CASE("a plan within a budget is as long as the budget and holds every suite") {
    const auto cases = plan({.budget_s = 600});
    double total = 0;
    std::map<Suite, int> by_suite;
    for (const auto& c : cases) {
        total += c.expected_s;
        ++by_suite[suite_of(c.work)];
    }
    CHECK(total <= 600);
    CHECK(total > 540);
    CHECK(by_suite.size() == suite_count);
}

TEST_CASE("any beginning of a plan is balanced: a cut run has its fraction of every suite") {
    const auto whole = plan({});
    std::map<Suite, double> all, half;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        all[suite_of(whole[i].work)] += 1;
        if (2 * i < whole.size()) half[suite_of(whole[i].work)] += 1;
    }
    CHECK(half[Suite::gemm] == rel(all[Suite::gemm] / 2, 0.02));
    CHECK(half[Suite::attention] == rel(all[Suite::attention] / 2, 0.05));
}

TEST_CASE("suites and precisions can be chosen, and choosing does not change the shapes") {
    const auto chosen = plan({.suites = {Suite::gemm}, .precisions = {Precision::fp8}});
    REQUIRE_FALSE(chosen.empty());
    std::string all;
    for (const auto& c : plan({})) all += described(c.work) + "\n";
    for (const auto& c : chosen) {
        CHECK(c.work.precision == Precision::fp8);
        CHECK(contains(all, described(c.work) + "\n"));
    }
    CHECK_FALSE(plan({.suites = {Suite::copy}, .precisions = {Precision::bf16}}).empty());
}

TEST_CASE("the budget learns the pace of the GPU at hand") {
    Budget budget(10);
    CHECK(budget.allows(10));
    CHECK_FALSE(budget.allows(11));
    budget.spend(2, 4);  // half as fast as planned: 6 s are left, 3 planned ones
    CHECK(budget.pace() == 2);
    CHECK(budget.allows(3));
    CHECK_FALSE(budget.allows(3.1));
    CHECK(Budget(std::nullopt).allows(1e9));
}

TEST_CASE("the listing names every case and sums up what they take") {
    const auto cases = plan({.suites = {Suite::launch}});
    const std::string text = listing(cases);
    CHECK(contains(text, "launch_latency_us"));
    CHECK(contains(text, "total             5 cases"));
}
