// Settings of engines, by name and version.

#include <doctest/doctest.h>

#include "execution/engine_support.hpp"
#include "roofcast/prediction.hpp"
#include "support/compare.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::gpus_dir;
using test::refused_key;
using test::rel;
using test::software_dir;

TEST_CASE("engines are told apart by their versions") {
    const SoftwareStacks software = load_software(software_dir());
    const auto engine = [&](const char* text) { return software.find(Execution::cuda_graph, text).name; };
    for (const char* eager : {"vllm 0.1.7", "vLLM 0.2.6"}) CHECK(engine(eager) == "vllm-0.2");
    for (const char* old : {"vllm 0.2.7", "vllm 0.3.0", "vLLM 0.4.2"}) CHECK(engine(old) == "vllm-0.4");
    for (const char* between : {"vllm 0.4.3", "vllm v0.5.4"}) CHECK(engine(between) == "vllm-0.5");
    CHECK(engine("vLLM 0.6.3") == "vllm-0.6");
    for (const char* recent : {"vllm", "vllm (somebody's benchmark)", "vllm 0.19.0", "vllm 0.24.0"}) CHECK(engine(recent) == "vllm");
    for (const char* before : {"vllm 0.8.5", "vllm 0.10.1", "vllm 0.14.0", "vllm 0.18.0"}) CHECK(engine(before) == "vllm-0.18");
    CHECK(engine("vllm 0.1.dev19262+gb6bbf29dd.d20260727") == "vllm-dev");
    CHECK(engine("sglang 0.4.6.post1") == "sglang-0.4");
}

TEST_CASE("an engine may be another one on GPUs of a vendor") {
    const SoftwareStacks software = load_software(software_dir());
    for (const char* text : {"llama.cpp", "llama.cpp b2781"}) {
        CAPTURE(text);
        CHECK(software.find(Execution::cuda_graph, text, "Apple").name == "llama.cpp-metal");
        CHECK(software.find(Execution::cuda_graph, text, "NVIDIA").name == "llama.cpp");
        CHECK(software.find(Execution::cuda_graph, text).name == "llama.cpp");
    }
    CHECK(software.find(Execution::cuda_graph, "Ollama 0.5", "Apple").name == "llama.cpp-metal");
    CHECK(software.find(Execution::cuda_graph, "Ollama 0.5", "NVIDIA").name == "ollama");
    CHECK(software.find(Execution::cuda_graph, "vllm", "Apple").name == "vllm");
    // A prompt on an M3 Max is not multiplied at the rate that engine reaches beside cuBLAS.
    Run request{.software = "llama.cpp"};
    request.prompt_tokens = 512;
    request.generate_tokens = 1;
    const Gpu apple = test::shipped_gpu("m3-max");
    Gpu other = apple;
    other.profile.vendor.clear();
    const Workload model = find_workload(test::models_dir(), "llama-3-8b");
    CHECK(predict(model, apple, request, software).latency < 0.85 * predict(model, other, request, software).latency);
}

TEST_CASE("an engine inherits the settings of the one that it is like, except its own") {
    const SoftwareStacks software = load_software(software_dir());
    const SoftwareStack &base = software.find(Execution::cuda_graph, "llama.cpp"), &like = software.find(Execution::cuda_graph, "ollama");
    CHECK(like.unpacks_from_rows == base.unpacks_from_rows);
    CHECK(like.matmul_rate == base.matmul_rate);
    CHECK(like.device_gap < base.device_gap);
    const std::string shipped = test::text_of(software_dir() / "engines" / "llama-cpp.toml"), key = "like = \"llama.cpp\"";
    // Neither a misspelt name, nor an engine of another file, nor one that is like another itself.
    for (const char* other : {"like = \"llamacpp\"", "like = \"vllm\"", "like = \"ollama\""}) {
        CAPTURE(other);
        std::string changed = shipped;
        REQUIRE(changed.find(key) != std::string::npos);
        const test::TemporaryFile file("execution.toml", test::text_of(software_dir() / "execution.toml"));
        const auto engines = file.path().parent_path() / "engines";
        std::filesystem::create_directory(engines);
        std::ofstream(engines / "llama-cpp.toml") << changed.replace(changed.find(key), key.size(), other);
        std::string refused;
        try {
            load_software(file.path().parent_path());
        } catch (const Error& e) {
            refused = e.detail().key;
        }
        CHECK(refused.find("like") != std::string::npos);
    }
}

