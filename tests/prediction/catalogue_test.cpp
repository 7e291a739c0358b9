#include "roofcast/catalogue.hpp"

#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "roofcast/kernel_cost.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;

TEST_CASE("a catalogue predicts what its folder's GPUs, models and software do") {
    const Catalogue catalogue(test::source_dir());
    const Run run{.batch = 8, .precision = Precision::bf16, .software = "vllm"};
    const Prediction p = predict(catalogue.model("llama-3.1-8b"), catalogue.gpu("h200-sxm-141gb"), run);
    const Prediction apart = predict(find_workload(test::models_dir(), "llama-3.1-8b"), load_gpu(test::gpus_dir(), "h200-sxm-141gb"), run,
                                     load_software(test::software_dir()));
    CHECK(p.latency == apart.latency);
    CHECK(p.request.batch == 8);
    REQUIRE(p.tpot);
    CHECK(catalogue.gpus().size() > 100);
}

TEST_CASE("a catalogue's GPU has the libraries that its kernels are of") {
    const Catalogue catalogue(test::source_dir());
    const Attention op{.batch = 8, .heads = 32, .kv_heads = 8, .head_dim = 128, .query_len = 1, .kv_len = 4096};
    CHECK(cost(op, catalogue.gpu("h200-sxm-141gb")).total == cost(op, test::shipped_gpu("h200-sxm-141gb")).total);
}

TEST_CASE("a folder without data is no catalogue, and unknown names are refused") {
    CHECK_THROWS_AS(Catalogue("/"), Error);
    const Catalogue catalogue(test::source_dir());
    CHECK_THROWS_AS(static_cast<void>(catalogue.gpu("no-such-gpu")), Error);
    CHECK_THROWS_AS(static_cast<void>(catalogue.model("no-such-model")), Error);
}
