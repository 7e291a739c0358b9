#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "roofcast/validation.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "validation/hosts.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

struct Bench {
    Gpu gpu = load_gpu(test::gpus_dir(), "a100-sxm4-80gb");
    ModelPredictor predictor = model_predictor({find_workload(test::models_dir(), "llama-3.1-8b")}, load_software(test::software_dir()),
                                               load_measuring_hosts(test::software_dir() / "hosts.toml"));

    ModelEstimate operator()(const ModelRow& row) const { return predictor(row, gpu); }
};

ModelRow llama(std::string phase, Metric metric) {
    ModelRow row;
    row.model = "llama-3.1-8b";
    row.execution = Execution::cuda_graph;
    row.batch = 4;
    row.prompt_tokens = 1000;
    row.output_tokens = 100;
    row.phase = std::move(phase);
    row.metric = metric;
    return row;
}

}  // namespace

TEST_CASE("the metrics of a language model agree with each other") {
    const Bench predicted;
    const double ttft_ms = predicted(llama("prefill", Metric::ttft_ms)).predicted;
    const double tpot_ms = predicted(llama("decode", Metric::tpot_ms)).predicted;
    // 4 sequences of 1000 tokens in one prefill; 4 tokens a decode step; 100 tokens are a prefill and 99 steps.
    CHECK(predicted(llama("prefill", Metric::tokens_per_s)).predicted == rel(4 * 1000 / (ttft_ms * 1e-3), 1e-6));
    CHECK(predicted(llama("decode", Metric::tokens_per_s)).predicted == rel(4 / (tpot_ms * 1e-3), 1e-6));
    CHECK(predicted(llama("generate", Metric::latency_ms)).predicted == rel(ttft_ms + 99 * tpot_ms, 1e-6));
    CHECK(predicted(llama("generate", Metric::tokens_per_s)).predicted == rel(4 * 100 / (ttft_ms + 99 * tpot_ms) * 1e3, 1e-6));
}

TEST_CASE("a source that times whole calls counts the prompt into the rate of tokens") {
    const Bench predicted;
    ModelRow row = llama("decode", Metric::tokens_per_s);
    const double steps_alone = predicted(row).predicted;
    row.origin.source = "QwenLM docs speed_benchmark (Qwen2.5)";
    const double whole = predicted(row).predicted;
    CHECK(whole < steps_alone);
    // 4 sequences of 100 tokens each.
    CHECK(whole == rel(400 / (predicted(llama("generate", Metric::latency_ms)).predicted * 1e-3), 1e-6));
}

TEST_CASE("the engine of a row whose software has no version is known by its source") {
    const Bench predicted;
    ModelRow row = llama("decode", Metric::tpot_ms);
    row.origin.software = "vLLM";
    row.origin.source = "a benchmark";
    const double recent = predicted(row).predicted;
    row.origin.source = "mlc-ai/llm-perf-bench README (2023-10)";
    const double then = predicted(row).predicted;
    CHECK(then > 1.5 * recent);
    row.origin = {.software = "vLLM 0.2.0", .source = "a benchmark"};
    CHECK(predicted(row).predicted == then);
    // Software that a row does not name is not known by its source.
    row.origin = {.software = "", .source = "mlc-ai/llm-perf-bench README (2023-10)"};
    CHECK(predicted(row).predicted < then);
}

TEST_CASE("a row that does not say how weights are stored has those that the checkpoint is published in") {
    const Gpu gpu = load_gpu(test::gpus_dir(), "a100-sxm4-80gb");
    const ModelPredictor predictor =
        model_predictor({find_workload(test::models_dir(), "gpt-oss-20b")}, load_software(test::software_dir()));
    ModelRow row = llama("", Metric::memory_gb);
    row.model = "gpt-oss-20b";
    row.precision = row.kv_precision = Precision::bf16;
    const double published = predictor(row, gpu).predicted;
    row.weights = parse_weight_format("mxfp4");
    CHECK(predictor(row, gpu).predicted == published);
    row.weights = native_weights(Precision::bf16);
    CHECK(predictor(row, gpu).predicted > 2 * published);
}

TEST_CASE("the roofline of a model is faster than its prediction, in times and in rates") {
    const Bench predicted;
    const auto time = predicted(llama("generate", Metric::latency_ms)), rate = predicted(llama("decode", Metric::tokens_per_s));
    REQUIRE(time.roofline);
    REQUIRE(rate.roofline);
    CHECK(*time.roofline < time.predicted);
    CHECK(*rate.roofline > rate.predicted);
}