TEST_CASE("settings that are out of range or have no effect are refused by their key") {
    CHECK(refused_key("") == "");
    CHECK(refused_key("extra_kernels_4bit = -1").find("extra_kernels_4bit") != std::string::npos);
    CHECK(refused_key("extra_kernels_8bit = -1").find("extra_kernels_8bit") != std::string::npos);
    CHECK(refused_key("unpacked_4bit_per_sm_clock = -1").find("unpacked_4bit_per_sm_clock") != std::string::npos);
    CHECK(refused_key("unpacked_8bit_per_sm_clock = 0").find("unpacked_8bit_per_sm_clock") != std::string::npos);
    CHECK(refused_key("copy_instructions = -1").find("copy_instructions") != std::string::npos);
    CHECK(refused_key("quantized_copy_instructions = -1").find("quantized_copy_instructions") != std::string::npos);
    CHECK(refused_key("least_tile_rate = 0.9").find("least_tile_rate") != std::string::npos);
    CHECK(refused_key("least_tile_rows = 64\nleast_tile_rate = 1.1").find("least_tile_rate") != std::string::npos);
    CHECK(refused_key("expert_launch_us = -1").find("expert_launch_us") != std::string::npos);
    for (const char* tile : {"fp8_tile = 512", "fp8_tile = 0", "fp8_tile = 96"})
        CHECK(refused_key(tile).find("fp8_tile") != std::string::npos);
    CHECK(refused_key("copy_instructions = 1") == "");
    for (const char* key : {"copy_instructions", "quantized_copy_instructions"})
        CHECK(refused_key(std::string(key) + " = 1", "cuda_graph").find(key) != std::string::npos);
    CHECK(refused_key("decoders = { matmul_rate = 0.5 }").find("host_us_per_pass") != std::string::npos);
    CHECK(refused_key("decoders = { matmul_rate = 2, host_us_per_pass = 0 }").find("matmul_rate") != std::string::npos);
    CHECK(refused_key("decoders = { matmul_rate = 1, host_us_per_pass = 0, rate = 1 }").find("rate") != std::string::npos);
    CHECK(refused_key("send_gap_us = -1").find("send_gap_us") != std::string::npos);
    CHECK(refused_key("gemv_bytes_per_sm_clock = 0").find("gemv_bytes_per_sm_clock") != std::string::npos);
    CHECK(refused_key("unpacks_from_rows = -1").find("unpacks_from_rows") != std::string::npos);
    CHECK(refused_key("least_tile_rows = 300").find("least_tile_rows") != std::string::npos);
    CHECK(refused_key("least_tile_rows = 32.5").find("least_tile_rows") != std::string::npos);
    CHECK(refused_key("sharing_groups = [8]").find("sharing_groups") != std::string::npos);
    CHECK(refused_key("sharing_groups = [8, 4]").find("sharing_groups") != std::string::npos);
    CHECK(refused_key("sharing_groups = [1, 8]").find("sharing_groups") != std::string::npos);
    CHECK(refused_key("fused_encoder_tokens = 512").find("fused_encoder_tokens") != std::string::npos);
    CHECK(refused_key("fused_attention = false\nfused_encoder_tokens = -1").find("fused_encoder_tokens") != std::string::npos);
    CHECK(refused_key("element_instructions = -1").find("element_instructions") != std::string::npos);
    CHECK(refused_key("fused_attention = false\nfused_wide_attention = true").find("fused_wide_attention") != std::string::npos);
}

TEST_CASE("engines that score the vocabulary for every token of a prompt need the memory for it, those that score the last do not") {
    const SoftwareStacks software = load_software(software_dir());
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const Workload model = find_workload(test::models_dir(), "qwen2-7b");
    const auto gigabytes = [&](std::int64_t prompt, const char* version) {
        Run request{.execution = Execution::eager, .software = version};
        request.prompt_tokens = prompt;
        request.generate_tokens = 2048;
        request.precision = Precision::bf16;
        return predict(model, gpu, request, software).memory.total().in(gb);
    };
    // 151,936 words in 16 bits and in fp32, and 28 layers of 2 · 4 · 128 cached elements, for each of 16,384 tokens more.
    CHECK(gigabytes(30720, "transformers 4.38.2") - gigabytes(14336, "transformers 4.38.2") ==
          rel(16384.0 * (151936 * 6 + 28 * 2 * 4 * 128 * 2) * 1e-9, 0.03));
    CHECK(gigabytes(30720, "transformers 4.46.0") < gigabytes(30720, "transformers 4.38.2") - 20);
}

