/// Rows of attention blocks of models' layers.

#include <doctest/doctest.h>

#include <string>

#include "roofcast/measurement.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

constexpr std::string_view block_head =
    "gpu,op,function,architecture,precision,weight_precision,kv_precision,heads,batch,query_len,kv_len,latency_us,software,source,launch\n";

std::string block_reason(const std::string& row) {
    const auto found = read_measurements_text(std::string(block_head) + row + "\n", "rows.csv");
    REQUIRE(found.skipped.rows() == 1);
    return found.skipped.reasons()[0].reason;
}

}  // namespace

TEST_CASE("an attention block is a row of its model, in milliseconds") {
    const auto found = read_measurements_text(
        std::string(block_head) +
            "g,sparse_attention_module,dsv4_hca_generation_module,org/Net,fp8,fp8_block,fp8,16,4,1,4097,80,e 1,lab,included\n",
        "rows.csv");
    REQUIRE(found.skipped.empty());
    REQUIRE(found.kernels.empty());
    const ModelRow& row = found.models.at(0);
    CHECK(row.model == "org/Net");
    CHECK(row.value == rel(0.08, 1e-12));
    CHECK(row.batch == 4);
    CHECK(row.kv_precision == Precision::fp8);
    REQUIRE(row.block);
    CHECK(row.block->launch_included);
    CHECK(row.block->op_name == "sparse_attention_module");
    CHECK(row.block->block.kind == AttentionBlockKind::compressed_all);
    CHECK(row.block->block.decodes);
    CHECK(row.block->block.heads == 16);
    CHECK(row.block->block.kv_len == 4097);
}

TEST_CASE("blocks that no layer is, and more queries than keys, are refused") {
    CHECK(block_reason("g,mla_module,mla_verify_module,org/Net,bf16,bf16,bf16,16,4,1,10,80,e,lab,included").find("mla, dsa, msa") !=
          std::string::npos);
    CHECK(block_reason("g,mla_module,mla_context_module,org/Net,bf16,bf16,bf16,16,4,20,10,80,e,lab,included").find("more queries") !=
          std::string::npos);
    CHECK(block_reason("g,mla_module,mla_context_module,,bf16,bf16,bf16,16,4,10,10,80,e,lab,included").find("architecture") !=
          std::string::npos);
}