TEST_CASE("a model's limit is what its weights or GEMMs take at data-sheet rates") {
    const Bench predicted;
    const auto step = predicted(llama("decode", Metric::tpot_ms)), rate = predicted(llama("decode", Metric::tokens_per_s));
    REQUIRE(step.limit);
    REQUIRE(rate.limit);
    // 8.03e9 parameters less 128256 x 4096 of the table, 2 bytes each, less 40 MiB of L2, and keys and values of four sequences (1000 to
    // 1098 tokens before each step, 128 KiB a token), at 2039 GB/s.
    const double weights = 2 * (8.0303e9 - 128256.0 * 4096), cache = 4 * 1049.0 * 131072;
    CHECK(*step.limit == rel((weights + cache - 40 * 1048576.0) / 2039e9 * 1e3, 1e-3));
    CHECK(*step.limit < *step.roofline);
    CHECK(*rate.limit == rel(4 / (*step.limit * 1e-3), 1e-6));
    const auto memory = predicted(llama("", Metric::memory_gb));
    REQUIRE(memory.limit);
    CHECK(*memory.limit == rel(predicted.gpu.profile.data_capacity()->in(gb), 1e-9));
}

TEST_CASE("a model row that beats physics is not planned") {
    const Gpu gpu = load_gpu(test::gpus_dir(), "a100-sxm4-80gb");
    const ModelPlanner planner = model_planner({find_workload(test::models_dir(), "llama-3.1-8b")}, load_software(test::software_dir()));
    ModelRow row = llama("decode", Metric::tpot_ms);
    row.value = 7;  // the limit is 7.3
    CHECK_NOTHROW(static_cast<void>(planner(row, gpu)));
    row.value = 6;
    CHECK_THROWS_WITH_AS(static_cast<void>(planner(row, gpu)), doctest::Contains("better than the data sheet allows: tpot_ms 6"), Error);
}

TEST_CASE("memory of several GPUs is their sum and has no roofline") {
    const Bench predicted;
    const auto memory = predicted(llama("", Metric::memory_gb));
    CHECK_FALSE(memory.roofline);
    CHECK(memory.predicted > 16.06);  // 8.03e9 weights of 2 bytes
    ModelRow split = llama("", Metric::memory_gb);
    split.gpus = 2;
    CHECK(predicted(split).predicted > memory.predicted);
    CHECK(predicted(split).predicted < 2 * memory.predicted);
}

TEST_CASE("engines that split models by layers decode on two GPUs no faster than on one, others do") {
    const Bench predicted;
    const auto gained = [&](const char* software) {
        ModelRow row = llama("decode", Metric::tpot_ms);
        row.batch = 1;
        row.origin.software = software;
        const double one = predicted(row).predicted;
        row.gpus = 2;
        return one / predicted(row).predicted;
    };
    CHECK(gained("llama.cpp b4000") < 1.02);
    CHECK(gained("exllamav2") < 1.02);
    CHECK(gained("mlc llm") > 1.2);
    CHECK(gained("vllm 0.9") > 1.2);
}

TEST_CASE("memory that an allocator's tensors take is predicted without what the framework keeps beside") {
    const Bench predicted;
    ModelRow row = llama("", Metric::memory_gb);
    const double whole = predicted(row).predicted;
    row.origin.source = "roofcast measure_models";
    const double tensors = predicted(row).predicted;
    CHECK(tensors > 16.06);
    CHECK(whole - tensors == rel(0.9, 0.5));  // 0.5 to 0.9 GB, by the execution mode
}

TEST_CASE("a row that starts decoding from nothing and one at the end of the context are predicted") {
    const Bench predicted;
    ModelRow row = llama("decode", Metric::tokens_per_s);
    row.prompt_tokens = 0;
    CHECK(predicted(row).predicted > 0);
    row = llama("prefill", Metric::tokens_per_s);
    row.prompt_tokens = 131072;
    CHECK(predicted(row).predicted > 0);
}

TEST_CASE("a model that is not shipped is predicted from its published figures") {
    const Bench predicted;
    ModelRow row = llama("forward", Metric::latency_ms);
    row.model = "some-net";
    row.batch = 256;
    CHECK_THROWS_AS(predicted(row), Error);
    row.gmacs = 4.1;
    row.mactivations = 11.1;
    row.mparams = 25.6;
    // ResNet-50's figures: 256 · 8.2 GFLOP at 312 TFLOP/s are 6.7 ms.
    CHECK(predicted(row).predicted > 6.7);
    CHECK(predicted(row).predicted < 200);
}