TEST_CASE("engines say what the library before and after 2023 does by version, and what compiled code leaves to libraries") {
    const SoftwareStacks software = load_software(software_dir());
    const SoftwareStack &eager = software.find(Execution::eager, "transformers/pytorch 2.0.1"),
                        &compiled = software.find(Execution::compiled, "transformers/pytorch 2.1.0dev"),
                        &later = software.find(Execution::eager, "transformers/pytorch");
    CHECK(eager.lowering.kernels == KernelSet::framework);
    CHECK(eager.lowering.separate_mask);
    CHECK(eager.lowering.copies_heads);
    CHECK(compiled.lowering.kernels == KernelSet::generated);
    CHECK_FALSE(compiled.lowering.separate_mask);
    CHECK(software.find(Execution::cuda_graph, "transformers/pytorch 2.1.0dev").lowering.kernels == KernelSet::generated);
    CHECK(later.host_per_kernel < eager.host_per_kernel);
    CHECK(software.find(Execution::compiled, "onnxruntime").lowering.kernels == KernelSet::fused);
}

TEST_CASE("a model whose script casts it to 16 bits has no part in automatic mixed precision") {
    const Gpu gpu = test::shipped_gpu("v100-sxm2-16gb");
    const SoftwareStacks software = load_software(software_dir());
    Workload model = find_workload(test::models_dir(), "yolov5s");
    Run request{.execution = Execution::eager, .software = "pytorch"};
    const auto latency = [&](Precision p) {
        request.precision = p;
        return predict(model, gpu, request, software).latency;
    };
    REQUIRE(model.own_script.casts_model);
    REQUIRE(model.own_script.folds_norms);
    const Seconds half = latency(Precision::fp16), single = latency(Precision::fp32);
    model.own_script.casts_model = false;
    CHECK(latency(Precision::fp16) > half);
    CHECK(latency(Precision::fp32) == single);
    model.own_script.folds_norms = false;
    CHECK(latency(Precision::fp32) > single);
}

TEST_CASE("a model whose script traces it runs as TorchScript, where the software has that") {
    const SoftwareStacks software = load_software(software_dir());
    const Gpu gpu = test::shipped_gpu("v100-sxm2-16gb");
    Workload model = find_workload(test::models_dir(), "gpunet-0");
    REQUIRE(model.own_script.traced);
    const auto latency = [&](Execution execution, const char* engine) {
        return predict(model, gpu, Run{.execution = execution, .software = engine}, software).latency.in(us);
    };
    const double traced = latency(Execution::eager, "pytorch"), later = latency(Execution::eager, "pytorch 2.1");
    CHECK(traced == latency(Execution::compiled, "pytorch"));
    const auto notes = [&](const char* engine) {
        return predict(model, gpu, Run{.execution = Execution::eager, .software = engine}, software).notes.size();
    };
    CHECK(notes("pytorch") == notes("pytorch 2.1") + 1);
    model.own_script.traced = false;
    CHECK(latency(Execution::eager, "pytorch") > traced);
    // What compiles later versions writes kernels of its own.
    CHECK(latency(Execution::eager, "pytorch 2.1") == later);
}

TEST_CASE("an engine may run decoders at another rate than other models, and with other work of the host") {
    SoftwareStacks software = load_software(software_dir());
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const auto latency = [&](const char* model) {
        Run request{.execution = Execution::fused, .software = "fastertransformer"};
        request.batch = 16;
        request.generate_tokens = 8;
        return predict(find_workload(test::models_dir(), model), gpu, request, software).latency.in(us);
    };
    const double decoder = latency("gpt3-1.3b"), vision = latency("vit-base-patch16-224");
    for (Engine& engine : software.engines) engine.stack.decoders.reset();
    CHECK(latency("vit-base-patch16-224") == vision);
    const double plain = latency("gpt3-1.3b");
    CHECK(decoder > 1.2 * plain);
    for (Engine& engine : software.engines) engine.stack.decoders = DecoderSettings{1, engine.stack.host_per_pass + 500 * us};
    CHECK(latency("gpt3-1.3b") == rel(plain + 8 * 500, 1e-3));
}

