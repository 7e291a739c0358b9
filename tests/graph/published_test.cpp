#include <doctest/doctest.h>

#include "roofcast/op_graph.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;

TEST_CASE("parameters and multiply-adds of every shipped model agree with the published ones within 1 %") {
    for (const Workload& workload : load_workload_catalogue(test::models_dir())) {
        CAPTURE(workload.file);
        CAPTURE(workload.id);
        const OpGraph graph = forward_graph(workload, {});
        const Published& published = workload.published;
        if (published.parameters) CHECK(total_parameters(graph) == rel(*published.parameters, 0.01));
        if (published.gmacs) CHECK(total_macs(graph) / 1e9 == rel(*published.gmacs, 0.01));
        if (published.gflops) CHECK(2 * total_macs(graph) / 1e9 == rel(*published.gflops, 0.01));
    }
}
