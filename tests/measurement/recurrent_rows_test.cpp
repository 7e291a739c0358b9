/// Rows of recurrent layers and hyper-connections.

#include <doctest/doctest.h>

#include <string>

#include "roofcast/measurement.hpp"

using namespace roofcast;

namespace {

constexpr std::string_view delta_head =
    "gpu,op,kernel,phase,precision,batch,query_len,tokens,k_heads,k_head_dim,v_heads,v_head_dim,conv_width,latency_us,software\n";

Measurements read_layers(const std::string& text) {
    return read_measurements_text(text, "rows.csv");
}

/// The reason for which the only row was skipped.
std::string layer_reason(const std::string& row) {
    const auto found = read_layers(std::string(delta_head) + row + "\n");
    REQUIRE(found.skipped.rows() == 1);
    CHECK(found.skipped.reasons()[0].line == 2);
    return found.skipped.reasons()[0].reason;
}

}  // namespace

TEST_CASE("kernels of a gated delta rule are a convolution of q, k and v, and a recurrence") {
    const auto found = read_layers(std::string(delta_head) +
                                   "g,gated_delta,causal_conv1d_fn,context,bf16,2,100,200,4,128,8,64,4,5,e\n"
                                   "g,gated_delta,chunk_gated_delta_rule,context,bf16,2,100,200,4,128,8,64,4,5,e\n"
                                   "g,kda,fused_recurrent_kda,verify,bf16,16,4,64,8,128,8,128,4,5,e\n");
    REQUIRE(found.skipped.empty());
    CHECK(std::get<CausalConvolution>(found.kernels[0].op) ==
          CausalConvolution{.batch = 2, .query_len = 100, .channels = 1'536, .key_channels = 512});  // 2 · 4 · 128 + 8 · 64
    CHECK(std::get<Recurrence>(found.kernels[1].op) ==
          Recurrence{.batch = 2, .query_len = 100, .key_heads = 4, .key_dim = 128, .value_heads = 8, .value_dim = 64});
    const auto& verify = std::get<Recurrence>(found.kernels[2].op);
    CHECK(verify.layer == RecurrentLayer::kda);
    CHECK(verify.update);
    CHECK(verify.query_len == 4);
}

TEST_CASE("Mamba-2 has states of its groups beside heads, and chunks of its own") {
    const auto found = read_layers(
        "gpu,op,kernel,phase,precision,batch,query_len,heads,head_dim,state,groups,conv_width,chunk,latency_us\n"
        "g,mamba2,causal_conv1d_update,generation,bf16,2,1,64,64,128,8,4,256,5\n"
        "g,mamba2,mamba_chunk_scan_combined,context,bf16,2,512,64,64,128,8,4,256,5\n");
    REQUIRE(found.skipped.empty());
    const auto& filter = std::get<CausalConvolution>(found.kernels[0].op);
    CHECK(filter.channels == 64 * 64 + 2 * 8 * 128);
    CHECK(filter.update);
    const auto& scan = std::get<Recurrence>(found.kernels[1].op);
    CHECK(scan.layer == RecurrentLayer::mamba2);
    CHECK(scan.chunk == 256);
    CHECK(scan.key_heads == 8);
    CHECK(scan.key_dim == 128);
}

TEST_CASE("hyper-connections are of bf16 where a row does not say") {
    const auto found = read_layers(
        "gpu,op,function,tokens,sites,streams,hidden,sinkhorn_iterations,latency_us\n"
        "g,mhc,pre,10,2,4,4096,20,5\n"
        "g,mhc,post,10,,4,4096,,5\n"
        "g,mhc,around,10,,4,4096,,5\n");
    REQUIRE(found.kernels.size() == 2);
    CHECK(std::get<HyperConnection>(found.kernels[0].op) ==
          HyperConnection{.tokens = 10, .sites = 2, .streams = 4, .hidden = 4'096, .iterations = 20});
    CHECK(std::get<HyperConnection>(found.kernels[1].op).kind == HyperConnectionKind::post);
    CHECK(std::get<HyperConnection>(found.kernels[1].op).sites == 1);
    CHECK(found.skipped.reasons()[0].reason == "unknown function 'around'");
}

TEST_CASE("rows of recurrent layers that lack or contradict something say so") {
    CHECK(layer_reason("g,gated_delta,,context,bf16,2,100,200,4,128,8,64,4,5,e") == "kernel is missing");
    CHECK(layer_reason("g,gated_delta,chunk,,bf16,2,100,200,4,128,8,64,4,5,e") == "phase is missing");
    CHECK(layer_reason("g,gated_delta,chunk,contxt,bf16,2,100,200,4,128,8,64,4,5,e") == "unknown phase 'contxt'; did you mean context?");
    CHECK(layer_reason("g,gated_delta,chunk,context,bf16,2,100,201,4,128,8,64,4,5,e") == "tokens is 201, but batch x query_len is 200");
    CHECK(layer_reason("g,gated_delta,chunk,context,bf16,2,100,200,3,128,8,64,4,5,e") == "3 heads of keys do not divide 8 heads of values");
    CHECK(layer_reason("g,kda,chunk,context,bf16,2,100,200,,128,8,64,4,5,e") == "k_heads is missing");
    CHECK(layer_reason("g,kda,chunk,context,bf16,1000000,1000000000,,1000,128,1000,64,4,5,e") ==
          "the sizes multiply to more than 2^60: no GPU runs such an operator");
    CHECK(layer_reason("g,kda,causal_conv1d_fn,context,bf16,2,100,200,8,128,8,64,1,5,e") == "conv_width 1 is below 2");
}
