#include <doctest/doctest.h>

#include <algorithm>

#include "roofcast/op_graph.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

/// 1 %, or what the source rounded away.
double tolerance(double published, double rounding) {
    return std::max(0.01, rounding / published);
}

bool is_convolutional(const Workload& workload) {
    return std::holds_alternative<ConvNet>(workload.architecture);
}

}  // namespace

TEST_CASE("convolutional nets have the parameters and multiply-adds that their sources publish") {
    int compared = 0;
    for (const Workload& workload : load_workload_catalogue(test::models_dir())) {
        if (!is_convolutional(workload)) continue;
        const Published& published = workload.published;
        INFO(workload.id, " of ", workload.file);
        const OpGraph graph = forward_graph(workload, RunShape{.image_size = published.image_size});
        if (published.parameters) {
            CHECK(total_parameters(graph) == rel(*published.parameters, tolerance(*published.parameters, published.parameters_rounding)));
            ++compared;
        }
        if (published.gmacs) CHECK(total_macs(graph) / 1e9 == rel(*published.gmacs, tolerance(*published.gmacs, published.macs_rounding)));
        // Sources that publish FLOPs of these nets count two a multiply-add and no element-wise work.
        if (published.gflops) {
            CHECK(2 * total_macs(graph) / 1e9 == rel(*published.gflops, tolerance(*published.gflops, published.macs_rounding)));
        }
    }
    CHECK(compared > 90);
}
