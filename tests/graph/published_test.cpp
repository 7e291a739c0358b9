#include "graph/published.hpp"

#include <doctest/doctest.h>

#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;

TEST_CASE("parameters and multiply-adds of every shipped model agree with the published ones within 1 %, or their rounding") {
    for (const Workload& workload : load_workload_catalogue(test::models_dir())) {
        CAPTURE(workload.file);
        CAPTURE(workload.id);
        const Agreement agreement = agreement_with_published(workload);
        CAPTURE(agreement.worst.value_or(0));
        CHECK(agreement.holds);
    }
}

TEST_CASE("a published figure that is 2 % off disagrees, unless its source rounded that much away") {
    Workload workload = find_workload(test::models_dir(), "bert-base");
    workload.published.parameters = 109482240 * 1.02;
    CHECK_FALSE(agreement_with_published(workload).holds);
    CHECK(*agreement_with_published(workload).worst == rel(1 - 1 / 1.02, 1e-9));
    workload.published.parameters_rounding = 109482240 * 0.03;
    CHECK(agreement_with_published(workload).holds);
}