TEST_CASE("what is not predicted says so") {
    const Bench predicted;
    CHECK_THROWS_AS(predicted(llama("train", Metric::latency_ms)), Error);
    ModelRow none = llama("generate", Metric::latency_ms);
    none.output_tokens = 0;
    CHECK_THROWS_WITH_AS(predicted(none), doctest::Contains("generates no token"), Error);
    CHECK_THROWS_AS(predicted(llama("", Metric::power_w)), Error);
    CHECK_THROWS_AS(predicted(llama("forward", Metric::tokens_per_s)), Error);
}

TEST_CASE("rates of voices count samples of audio") {
    const Workload voice = find_workload(test::models_dir(), "hifigan");
    const ModelPredictor predictor = model_predictor({voice}, load_software(test::software_dir()));
    const Gpu gpu = load_gpu(test::gpus_dir(), "t4");
    ModelRow row;
    row.model = "hifigan";
    row.execution = Execution::eager;
    row.batch = 4;
    row.phase = "forward";
    row.metric = Metric::latency_ms;
    const double latency_ms = predictor(row, gpu).predicted;
    row.metric = Metric::throughput_per_s;
    // 256 samples for each of 664 frames, of four utterances.
    CHECK(predictor(row, gpu).predicted == rel(4 * 664 * 256 / (latency_ms * 1e-3), 1e-6));
}

TEST_CASE("rows of machines with PCIe switches are predicted so, others as the GPU's profile says") {
    const std::vector<Workload> models{find_workload(test::models_dir(), "llama-3.1-8b")};
    const ModelPredictor predictor = model_predictor(models, load_software(test::software_dir()));
    const Gpu gpu = load_gpu(test::gpus_dir(), "l40s");
    ModelRow row = llama("prefill", Metric::ttft_ms);
    row.prompt_tokens = 1024;
    row.gpus = 8;
    row.value = 100;
    const double plain = predictor(row, gpu).predicted;
    row.pcie = PcieTopology::host;
    CHECK(predictor(row, gpu).predicted == plain);
    row.pcie = PcieTopology::switched;
    CHECK(predictor(row, gpu).predicted < 0.5 * plain);
}

TEST_CASE("rows of a source are predicted on its machine, and say what their time is made of") {
    const std::vector<Workload> models{find_workload(test::models_dir(), "llama-3.1-8b")};
    const SoftwareStacks software = load_software(test::software_dir());
    const Gpu gpu = load_gpu(test::gpus_dir(), "a100-sxm4-80gb");
    HostDescriptions described;
    described.machines = {{.source = "lab", .gpus = {"a100-sxm4-80gb"}, .software = "pytorch", .host_time = 3}};
    ModelRow row = llama("decode", Metric::tpot_ms);
    row.value = 100;
    row.execution = Execution::eager;
    const auto terms = [&] {
        return model_predictor(models, software, std::make_shared<const HostDescriptions>(described))(row, gpu).terms.value();
    };
    const PredictedTerms others = terms();
    CHECK(others.bound == "host");
    CHECK(others.dram > others.compute);
    CHECK(others.host.value() > Seconds{});
    row.origin.source = "lab of one machine";
    row.origin.software = "pytorch 2.0";
    CHECK(terms().host->in(ms) == rel(3 * others.host->in(ms), 1e-9));
    CHECK(model_planner(models, software, std::make_shared<const HostDescriptions>(described))(row, gpu)(gpu) ==
          model_predictor(models, software, std::make_shared<const HostDescriptions>(described))(row, gpu).predicted);
    row.origin.software = "tensorflow";
    CHECK(terms().host == others.host);
    row.origin.software = "PyTorch 2.0";
    CHECK(terms().host->in(ms) == rel(3 * others.host->in(ms), 1e-9));
    described.machines[0].gpus = {"t4"};
    CHECK(terms().host == others.host);
    // The first token's terms are not those of the others.
    row = llama("prefill", Metric::ttft_ms);
    CHECK(model_predictor(models, software)(row, gpu).terms->compute > others.compute);
    row = llama("decode", Metric::memory_gb);
    CHECK_FALSE(model_predictor(models, software)(row, gpu).terms);
}