TEST_CASE("keys are copied by other instructions where weights are quantized, if the engine says so") {
    SoftwareStacks software = load_software(software_dir());
    const Gpu gpu = test::shipped_gpu("h20");
    const auto latency = [&](double bits) {
        Run request{.execution = Execution::eager, .software = "transformers 4.51.3"};
        request.prompt_tokens = 30000;
        request.generate_tokens = 2;
        if (bits < 16) request.weights = WeightFormat{.precision = Precision::int4, .bits = bits, .label = "int4"};
        return predict(find_workload(test::models_dir(), "qwen3-14b"), gpu, request, software).tpot.value().in(us);
    };
    const double wide = latency(16), quantized = latency(4.5);
    for (Engine& engine : software.engines) engine.stack.lowering.quantized_copy_instructions.reset();
    CHECK(latency(16) == wide);
    CHECK(latency(4.5) > 1.5 * quantized);
}

TEST_CASE("transformers 5 runs the experts of a layer in groups, eagerly and in a graph of its kernels") {
    SoftwareStacks software = load_software(software_dir());
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const auto kernels = [&](Execution execution, const char* engine) {
        Run request{.execution = execution, .software = engine};
        request.batch = 1;
        request.prompt_tokens = 128;
        request.generate_tokens = 2;
        return predict(find_workload(test::models_dir(), "qwen3-30b-a3b"), gpu, request, software).phases.back().timeline.kernels;
    };
    const double eager = kernels(Execution::eager, "transformers 5.17"), graph = kernels(Execution::cuda_graph, "pytorch 2.11.0");
    for (Engine& engine : software.engines) engine.stack.lowering.grouped_experts = false;
    CHECK(kernels(Execution::eager, "transformers 5.17") > 2 * eager);
    CHECK(kernels(Execution::cuda_graph, "pytorch 2.11.0") > 2 * graph);
}

TEST_CASE("transformers of 2024 goes through all keys of a head in one block, and through the vocabulary once for each prompt") {
    SoftwareStacks software = load_software(software_dir());
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const auto predicted = [&](std::int64_t batch, std::int64_t prompt) {
        Run request{.execution = Execution::eager, .software = "transformers 4.46.0"};
        request.batch = batch;
        request.prompt_tokens = prompt;
        request.generate_tokens = 2;
        return predict(find_workload(test::models_dir(), "qwen2.5-7b"), gpu, request, software);
    };
    const Seconds step = predicted(1, 30000).tpot.value(), first = predicted(32, 128).ttft.value();
    for (Engine& engine : software.engines) {
        engine.stack.caller.splits_ungrouped = true;
        engine.stack.lowering.head_by_sequences = false;
    }
    CHECK(predicted(1, 30000).tpot.value() < step - 28 * 100 * us);  // some 15 ns a token in each of 28 layers, a quarter of it split
    const Seconds vocabulary = 152064.0 * 3584 * 2 * byte / gpu.profile.data_bandwidth(Traffic::read);
    CHECK((first - predicted(32, 128).ttft.value()).in(us) == rel((31 * vocabulary).in(us), 0.3));
}

TEST_CASE("encoders of an engine that was measured on half-padded sequences attend to halves, unless the padding was removed") {
    SoftwareStacks software = load_software(software_dir());
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const auto pass = [&](std::int64_t tokens) {
        Run request{.execution = Execution::fused, .software = "fastertransformer-pytorch"};
        request.batch = 32;
        request.prompt_tokens = tokens;
        return predict(find_workload(test::models_dir(), "bert-base"), gpu, request, software);
    };
    const double padded = pass(384).latency.in(us), removed = pass(192).phases[0].timeline.host.in(us);
    for (Engine& engine : software.engines) engine.stack.half_padded.reset();
    CHECK(padded < 0.97 * pass(384).latency.in(us));
    CHECK(removed == rel(pass(192).phases[0].timeline.host.in(us) + 200, 1e-9));
    CHECK(refused_key("half_padded = { removed_tokens = [16] }").find("host_us_per_pass") != std::string::npos);
    CHECK(refused_key("half_padded = { removed_tokens = [0], host_us_per_pass = 1 }").find("removed_tokens") != std::string::npos);
    CHECK(refused_key("half_padded = { host_us_per_pass = 1, share = 0.5 }").find("share") != std::string::npos);
}

