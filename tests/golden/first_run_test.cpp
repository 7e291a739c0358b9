/// ResNet-18 on a T4, cold and warm, in three precisions. No cold start of this pair has been published: identities and bounds only.

#include <doctest/doctest.h>

#include <array>
#include <tuple>

#include "golden/golden.hpp"
#include "roofcast/comparison.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::Golden;
using test::rel;
using test::shipped_gpu;

TEST_CASE("ResNet-18 on a T4 is faster in each narrower precision, and never faster than its arithmetic and weights allow") {
    const Golden golden;
    const Gpu gpu = shipped_gpu("t4");
    // He et al. 2015: 1.8 GMACs at 224 pixels (1.814 with all layers), 11.69e6 weights. 8.1, 65 and 130 T(FL)OP/s; 320 GB/s. Of the fp32
    // arithmetic, 3×3 layers may take the Winograd algorithm with 2.25 times fewer multiplications.
    const std::array<std::tuple<Precision, double, double>, 3> kinds{{{Precision::fp32, 2 * 1.814 / 2.25 / 8.1, 4.0},
                                                                      {Precision::fp16, 2 * 1.814 / 2.25 / 65, 2.0},
                                                                      {Precision::int8, 2 * 1.814 / 130, 1.0}}};
    for (const std::int64_t batch : {1, 32}) {
        Seconds before{1e9};
        for (const auto& [precision, arithmetic_ms, bytes] : kinds) {
            CAPTURE(batch);
            CAPTURE(name(precision));
            const Prediction p = golden.run("resnet18", gpu, {.batch = batch, .precision = precision}, {.execution = Execution::tensorrt});
            CHECK(p.latency < before);
            CHECK(p.latency.in(ms) > static_cast<double>(batch) * arithmetic_ms);
            CHECK(p.latency.in(ms) > bytes * 11.69e6 / 320e9 * 1e3);
            CHECK(p.memory.weights.in(mb) == rel(bytes * 11.69, 0.01));
            before = p.latency;
        }
    }
}

TEST_CASE("the first run is apart from the steady state: it adds the same to one item as to a thousand") {
    const Golden golden;
    const Gpu gpu = shipped_gpu("t4");
    for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::int8}) {
        CAPTURE(name(precision));
        const Prediction p = golden.run("resnet18", gpu, {.precision = precision});
        // A process has to create a context and load kernels: of the order of a second, hundreds of steady passes.
        CHECK(p.cold_extra > 0.1 * s);
        CHECK(p.cold_extra < 30 * s);
        CHECK(p.cold_extra > 10 * p.latency);
        CHECK(p.items_per_second == rel(1 / p.latency.in(s), 1e-9));
        CHECK(p.latency.in(ms) == rel(p.phases[0].latency.in(ms), 1e-9));
        // A cold item takes the pass and the extra; 1000 warm ones after it take a pass each.
        CHECK(job_time(p, 1).in(ms) == rel((p.latency + p.cold_extra).in(ms), 1e-9));
        CHECK((job_time(p, 1000) - job_time(p, 1)).in(ms) == rel(999 * p.latency.in(ms), 1e-9));
    }
}
