#include <doctest/doctest.h>

#include <string>

#include "roofcast/error.hpp"
#include "roofcast/validation.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::rel;

namespace {

constexpr const char* lab =
    "[[host]]\nsource = \"lab\"\naround_us = 10\nfloor_us = 26\n"
    "[[host.variant]]\nsoftware = [\"vllm 0.24\"]\naround_us = 30\n[host.variant.floors_us]\nmla_context_module = 5000\n"
    "[[host.variant]]\nsoftware = [\"vllm 0.22\"]\nframework_kernels = [\"mla_module\"]\n";

ModelRow block_row(std::string software, std::int64_t tokens) {
    ModelRow row;
    row.model = "DeepSeek-AI/DeepSeek-V3";
    row.gpu = "h200-sxm-141gb";
    row.precision = Precision::bf16;
    row.kv_precision = Precision::bf16;
    row.execution = Execution::cuda_graph;
    row.origin.source = "lab";
    row.origin.software = std::move(software);
    row.block = MeasuredBlock{.block = {.heads = 16, .query_len = tokens, .kv_len = tokens},
                              .op_name = "mla_module",
                              .function = "mla_context_module",
                              .launch_included = true};
    return row;
}

struct BlockBench {
    test::TemporaryFile file{"hosts.toml", lab};
    Gpu gpu = test::shipped_gpu("h200-sxm-141gb");
    ModelPredictor predictor = model_predictor({find_workload(test::models_dir(), "deepseek-v3")}, load_software(test::software_dir()),
                                               load_measuring_hosts(file.path()));
    [[nodiscard]] double us_of(const ModelRow& row) const { return 1e3 * predictor(row, gpu).predicted; }
};

}  // namespace

TEST_CASE("the host of a block is known by its engine's version, and adds its time to the block's work") {
    const BlockBench bench;
    const double other = bench.us_of(block_row("vllm 0.19", 8192)), named = bench.us_of(block_row("vllm 0.24.0", 8192));
    CHECK(named == rel(5000, 1e-9));  // its floor for prompts
    ModelRow decode = block_row("vllm 0.24.0", 8192);
    decode.block->function = "mla_generation_module";
    CHECK(bench.us_of(decode) - other == rel(20, 1e-6));  // 30 us around in place of 10
}

TEST_CASE("norms of a host's blocks may be a framework's own kernels, which take longer") {
    const BlockBench bench;
    CHECK(bench.us_of(block_row("vllm 0.22.0", 8192)) > 1.05 * bench.us_of(block_row("vllm 0.19", 8192)));
}

TEST_CASE("a block of a host that is not described, or of a model without such layers, is skipped with its reason") {
    const BlockBench bench;
    ModelRow row = block_row("vllm 0.24.0", 64);
    row.origin.source = "elsewhere";
    CHECK_THROWS_WITH_AS(static_cast<void>(bench.us_of(row)), doctest::Contains("does not describe"), Error);
    row = block_row("vllm 0.24.0", 64);
    row.block->block.kind = AttentionBlockKind::sparse_latent;
    CHECK_THROWS_WITH_AS(static_cast<void>(bench.us_of(row)), doctest::Contains("dsa"), Error);
}
