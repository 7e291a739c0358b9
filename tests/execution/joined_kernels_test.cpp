// What serving engines join into one kernel, run side by side, or quantize with scales of the checkpoint.
#include <doctest/doctest.h>

#include <algorithm>

#include "execution/engine_support.hpp"
#include "prediction/pass.hpp"
#include "roofcast/execution.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::rel;

namespace {

struct Served {
    SoftwareStacks software = load_software(test::software_dir());
    Workload workload;
    Gpu gpu;
    Run run;
    SoftwareStack stack;

    Served(const char* model, const char* gpu_id, const char* name, std::int64_t gpus)
        : workload(find_workload(test::models_dir(), model)), gpu(load_gpu(test::gpus_dir(), gpu_id)) {
        run.precision = default_precision(workload, gpu.profile);
        run.execution = Execution::cuda_graph;
        run.software = name;
        run.parallel.tensor = gpus;
        run.batch = 4;
        run = completed(run, workload, gpu);
        stack = stack_of(software, run, workload, gpu.profile.vendor);
    }

    [[nodiscard]] OpGraph decode() const { return decode_graph(std::get<DecoderLlm>(workload.architecture), run, stack.lowering, 1000); }
    [[nodiscard]] Timeline time(const OpGraph& graph) const { return timeline(graph, gpu_of(gpu, run, stack), stack); }
};

std::int64_t count(const OpGraph& graph, std::string_view name) {
    std::int64_t found = 0;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) found += node.name == name ? segment.repeat : 0;
    }
    return found;
}

OpNode node_of(const OpGraph& graph, std::string_view name) {
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            if (node.name == name) return node;
        }
    }
    throw std::runtime_error("no such node");
}

}  // namespace

TEST_CASE("engines add what a layer yields to the stream in the norm behind it") {
    const Served plain("llama-3.1-8b", "h200-sxm-141gb", "", 1), vllm("llama-3.1-8b", "h200-sxm-141gb", "vllm", 1);
    CHECK(count(plain.decode(), "residual") == 64);
    const OpGraph graph = vllm.decode();
    CHECK(count(graph, "residual") == 0);
    CHECK(std::get<RowWise>(node_of(graph, "mlp_norm").op).adds);
    CHECK(vllm.time(graph).kernels == plain.time(plain.decode()).kernels - 64);
}

TEST_CASE("all-reduces take the norm behind them with them, on GPUs that engines have such kernels for") {
    const auto kernels = [](const char* gpu, const char* engine) {
        const Served e("llama-3.1-8b", gpu, engine, 4);
        return e.time(e.decode()).kernels;
    };
    CHECK(kernels("b200-sxm", "vllm") == kernels("h200-sxm-141gb", "vllm") - 64);  // from Blackwell on
    CHECK(kernels("h200-sxm-141gb", "trtllm") == kernels("b200-sxm", "trtllm"));   // from Hopper on
}

TEST_CASE("a norm that a kernel joins adds its bytes and no launch") {
    const Served e("llama-3.1-8b", "b200-sxm", "vllm", 4);
    OpGraph joined = e.decode(), apart = joined;
    for (Segment& segment : apart.segments) {
        for (OpNode& node : segment.nodes) node.joined = false;
    }
    const Timeline with = e.time(joined), without = e.time(apart);
    CHECK(with.total < without.total);
    CHECK(with.dram_bytes.in(byte) == rel(without.dram_bytes.in(byte), 1e-9));
}

TEST_CASE("sums of several streams, and of attention and MLP side by side, are no part of norms") {
    for (const char* model : {"deepseek-v4-flash-fp8", "falcon-180b"}) {
        CAPTURE(std::string(model));
        const Served e(model, "h200-sxm-141gb", "vllm", 1);
        const OpGraph graph = e.decode();
        for (const Segment& segment : graph.segments) {
            for (const OpNode& node : segment.nodes) {
                const auto* norm = std::get_if<RowWise>(&node.op);
                CHECK_FALSE(node.joined);
                if (norm != nullptr) CHECK_FALSE(norm->adds);
            }
        }
    }
}

TEST_CASE("shared experts run beside routed ones under engines with two streams") {
    const Served sglang("deepseek-v3", "h200-sxm-141gb", "sglang", 8);
    SoftwareStack one = sglang.stack;
    one.streams = 1;
    const OpGraph graph = sglang.decode();
    CHECK(sglang.time(graph).total < timeline(graph, gpu_of(sglang.gpu, sglang.run, one), one).total);
}

TEST_CASE("engines project queries and the latent of keys down in one GEMM") {
    const Served e("deepseek-v3", "h200-sxm-141gb", "vllm", 8);
    const auto gemm = std::get<Gemm>(node_of(e.decode(), "qkv_down").op);
    CHECK(gemm.n == 1536 + 512 + 64);
}

TEST_CASE("activations with scales of the checkpoint are quantized by a kernel of its own, or by the one that writes them") {
    const char* model = "nvidia/Llama-3.1-70B-Instruct-FP8";
    const Served vllm(model, "h200-sxm-141gb", "vllm", 8), trtllm(model, "h200-sxm-141gb", "trtllm", 8);
    CHECK(vllm.run.precision == Precision::fp8);
    CHECK(count(vllm.decode(), "quantize") == 4 * 80);
    CHECK(count(trtllm.decode(), "quantize") == 0);
    CHECK_FALSE(std::get<Gemm>(node_of(vllm.decode(), "o_proj").op).dynamic_quantized);
    // Without such scales each GEMM finds them.
    const Served blocks("deepseek-v3", "h200-sxm-141gb", "vllm", 8);
    CHECK(std::get<Gemm>(node_of(blocks.decode(), "o_proj").op).dynamic_quantized);
}

TEST_CASE("published checkpoints run in the format that engines multiply them in, where the GPU can") {
    const auto precision = [](const char* model, const char* gpu) {
        return default_precision(find_workload(test::models_dir(), model), load_gpu(test::gpus_dir(), gpu).profile);
    };
    CHECK(precision("deepseek-v3", "h200-sxm-141gb") == Precision::fp8);
    CHECK(precision("deepseek-v3", "a100-sxm4-80gb") == Precision::bf16);
    CHECK(precision("nvidia/DeepSeek-V3.1-NVFP4", "b200-sxm") == Precision::fp4);
    CHECK(precision("nvidia/DeepSeek-V3.1-NVFP4", "h200-sxm-141gb") == Precision::bf16);
    CHECK(precision("openai/gpt-oss-120b", "b200-sxm") == Precision::bf16);
    CHECK(precision("llama-3.1-8b", "b200-sxm") == Precision::bf16);
}
