#include "roofcast/pipeline.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;
using test::contains;
using test::gpus_dir;
using test::models_dir;
using test::rel;
using test::software_dir;
using test::TemporaryFile;

namespace {

PipelineResult predicted(const std::string& text) {
    const TemporaryFile file("pipeline.toml", text);
    return predict_pipeline(load_pipeline(file.path()), gpus_dir(), models_dir(), load_software(software_dir()));
}

std::string refusal(const std::string& text) {
    try {
        predicted(text);
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

/// A stage of known latency.
std::string known(const std::string& name, double latency_ms, const std::string& more = "") {
    return "[[stage]]\nname = \"" + name + "\"\nlatency_ms = " + std::to_string(latency_ms) + "\nsource = \"a test\"\n" + more + "\n";
}

std::string model(const std::string& name, const std::string& more) {
    return "[[stage]]\nname = \"" + name + "\"\nmodel = \"bert-base\"\nprecision = \"fp16\"\n" + more + "\n";
}

}  // namespace

TEST_CASE("scenario: serial stages add up, parallel ones take as long as the longest, and the slowest resource sets the throughput") {
    const PipelineResult r =
        predicted(known("a", 10) + known("b", 30, "calls = 2") + known("c", 5, "parallel_with = \"b\"") + known("d", 1));
    // 10 + max(2 x 30, 5) + 1
    CHECK(r.latency.in(ms) == rel(71, 1e-12));
    CHECK(r.requests_per_second == rel(1000.0 / 60, 1e-12));
    CHECK(r.longest_stage == "b");
    CHECK(r.bottleneck == "b");
    CHECK_FALSE(r.stages[2].on_path);
    CHECK(r.stages[3].step == 2);
    // Known latencies count as exact.
    REQUIRE(r.interval);
    CHECK(r.interval->low == 1);
}

TEST_CASE("scenario: a stage of known latency that serves several requests at a time is less of a bottleneck") {
    const PipelineResult r = predicted(known("a", 10) + known("b", 30, "concurrency = 6"));
    CHECK(r.latency.in(ms) == rel(40, 1e-12));
    CHECK(r.requests_per_second == rel(100, 1e-12));
    CHECK(r.bottleneck == "a");
}

TEST_CASE("scenario: parallel stages on one device take turns, on two they do not") {
    const std::string first = model("a", "device = \"t4\""), beside = "parallel_with = \"a\"\ndevice = \"t4\"\n";
    const PipelineResult one = predicted(first), shared = predicted(first + model("b", beside)),
                         apart = predicted(first + model("b", beside + "unit = 2"));
    CHECK(shared.latency.in(ms) == rel(2 * one.latency.in(ms), 1e-12));
    CHECK(apart.latency.in(ms) == rel(one.latency.in(ms), 1e-12));
    CHECK(shared.devices.size() == 1);
    CHECK(apart.devices[1].device == "t4 #2");
    CHECK(apart.requests_per_second == rel(one.requests_per_second, 1e-12));
}

TEST_CASE("scenario: models on one device share its memory, equal ones their weights") {
    const PipelineResult one = predicted(model("a", "device = \"t4\"")),
                         twice = predicted(model("a", "device = \"t4\"") + model("b", "device = \"t4\""));
    const MemoryEstimate& m = one.stages[0].memory;
    CHECK(one.devices[0].memory.in(gb) == rel(m.total().in(gb), 1e-12));
    CHECK(twice.devices[0].memory.in(gb) == rel((m.total() + m.activations).in(gb), 1e-12));
    const PipelineResult large = predicted(
        "[[stage]]\nname = \"l\"\nmodel = \"llama-3.1-70b\"\ndevice = \"rtx-4090\"\nprecision = \"fp16\"\nprompt_tokens = "
        "128\noutput_tokens = 16\n");
    CHECK(large.devices[0].fits() == false);
    CHECK_FALSE(large.runs());
    REQUIRE(obstacles(large).size() == 1);
    CHECK(contains(obstacles(large)[0], "the models do not fit rtx-4090: 14"));
    CHECK(contains(large.remedies.at(0), "stage l: "));
    CHECK(one.runs());
    CHECK(obstacles(one).empty());
}

TEST_CASE("scenario: a stage on several GPUs may say how PCIe joins them") {
    const auto latency = [](const std::string& pcie) {
        return predicted(
                   "[[stage]]\nname = \"a\"\nmodel = \"llama-3.1-8b\"\ndevice = \"l40s\"\ntensor_parallel = 8\nprompt_tokens = 1024\n" +
                   pcie)
            .latency;
    };
    CHECK(latency("pcie = \"host\"\n") == latency(""));
    CHECK(latency("pcie = \"switch\"\n") < latency(""));
    const std::string slip = refusal(model("a", "device = \"l40s\"\npcie = \"swich\""));
    for (const char* part : {"pcie", "swich", "host or switch", "did you mean switch"}) CHECK(contains(slip, part));
}

TEST_CASE("scenario: a model in two formats of equal size is held twice") {
    const auto stage = [](const std::string& name, const std::string& weights) {
        return "[[stage]]\nname = \"" + name + "\"\nmodel = \"llama-3.1-8b\"\ndevice = \"h200\"\nweights = \"" + weights +
               "\"\nprompt_tokens = 128\noutput_tokens = 16\n";
    };
    const PipelineResult same = predicted(stage("a", "int8") + stage("b", "int8")), two = predicted(stage("a", "int8") + stage("b", "fp8"));
    CHECK(two.devices[0].memory > same.devices[0].memory + 0.9 * same.stages[0].memory.weights);
}

TEST_CASE("scenario: errors of one device go together, those of two are independent") {
    const std::string a = "device = \"t4\"", b = "device = \"a100-sxm4-80gb\"";
    const PipelineResult one = predicted(model("a", a)), same = predicted(model("a", a) + model("b", a));
    CHECK(same.interval->low == rel(one.interval->low, 1e-9));
    CHECK(same.interval->high == rel(one.interval->high, 1e-9));
    const PipelineResult two = predicted(model("a", a) + model("b", b));
    const double share = two.stages[0].latency / two.latency;
    const auto half = [](const IntervalRatio& i) { return std::log(i.high / i.low) / 2; };
    const double first = share * half(*two.stages[0].interval), second = (1 - share) * half(*two.stages[1].interval);
    CHECK(half(*two.interval) == rel(std::sqrt(first * first + second * second), 1e-9));
}

TEST_CASE("scenario: a pipeline against itself is as fast for certain, against another, common errors cancel") {
    const std::string a = model("a", "device = \"t4\"");
    const PipelineResult one = predicted(a), slower = predicted(a + known("wait", 1000 * one.latency.in(s) / 10));
    const PipelineComparison itself = compared(one, one);
    CHECK(itself.speedup == 1);
    CHECK(itself.interval->low == rel(1, 1e-12));
    CHECK_FALSE(itself.decides());
    // The slower one is the same and a tenth more.
    const PipelineComparison c = compared(one, slower);
    CHECK(c.speedup == rel(1.1, 1e-5));
    CHECK(c.interval->high / c.interval->low < one.interval->high / one.interval->low);
    // The same model twice as large a batch is another run: its errors do not cancel.
    const PipelineResult batched = predicted(model("a", "device = \"t4\"\nbatch = 2"));
    const PipelineComparison other = compared(one, batched);
    const auto half = [](const IntervalRatio& i) { return std::log(i.high / i.low) / 2; };
    CHECK(half(*other.interval) == rel(std::hypot(half(*one.interval), half(*batched.interval)), 1e-9));
    // So is the same model on GPUs that PCIe connects in another way.
    const auto over = [](const char* pcie) {
        return predicted("[[stage]]\nname = \"a\"\nmodel = \"llama-3.1-8b\"\ndevice = \"l40s\"\ntensor_parallel = 4\npcie = \"" +
                         std::string(pcie) + "\"\n");
    };
    const PipelineResult host = over("host"), switched = over("switch");
    CHECK(half(*compared(host, switched).interval) == rel(std::hypot(half(*host.interval), half(*switched.interval)), 1e-9));
    const PipelineComparison far = compared(predicted(known("x", 1)), predicted(known("x", 50)));
    CHECK(far.decides());
    CHECK(far.throughput_ratio == rel(50, 1e-12));
}

TEST_CASE("scenario: the shipped examples load, and batching the critic is faster") {
    const auto example = [](const char* name) {
        return predict_pipeline(load_pipeline(test::source_dir() / "docs" / "examples" / name), gpus_dir(), models_dir(),
                                load_software(software_dir()));
    };
    const PipelineResult plain = example("retrieval.toml"), batched = example("retrieval-batched.toml");
    CHECK(plain.stages.size() == 6);
    CHECK(compared(batched, plain).speedup > 1);
    double shares = 0;
    for (const StageResult& stage : plain.stages) shares += stage.on_path ? stage.latency / plain.latency : 0;
    CHECK(shares == rel(1, 1e-9));
}

TEST_CASE("scenario: what a pipeline gets wrong is named by key, line and stage") {
    CHECK(contains(refusal("name = \"x\"\n"), "stage"));
    CHECK(contains(refusal("[[stag]]\nname = \"a\"\n"), "did you mean stage"));
    CHECK(contains(refusal(known("a", 1, "latncy = 1")), "latncy"));
    CHECK(contains(refusal("[[stage]]\nname = \"a\"\nlatency_m = 1\nsource = \"x\"\n"), "latency_ms"));
    CHECK(contains(refusal(known("a", 1) + known("a", 1)), "the same name"));
    CHECK(contains(refusal(known("a", 0)), "latency_ms"));
    CHECK(contains(refusal(known("a", -1)), "latency_ms"));
    CHECK(contains(refusal("[[stage]]\nname = \"a\"\nlatency_ms = nan\nsource = \"x\"\n"), "latency_ms"));
    CHECK(contains(refusal("[[stage]]\nname = \"a\"\nlatency_ms = 1e300\nsource = \"x\"\n"), "latency_ms"));
    CHECK(contains(refusal("[[stage]]\nname = \"a\"\nlatency_ms = 1\n"), "source"));
    CHECK(contains(refusal(known("search", 1) + known("b", 1, "parallel_with = \"serch\"")), "did you mean search"));
    CHECK(contains(refusal(known("a", 1, "calls = 0")), "calls"));
    CHECK(contains(refusal(known("a", 1, "model = \"bert-base\"")), "either a model or a known latency"));
    CHECK(contains(refusal(model("a", "device = \"rtx-4091\"")), "rtx-4090"));
    CHECK(contains(refusal(model("a", "device = \"t4\"\nbatch = 0")), "batch"));
    CHECK(contains(refusal(model("a", "device = \"t4\"\nprompt_tokens = 4096")), "prompt_tokens"));
    CHECK(contains(refusal(model("a", "device = \"t4\"\noutput_tokens = 4")), "output_tokens"));
    const std::string tiled = "\n[[stage]]\nname = \"a\"\nmodel = \"llama-3.2-11b-vision\"\ndevice = \"h200\"\nimage_size = 300\n";
    CHECK(contains(refusal(tiled), "tiles of a fixed size"));
    const std::string unsupported = refusal("\n\n[[stage]]\nname = \"a\"\nmodel = \"bert-base\"\ndevice = \"t4\"\nprecision = \"bf16\"\n");
    CHECK(contains(unsupported, "stage a"));
    CHECK(contains(unsupported, ":3"));
}
