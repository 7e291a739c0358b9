#include <doctest/doctest.h>

#include "execution/toy_graph.hpp"
#include "support/compare.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::addition;
using test::graph_of;
using test::large;
using test::rel;
using test::small;
using test::stack;

TEST_CASE("spans are the runs of a pass in order, end with it, and last what their operators take") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const OpGraph graph = graph_of({addition(large), addition(large / 2)}, 3);
    const Timeline t = timeline(graph, gpu, stack(KernelSet::engine, 2 * us));
    const std::vector<OpSpan> all = spans(graph, t, 1);
    REQUIRE(all.size() == 6);
    CHECK(all.back().end.in(us) == rel(t.total.in(us), 1e-9));
    Seconds busy;
    for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(all[i].repetition == static_cast<std::int64_t>(i / 2));
        CHECK(all[i].op->node == &graph.segments[0].nodes[i % 2]);
        if (i > 0) CHECK(all[i].start >= all[i - 1].end);
        busy += all[i].end - all[i].start;
    }
    // The GPU is the bound: what was laid out is the timeline itself, without stretching.
    CHECK(busy.in(us) == rel(t.gpu_busy.in(us), 1e-6));
}

TEST_CASE("spans of kernels that wait for the CPU start as they are launched") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const OpGraph graph = graph_of({addition(small)}, 4);
    const Timeline t = timeline(graph, gpu, stack(KernelSet::engine, 50 * us));
    const std::vector<OpSpan> all = spans(graph, t, 1);
    REQUIRE(all.size() == 4);
    for (const OpSpan& span : all) CHECK(span.start.in(us) == rel(span.launched.in(us), 1e-6));
    // Launches follow each other without a pause.
    CHECK(all[3].launched.in(us) == rel(200, 0.01));
}

TEST_CASE("spans on different streams overlap") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    OpNode second = addition(large);
    second.stream = 1;
    const OpGraph graph = graph_of({addition(large), second});
    const Timeline t = timeline(graph, gpu, stack(KernelSet::engine, {}));
    const std::vector<OpSpan> one = spans(graph, t, 1), two = spans(graph, t, 2);
    CHECK(one[1].start >= one[0].end);
    CHECK(two[1].start < two[0].end);
}

TEST_CASE("more runs than can be drawn are one span an operator") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const OpGraph graph = graph_of({addition(small), addition(small)}, most_spans);
    const Timeline t = timeline(graph, gpu, stack(KernelSet::engine, {}));
    const std::vector<OpSpan> all = spans(graph, t, 1);
    REQUIRE(all.size() == 2);
    CHECK(all.back().end.in(us) == rel(t.total.in(us), 1e-9));
}
