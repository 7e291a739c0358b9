/// Families of kernels of recurrent layers.

#include <doctest/doctest.h>

#include "kernels/family.hpp"
#include "roofcast/error.hpp"
#include "roofcast/validation.hpp"
#include "support/own_family.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;

namespace {

std::string family_refusal(const std::string& lines) {
    try {
        static_cast<void>(test::with_own_family(lines));
    } catch (const Error& e) {
        return e.what();
    }
    return {};
}

const Recurrence decoding{.batch = 4, .query_len = 1, .key_heads = 8, .key_dim = 128, .value_heads = 8, .value_dim = 128, .update = true};

}  // namespace

TEST_CASE("a family takes recurrences of its layers and phase") {
    const SoftwareStacks software =
        test::with_own_family("op = \"recurrence\"\nkernels = [\"k\"]\nlayers = [\"kda\"]\nprompts = false\nverifies = true\n");
    Recurrence op = decoding;
    op.layer = RecurrentLayer::kda;
    op.query_len = 4;
    const KernelFamily& family = *software.families.front();
    CHECK(takes(family, op));
    CHECK_FALSE(takes(family, CausalConvolution{.layer = RecurrentLayer::kda, .query_len = 4, .channels = 8, .update = true}));
    op.query_len = 1;
    CHECK_FALSE(takes(family, op));
    op.query_len = 4;
    op.update = false;
    CHECK_FALSE(takes(family, op));
    op.update = true;
    op.layer = RecurrentLayer::gated_delta;
    CHECK_FALSE(takes(family, op));
}

TEST_CASE("a row of a family has its state in the family's formats") {
    const SoftwareStacks software = test::with_own_family("op = \"recurrence\"\nkernels = [\"k\"]\nstate_read = \"bf16\"\n");
    KernelRow row;
    row.op = decoding;
    row.kernel = "k";
    std::vector<KernelRow> rows{row};
    mark_rows(software, {}, rows);
    REQUIRE(rows[0].family);
    CHECK(std::get<Recurrence>(rows[0].op).state_read == Precision::bf16);
    CHECK(std::get<Recurrence>(rows[0].op).state_written == Precision::fp32);
}

TEST_CASE("rows of hyper-connections name no kernel and are known by function and engine") {
    const SoftwareStacks software = test::with_own_family("op = \"hyper_connection\"\nkernels = [\"pre\"]\nengines = [\"maker\"]\n");
    KernelRow row;
    row.op = HyperConnection{.tokens = 8, .streams = 4, .hidden = 64};
    row.function = "pre";
    row.origin.software = "maker 1.0";
    KernelRow other = row;
    other.origin.software = "another 1.0";
    KernelRow gemm = row;
    gemm.op = Gemm{.m = 8, .n = 8, .k = 8};
    std::vector<KernelRow> rows{row, other, gemm};
    mark_rows(software, {}, rows);
    CHECK(rows[0].family);
    CHECK_FALSE(rows[1].family);
    CHECK_FALSE(rows[2].family);
}

TEST_CASE("layers and formats that a family misspells are refused") {
    const std::string head = "op = \"recurrence\"\nkernels = [\"k\"]\n";
    const std::string layer = family_refusal(head + "layers = [\"gated-delta\"]\n");
    CHECK(layer.find("unknown recurrent layer") != std::string::npos);
    CHECK(layer.find("gated_delta, kda, mamba2") != std::string::npos);
    CHECK(family_refusal(head + "state_read = \"b16\"\n").find("unknown precision") != std::string::npos);
    CHECK(family_refusal(head + "block_tokens = 0\n").find("block_tokens") != std::string::npos);
}

TEST_CASE("engines run recurrent layers by kernels of their own") {
    const auto family_of_run = [](const Op& op, std::string_view id, std::string_view engine) {
        const Gpu gpu = as_software_sees(test::shipped_gpu(id), test::shipped_software().find(Execution::cuda_graph, engine, "NVIDIA"));
        return std::string(cost(op, gpu).family);
    };
    Recurrence prompt = decoding;
    prompt.update = false;
    prompt.query_len = 1'000;
    CHECK(family_of_run(prompt, "h200-sxm-141gb", "vllm 0.24.0") == "flashinfer-gated-delta");
    CHECK(family_of_run(prompt, "l40s", "vllm 0.24.0") == "fla-gated-delta-vllm");
    CHECK(family_of_run(prompt, "h200-sxm-141gb", "sglang 0.5.14") == "fla-gated-delta-sglang");
    CHECK(family_of_run(decoding, "h200-sxm-141gb", "sglang 0.5.14") == "fla-gated-delta-decode");
    CHECK(family_of_run(decoding, "h200-sxm-141gb", "vllm 0.24.0") == "fla-gated-delta-decode");
    // By fits to all GPUs together, where the architecture was not measured.
    CHECK(family_of_run(prompt, "a100-sxm4-80gb", "tensorrt-llm 1.3") == "tensorrt-llm-gated-delta");
    CHECK(family_of_run(decoding, "a100-sxm4-80gb", "vllm 0.24.0") == "fla-gated-delta-decode");
    // Of Mamba-2's scan nothing was measured: it has the parameters of its class.
    prompt.layer = RecurrentLayer::mamba2;
    CHECK(family_of_run(prompt, "h200-sxm-141gb", "vllm 0.24.0").empty());
}
