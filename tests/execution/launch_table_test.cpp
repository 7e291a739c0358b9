#include "execution/launch_table.hpp"

#include <doctest/doctest.h>

#include "execution/toy_graph.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::addition;
using test::graph_of;
using test::large;
using test::small;
using test::stack;

TEST_CASE("each distinct node is worked out once, in however many graphs it comes up") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const SoftwareStack s = stack(KernelSet::framework, 3 * us);
    OpNode several = addition(large);
    several.eager_kernels = 3;
    const OpGraph first = graph_of({addition(large), addition(small), several, addition(large)}, 2);
    const OpGraph second = graph_of({addition(small), addition(small + 1), several});
    LaunchTable launches(gpu, s);
    for (const OpGraph* graph : {&first, &second, &first}) {
        const Timeline shared = timeline(*graph, launches), alone = timeline(*graph, gpu, s);
        CHECK(shared.total == alone.total);
        CHECK(latency_alone(*graph, launches).total == alone.total);
        CHECK(latency_alone(*graph, launches).ops.empty());
        CHECK(shared.dram_bytes == alone.dram_bytes);
        CHECK(shared.kernels == alone.kernels);
    }
    CHECK(launches.size() == 4);  // large, small, several, small + 1
}

TEST_CASE("what is known of a node outlives its graph") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const SoftwareStack s = stack(KernelSet::engine, {});
    LaunchTable launches(gpu, s);
    const Seconds before = timeline(graph_of({addition(large)}), launches).total;
    for (std::int64_t i = 1; i < 1000; ++i) static_cast<void>(timeline(graph_of({addition(large + i)}), launches));
    CHECK(timeline(graph_of({addition(large)}), launches).total == before);
    CHECK(launches.size() == 1000);
}