TEST_CASE("the loop of FasterTransformer's TensorFlow example is an engine of its own") {
    const SoftwareStacks software = load_software(software_dir());
    const auto name = [&](const char* text) { return software.engine(Execution::compiled, text)->stack.name; };
    CHECK(name("tensorflow1 loop") == "tensorflow-1-loop");
    CHECK(name("tensorflow1") == "tensorflow-1");
    CHECK(software.find(Execution::eager, "pytorch").lowering.odd_rows_on_simt);
    CHECK(software.find(Execution::compiled, "pytorch").lowering.odd_rows_on_simt);
    CHECK_FALSE(software.find(Execution::eager, "pytorch 2.1").lowering.odd_rows_on_simt);
}

TEST_CASE("words of software match in any case, and whole") {
    CHECK(begins_with_words("PyTorch 2.1", "pytorch"));
    CHECK(begins_with_words("tensorrt-llm v0.9", "tensorrt-llm"));
    CHECK_FALSE(begins_with_words("tensorrt-llm v0.9", "tensorrt"));
    CHECK_FALSE(begins_with_words("py", "pytorch"));
}

TEST_CASE("torch.autocast narrows weights, and leaves norms in fp32 unless a benchmark asks for fast ones") {
    const SoftwareStacks software = load_software(software_dir());
    const auto stack = [&](const char* text) { return software.find(Execution::eager, text); };
    for (const char* text : {"pytorch 2 amp", "pytorch 2.11.0 amp nhwc", "pytorch 2.12.1 amp"}) {
        INFO(text);
        CHECK(stack(text).name == "pytorch-2-amp-norms");
        CHECK(stack(text).lowering.mixed_precision);
        CHECK(stack(text).casts_weights);
        CHECK(stack(text).lowering.fp32_norms);
    }
    CHECK(stack("pytorch 240 amp nhwc").casts_weights);
    CHECK_FALSE(stack("pytorch 240 amp nhwc").lowering.fp32_norms);
    CHECK_FALSE(stack("pytorch 2").casts_weights);
    CHECK(refused_key("casts_weights = true").find("casts_weights") != std::string::npos);
}

TEST_CASE("PyTorch's attention without a fused kernel is in fp32 from 2.5 on") {
    const SoftwareStacks software = load_software(software_dir());
    const Workload sam = find_workload(test::models_dir(), "samvit-base-patch16");
    const Gpu gpu = test::shipped_gpu("h100-sxm5-80gb");
    const auto time = [&](const char* text) {
        Run request{.batch = 4, .precision = Precision::fp16, .execution = Execution::eager, .software = text};
        return predict(sam, gpu, completed(request, sam, gpu), software).latency.in(ms);
    };
    CHECK(time("pytorch 2.11.0") > 1.5 * time("pytorch 2.4.1"));
    CHECK(time("pytorch 2.4.1") == time("pytorch 240"));
    CHECK(time("pytorch 2.5") == time("pytorch 2.11.0"));
    CHECK(refused_key("fp32_library_attention = true", "cuda_graph").find("fp32_library_attention") != std::string::npos);
}

TEST_CASE("an asterisk stands for the rest of a word") {
    CHECK(begins_with_words("pytorch 2.11.0 amp nhwc", "pytorch 2* amp"));
    CHECK(begins_with_words("PyTorch 2 amp", "pytorch 2* amp"));
    CHECK_FALSE(begins_with_words("pytorch 2.11.0", "pytorch 2* amp"));
    CHECK_FALSE(begins_with_words("pytorch 2.11.0 ampere", "pytorch 2* amp"));
    CHECK_FALSE(begins_with_words("pytorch 1.13 amp", "pytorch 2* amp"));
}

TEST_CASE("engines run all-reduces by the kernels of their library, and others by the vendor's") {
    const SoftwareStacks stacks = load_software(test::software_dir());
    const Gpu gpu = test::shipped_gpu("h200");
    const OpGraph graph = test::layers_of(Collective{CollectiveKind::all_reduce, 8, 16 * kib});
    const auto run = [&](std::string_view software) {
        const SoftwareStack& stack = stacks.find(Execution::cuda_graph, software);
        return timeline(graph, as_software_sees(gpu, stack), stack).ops.front().kernel;
    };
    const KernelCost vendor = run("an engine nobody described"), engine = run("vllm 0.24.0");
    CHECK(vendor.algorithm == ring_algorithm);
    CHECK(engine.algorithm == "one_shot");
    CHECK(engine.total < 0.5 * vendor.total);
    for (const char* software : {"sglang 0.5.14", "sglang 0.5.9", "tensorrt-llm 1.2"}) {
        CAPTURE(software);
        CHECK(run(software).algorithm == "one_shot");
    }
}
