// Memory as engines divide it. Expected figures: start-up logs of vLLM, and arithmetic on published sizes.
#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "roofcast/memory_report.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::rel;

namespace {

struct EngineBench {
    SoftwareStacks software = load_software(test::software_dir());

    [[nodiscard]] EngineMemoryReport of(const std::string& model, const std::string& engine, const EngineSettings& settings = {},
                                        Run run = {}, const std::string& gpu = "h100-sxm5-80gb") const {
        const Workload workload = find_workload(test::models_dir(), model);
        run.software = engine;
        run.precision = Precision::bf16;
        return engine_memory(workload, completed_sizes(run, workload), software, test::shipped_gpu(gpu).profile, settings);
    }
    [[nodiscard]] std::string refusal(const std::string& model, const std::string& engine, const EngineSettings& settings = {}) const {
        try {
            static_cast<void>(of(model, engine, settings));
        } catch (const Error& e) {
            return e.what();
        }
        return {};
    }
};

const EngineSettings h100_at_95{.fraction = 0.95, .max_tokens = {}, .max_sequences = {}, .context = 8192, .gpu_memory = 79.19 * gib};

}  // namespace

TEST_CASE("Llama 3.1 8B under vLLM 0.19 takes what its log says") {
    const EngineMemoryReport m = EngineBench().of("llama-3.1-8b", "vllm 0.19.0", h100_at_95);
    // 8.030 billion parameters in 16 bits, and 131,072 × 128 cosines and sines.
    CHECK(m.weights.in(byte) == rel(2 * 8'030'261'248.0 + 2 * 131'072 * 128, 1e-6));
    CHECK(m.weights.in(gib) == rel(14.99, 0.001));
    // 1,024 sequences of 128,256 scores in 14 bytes, hidden states of 8,192 tokens, and 118 MiB.
    CHECK(m.activations.in(byte) == rel(1024 * 128'256 * 14.0 + 8192 * 4096 * 2 + 118 * 1024 * 1024, 1e-6));
    CHECK(m.activations.in(gib) == rel(1.89, 0.01));
    CHECK(m.cache.in(gib) == rel(58.11, 0.002));
    CHECK(static_cast<double>(m.cache_tokens) == rel(476'016, 0.002));
    CHECK(m.concurrency == rel(58.11, 0.002));
    CHECK(m.max_tokens == 8192);
    CHECK(m.max_sequences == 1024);
}

TEST_CASE("predictions under an engine count no more activations than its largest step has") {
    const EngineBench bench;
    const Workload llama = find_workload(test::models_dir(), "llama-3.1-8b");
    const auto predicted = [&](int batch, int prompt) {
        Run run{.batch = batch, .prompt_tokens = prompt, .generate_tokens = 1, .precision = Precision::bf16};
        run.software = "vllm";
        return memory_estimate(llama, completed_sizes(run, llama), bench.software).activations;
    };
    // vLLM computes 8,192 tokens a step at most, on the H100 as on the largest GPU.
    const Bytes step = bench.of("llama-3.1-8b", "vllm", {.max_tokens = 8192, .max_sequences = 64}).activations;
    CHECK(predicted(64, 2048) == step);
    CHECK(predicted(64, 4096) == step);
    CHECK(predicted(64, 16) < step);  // one pass of 1,024 tokens
}

TEST_CASE("predictions under llama.cpp count the activations of its micro-batch, as its memory does, whatever prompt and batch") {
    const EngineBench bench;
    const Workload llama = find_workload(test::models_dir(), "llama-3.1-8b");
    const EngineMemoryReport divided = bench.of("llama-3.1-8b", "llama.cpp");
    // 512 rows of 128,256 scores in 4 bytes, hidden states of 512 tokens, and 20 MiB.
    CHECK(divided.activations.in(byte) == rel(512 * 128'256 * 4.0 + 512 * 4096 * 2 + 20 * 1024 * 1024, 1e-9));
    for (const auto& [batch, prompt] : {std::pair<int, int>{1, 100}, {1, 20'000}, {8, 4096}}) {
        Run run{.batch = batch, .prompt_tokens = prompt, .precision = Precision::bf16};
        run.software = "llama.cpp";
        const MemoryEstimate counted = memory_estimate(llama, completed_sizes(run, llama), bench.software);
        CHECK(counted.activations.in(byte) == rel(divided.activations.in(byte), 1e-12));
    }
    Run wide{.prompt_tokens = 20'000, .precision = Precision::bf16};
    wide.software = "llama.cpp";
    wide.techniques.prefill_chunk = 8192;
    const EngineSettings settings{.fraction = {}, .max_tokens = 8192, .max_sequences = {}, .context = {}, .gpu_memory = {}};
    CHECK(memory_estimate(llama, completed_sizes(wide, llama), bench.software).activations.in(byte) ==
          rel(bench.of("llama-3.1-8b", "llama.cpp", settings).activations.in(byte), 1e-12));
}

TEST_CASE("engines that cut prompts cut them into the steps that their memory is divided for") {
    const EngineBench bench;
    int cut = 0;
    for (const Engine& engine : bench.software.engines) {
        if (engine.stack.prefill_chunk == 0) continue;
        const EngineMemory* memory = engine_memory_of(bench.software.memory, engine.match.front());
        CAPTURE(engine.stack.name);
        REQUIRE(memory != nullptr);
        CHECK(memory->steps.size() == 1);  // predictions know no GPU where memory is counted
        CHECK(memory->steps.front().max_tokens == engine.stack.prefill_chunk);
        ++cut;
    }
    CHECK(cut >= 3);
}

TEST_CASE("tensor parallelism divides weights and pays for communication, a pipeline divides layers") {
    const EngineBench bench;
    const EngineMemoryReport tensor = bench.of("llama-3.1-8b", "vllm 0.19", h100_at_95, {.parallel = {.tensor = 4}});
    CHECK(tensor.weights.in(gib) == rel(3.77, 0.01));
    CHECK(static_cast<double>(tensor.cache_tokens) == rel(2'209'792, 0.01));
    const EngineMemoryReport stages = bench.of("llama-3.1-8b", "vllm 0.19", h100_at_95, {.parallel = {.pipeline = 4}});
    CHECK(stages.weights.in(gib) == rel(4.26, 0.01));
    CHECK(static_cast<double>(stages.cache_tokens) == rel(2'257'264, 0.01));
}

TEST_CASE("groups of attention hold whole caches, and builds of vLLM's main branch divide memory as its latest version") {
    const EngineBench bench;
    const char* model = "qwen3-235b-a22b";
    const auto tokens = [&](const Parallelism& parallel) {
        const EngineMemoryReport m = bench.of(model, "vllm 0.19", h100_at_95, {.parallel = parallel});
        return static_cast<double>(m.cache_tokens) / m.cache.in(byte);
    };
    // One of four KV heads on each GPU, against all four.
    CHECK(tokens({.tensor = 8, .expert = 8}) == rel(4 * tokens({.tensor = 8, .expert = 8, .attention_data = 8}), 1e-3));
    CHECK(bench.of("llama-3.1-8b", "vllm 0.1.dev19262").engine == "vllm");
}

TEST_CASE("a latent cache is repeated under tensor parallelism") {
    const EngineBench bench;
    const EngineMemoryReport one = bench.of("deepseek-v2-lite-chat", "vllm 0.19", h100_at_95);
    const EngineMemoryReport two = bench.of("deepseek-v2-lite-chat", "vllm 0.19", h100_at_95, {.parallel = {.tensor = 2}});
    CHECK(one.cache.in(byte) / static_cast<double>(one.cache_tokens) ==
          rel(two.cache.in(byte) / static_cast<double>(two.cache_tokens), 1e-4));
    CHECK(static_cast<double>(two.cache_tokens) == rel(1'948'752, 0.01));
}

TEST_CASE("experts in MXFP4 are padded to what kernels take") {
    const EngineBench bench;
    // 36 layers of 128 experts of three matrices of 2,880 × 2,880, rounded up to 3,072 × 2,944, in 4.25 bits.
    const EngineMemoryReport marlin = bench.of("gpt-oss-120b", "vllm 0.20", h100_at_95);
    CHECK(marlin.padding.in(byte) == rel(36 * 128 * 3 * (3072.0 * 2944 - 2880.0 * 2880) * 4.25 / 8, 1e-9));
    CHECK(marlin.weights.in(gib) == rel(65.97, 0.003));  // log of Marlin
    CHECK(bench.of("gpt-oss-120b", "vllm 0.14.1", h100_at_95).weights.in(gib) == rel(64.38, 0.003));
    // Two GPUs: 1,440 is rounded up to 1,536.
    CHECK(bench.of("gpt-oss-20b", "vllm 0.19", h100_at_95, {.parallel = {.tensor = 2}}).weights.in(gib) == rel(7.01, 0.01));
    // Half of the experts on each pair of four GPUs, which split them as two GPUs do.
    const Bytes on_two = bench.of("gpt-oss-20b", "vllm 0.19", h100_at_95, {.parallel = {.tensor = 2}}).padding;
    CHECK(bench.of("gpt-oss-20b", "vllm 0.19", h100_at_95, {.parallel = {.tensor = 4, .expert = 2}}).padding / on_two == rel(0.5, 1e-9));
    Run plain;
    plain.weights = native_weights(Precision::bf16);
    CHECK(bench.of("gpt-oss-20b", "vllm 0.19", {}, plain, "b200-sxm").padding <= Bytes{});
}

TEST_CASE("tables of rotations grow with a linear scale of positions") {
    // 8 × 131,072 positions of full layers and 131,072 of window layers, 256 wide.
    const EngineMemoryReport m = EngineBench().of("gemma-3-4b-it", "vllm 0.19", h100_at_95);
    CHECK(m.weights.in(byte) == rel(2 * 4'300'078'320.0 + 9 * 131'072 * 256 * 2.0, 1e-3));
    CHECK(m.weights.in(gib) == rel(8.58, 0.002));
}

TEST_CASE("each engine's fraction is of what the engine says") {
    const EngineBench bench;
    const EngineSettings half{.fraction = 0.5, .max_tokens = {}, .max_sequences = {}, .context = 8192, .gpu_memory = 79 * gib};
    const EngineMemoryReport vllm = bench.of("llama-3.1-8b", "vllm 0.19", half), sglang = bench.of("llama-3.1-8b", "sglang", half),
                             trt = bench.of("llama-3.1-8b", "tensorrt-llm", half);
    CHECK((vllm.weights + vllm.activations + vllm.framework + vllm.cache).in(gib) == rel(39.5, 1e-9));
    CHECK((sglang.weights + sglang.cache).in(gib) == rel(0.5 * (79 - sglang.framework.in(gib)), 1e-9));
    CHECK(trt.cache.in(gib) == rel(0.5 * (79 * gib - trt.weights - trt.activations - trt.framework).in(gib), 1e-9));
}

TEST_CASE("SGLang's default fraction leaves what its documentation reserves") {
    // 80 GB: at least 10 GiB. RTX 3090, 24 GB: 512 + 1.5 × 2,048 + 2 × 24 + 128 MiB.
    const EngineBench bench;
    const EngineMemoryReport large = bench.of("llama-3.1-8b", "sglang", {.gpu_memory = 79 * gib});
    CHECK(large.fraction == rel(1 - (512 + 1.5 * 8192 + 2 * 256 + 128) / 1024 / 79, 1e-9));
    const EngineMemoryReport small = bench.of("llama-3.2-3b", "sglang", {.gpu_memory = 23.6 * gib}, {}, "rtx-3090");
    CHECK(small.fraction == rel(1 - (512 + 1.5 * 2048 + 2 * 24 + 128) / 1024 / 23.6, 1e-9));
}

TEST_CASE("llama.cpp allocates the context that it is asked for, and none beyond what fits") {
    const EngineBench bench;
    Run run;
    run.weights = *parse_weight_format("q4_k_m");
    const EngineMemoryReport asked = bench.of("llama-3.1-8b", "llama.cpp", {.context = 8192}, run, "rtx-4090");
    CHECK(asked.cache.in(byte) == rel(8192 * 131'072.0, 1e-9));
    CHECK(asked.sequences >= 1);
    const EngineMemoryReport free = bench.of("llama-3.1-8b", "llama.cpp", {}, run, "rtx-4090");
    CHECK(free.context == free.largest_context);
    CHECK(free.cache > asked.cache);
    CHECK(free.weights + free.activations + free.framework + free.cache <= free.gpu_memory);
}

TEST_CASE("more memory, a larger fraction and smaller steps never leave a smaller cache") {
    const EngineBench bench;
    EngineMemoryReport before = bench.of("gemma-3-12b-it", "vllm", {.fraction = 0.4});
    for (double fraction = 0.45; fraction < 1; fraction += 0.05) {
        const EngineMemoryReport now = bench.of("gemma-3-12b-it", "vllm", {.fraction = fraction});
        CHECK(now.cache > before.cache);
        CHECK(now.largest_context >= before.largest_context);
        before = now;
    }
    CHECK(bench.of("gemma-3-12b-it", "vllm 0.19", {.max_sequences = 64}).cache > bench.of("gemma-3-12b-it", "vllm 0.19").cache);
}

TEST_CASE("what an engine cannot be asked is refused with the field that says it") {
    const EngineBench bench;
    CHECK(bench.refusal("llama-3.1-8b", "llama.cpp", {.fraction = 0.9}).find("memory_fraction") != std::string::npos);
    CHECK(bench.refusal("llama-3.1-8b", "vllm", {.context = 200'000}).find("at most 131072") != std::string::npos);
    CHECK(bench.refusal("resnet50", "vllm").find("not a language model") != std::string::npos);
    CHECK(bench.refusal("llama-3.1-8b", "exllama").find("is not known") != std::string::npos);
}
