#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::refused;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;

namespace {

json printed_json(const std::string& arguments) {
    return json::parse(roofcast::test::printed(arguments + " --format json"));
}

json printed_prediction(const std::string& arguments) {
    return roofcast::test::only_prediction(roofcast::test::printed(arguments + " --format json"));
}

constexpr const char* minimal =
    "name = \"X1\"\narchitecture = \"ampare\"\nmemory_gb = 40\nmemory_bandwidth_gbps = 1000\ncompute_tflops = 100\n";

}  // namespace

TEST_CASE("sizes whose products would overflow are refused with the option's name") {
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --image-size 70000"), "--image-size"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --batch 1000000000"), "--batch"));
    CHECK(contains(refused("predict --gpu a100 --model vit-base-patch16-224 --image-size 65536 --batch 1000"), "--image-size"));
    CHECK(contains(refused("predict --gpu a100 --model bert-base --batch 1000000000"), "--batch"));
    CHECK(contains(refused("predict --gpu a100 --model llama-3.1-8b --batch 1000000000 --prompt 100000"), "--batch"));
    CHECK(contains(refused("predict --gpu a100 --model llama-3.1-8b --tp 9000000000000000000 --pp 3 --gpus 5"), "--tp"));
}

TEST_CASE("expert parallelism needs experts that it divides, on as many GPUs") {
    CHECK(contains(refused("predict --gpu h100 --model llama-3.1-8b --tp 2 --ep 2"), "no experts"));
    CHECK(contains(refused("predict --gpu h100 --model mixtral-8x7b --tp 4 --ep 3"), "8 experts"));
    CHECK(contains(refused("predict --gpu h100 --model mixtral-8x7b --ep 2"), "--tp 2 --ep 2"));
    CHECK(printed_prediction("predict --gpu h100 --model mixtral-8x7b --tp 4 --ep 2")["parallel"]["expert"] == 2);
    CHECK(contains(roofcast::test::roofcast("predict --gpu h100 --model mixtral-8x7b --tp 4 --ep 2").output, "ep 2"));
}

TEST_CASE("degrees that split no head evenly are refused, with those that work") {
    const std::string llama = "predict --gpu h100 --model llama-3.1-8b ", small = "predict --gpu h100 --model llama-3.2-3b ";
    CHECK(contains(refused(llama + "--tp 3"), "--tp: llama-3.1-8b has 32 attention heads, and 3 does not divide them; use --tp 1, 2, 4"));
    // 24 heads divide, 8 KV heads do not.
    CHECK(contains(refused(small + "--tp 6"), "8 KV heads, and 6 does not divide them; use --tp 1, 2, 4, 8 or 24"));
    CHECK(contains(refused(small + "--gpus 6"), "--gpus: llama-3.2-3b has 24 attention heads and 8 KV heads"));
    CHECK(contains(refused("predict --gpu h100 --model mixtral-8x7b --tp 8 --ep 3"), "use --ep 1, 2, 4 or 8 on these 8 GPUs"));
    CHECK(contains(refused("predict --gpu h100 --model mixtral-8x7b --tp 6 --attention-dp 2"), "3 GPUs of each group do not divide"));
    // Two KV heads on four GPUs: each is copied to two.
    const auto cache = [](int gpus) {
        const std::string command = "predict --gpu h100 --model qwen2.5-1.5b --batch 64 --prompt 4096 --tp ";
        return printed_prediction(command + std::to_string(gpus))["memory"]["kv_cache_gb"].get<double>();
    };
    CHECK(cache(2) == rel(cache(1) / 2, 1e-9));
    CHECK(cache(4) == rel(cache(2), 1e-9));
}

TEST_CASE("groups of attention share out tensor-parallel GPUs, and experts") {
    CHECK(contains(refused("predict --gpu h100 --model llama-3.1-8b --tp 8 --attention-dp 2"), "no experts"));
    CHECK(contains(refused("predict --gpu h100 --model mixtral-8x7b --tp 4 --attention-dp 3"), "3 of tp 4"));
    CHECK(contains(refused("predict --gpu h100 --model mixtral-8x7b --tp 4 --attention-dp 0"), "--attention-dp"));
    CHECK(contains(refused("predict --gpu h100 --model resnet50 --attention-dp 2"), "only --dp"));
    CHECK(contains(refused("recommend --model mixtral-8x7b --slo ttft=1s --attention-dp 2"), "--attention-dp"));
    const std::string command = "predict --gpu h200 --model mixtral-8x7b --tp 8 --ep 8 --attention-dp 4 --batch 64 --software vllm";
    CHECK(contains(roofcast::test::roofcast(command).output, "ep 8, attention dp 4"));
    const json document = printed_prediction(command);
    CHECK(document["parallel"]["attention_data"] == 4);
    CHECK(document["parallel"]["gpus"] == 8);
    const auto served = [](const std::string& degrees) {
        const std::string load = "serve-sim --gpu h200 --model mixtral-8x7b --tp 8 --ep 8 --concurrency 64 --requests 128 --software vllm ";
        return printed_json(load + degrees);
    };
    const json one = served(""), groups = served("--attention-dp 8");
    CHECK(groups["parallel"]["attention_data"] == 8);
    // Attention of a group is whole on its GPU: eight times the cache of a token, and an eighth of the sequences.
    CHECK(groups["memory"]["kv_token_kb"].get<double>() == rel(8 * one["memory"]["kv_token_kb"].get<double>(), 1e-9));
    CHECK(groups["loads"][0]["kv_most_percent"].get<double>() == rel(one["loads"][0]["kv_most_percent"].get<double>(), 0.3));
}

TEST_CASE("options that the model has no use for are refused") {
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --prompt 5"), "--prompt: resnet50 takes no text"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --generate 5"), "--generate"));
    CHECK(contains(refused("predict --gpu a100 --model bert-base --kv fp8"), "--kv"));
    CHECK(contains(refused("predict --gpu a100 --model llama-3.1-8b --image-size 224"), "takes no images"));
    CHECK(contains(refused("predict --gpu a100 --model llama-3.1-8b --layout nhwc"), "--layout: llama-3.1-8b takes no images"));
    CHECK(contains(refused("predict --gpu a100 --model bert-base --layout nchw"), "--layout: bert-base takes no images"));
    CHECK(contains(refused("predict --gpu a100 --model llama-3.1-8b --images 2"), "--images"));
    CHECK(contains(refused("predict --gpu a100 --model qwen2.5-vl-3b --images 0"), "--images"));
}

TEST_CASE("a wrong command line is answered in one line with the nearest name") {
    CHECK(contains(refused("predict --gpu v100 --model resnet50 --batch 0"), "--batch"));  // v100 alone would print a note
    CHECK(contains(refused("predikt"), "did you mean predict?"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --bacth 2"), "--batch"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --batch 1e3"), "did you mean 1000?"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --execution trt"), "did you mean tensorrt?"));
}

TEST_CASE("a batch past memory has no times, and the largest one that fits is said") {
    const auto result = roofcast::test::roofcast("predict --gpu rtx-4090 --model llama-3.1-8b --precision fp16 --batch 100000");
    CHECK(result.exit_code == 1);
    CHECK(contains(result.output, "It does not fit: needs "));
    CHECK(contains(result.output, "What would fit: "));
    CHECK(contains(result.output, "batch "));
    CHECK(contains(result.output, " or less"));
}

TEST_CASE("assumed values are marked in every output, and an unknown architecture on standard error") {
    const TemporaryFile gpu("x1.toml", minimal);
    const std::string one = "predict --model resnet50 --gpu " + gpu.path().string(), two = one + " --gpu a100";
    CHECK(contains(roofcast::test::roofcast(one + " --format csv").output, ",assumed,"));
    CHECK(contains(roofcast::test::roofcast(one + " --format csv").output, ";compute.sm_count"));
    CHECK(contains(roofcast::test::roofcast(two + " --format csv").output, ";compute.sm_count"));
    CHECK(contains(roofcast::test::roofcast(two).output, "x1: assumed: "));
    CHECK(contains(roofcast::test::roofcast(two).output, "note: x1: precision"));
    CHECK_FALSE(printed_json(two)["predictions"][0]["assumed"].empty());
    const std::string memory = "memory --model resnet50 --gpu " + gpu.path().string();
    CHECK(contains(roofcast::test::roofcast(memory).output, "x1: assumed: "));
    CHECK_FALSE(printed_json(memory)["assumed"]["x1"].empty());
    const auto errors = roofcast::test::roofcast(one, true);
    CHECK(errors.exit_code == 0);
    CHECK(contains(errors.output, "did you mean ampere"));
}

TEST_CASE("memory shows the precision or the weights asked for") {
    const json half = printed_json("memory --model llama-2-7b --precision bf16")["rows"];
    REQUIRE(half.size() == 4);
    CHECK(half[0]["storage"] == "bf16");
    CHECK(half[3]["activations"] == "bf16");
    const json fp4 = printed_json("memory --model llama-2-7b --precision fp4")["rows"];
    REQUIRE(fp4.size() == 1);
    CHECK(fp4[0]["storage"] == "fp4");
    const json awq = printed_json("memory --model llama-2-7b --weights awq-int4")["rows"];
    REQUIRE(awq.size() == 1);
    CHECK(awq[0]["storage"] == "awq-int4");
}

TEST_CASE("checkpoints that are published quantized are stored so unless --weights says otherwise") {
    const json p = printed_prediction("predict --gpu h100 --model gpt-oss-120b --precision bf16");
    CHECK(p["weights"] == "bf16, experts mxfp4");
    // The files of the checkpoint on Hugging Face: 65.2 GB.
    CHECK(p["memory"]["weights_gb"].get<double>() == rel(65.2, 0.005));
    CHECK(printed_prediction("predict --gpu h100 --model gpt-oss-20b --precision bf16 --weights bf16")["weights"] == "bf16");
}

TEST_CASE("output to a device is written to it, and a full one is an error") {
    const auto full = roofcast::test::roofcast("predict --gpu t4 --model resnet50 --output /dev/full", true);
    CHECK(full.exit_code == 1);
    CHECK(contains(full.output, "/dev/full: the device or pipe cannot be written: No space left on device"));
    CHECK(contains(refused("predict --gpu t4 --model /dev/zero"), "/dev/zero"));
    CHECK(std::filesystem::is_character_file("/dev/full"));
}

TEST_CASE("whether a model fits a device without a capacity is not known") {
    const std::string run = "predict --gpu xeon-8480 --model llama-3.1-405b --batch 64 --precision bf16";
    const json p = printed_prediction(run);
    CHECK(p["fits"].is_null());
    CHECK(p["memory"]["fits"].is_null());
    CHECK(p["memory"]["largest_batch"].is_null());
    const std::string text = roofcast::test::roofcast(run).output;
    CHECK(contains(text, "Whether it fits is not known"));
    CHECK_FALSE(contains(text, " yes"));
    CHECK(printed_json(run + " --gpu a100")["predictions"][0]["fits"].is_null());
}

TEST_CASE("empty values are refused with their option") {
    for (const char* option : {"--batch", "--precision", "--output", "--model", "--software", "--gpu"}) {
        const std::string run = std::string("predict --gpu a100 --model resnet50 ") + option;
        CHECK(contains(refused(run + " ''"), std::string(option) + ": the value is empty"));
        CHECK(contains(refused(run + "="), std::string(option) + ": the value is empty"));
    }
}

TEST_CASE("a number beyond all bounds is shown as it was given") {
    for (const char* option : {"--batch", "--prompt", "--tp"}) {
        const std::string message = refused(std::string("predict --gpu a100 --model llama-3.1-8b ") + option + " 99999999999999999999");
        CHECK(contains(message, option));
        CHECK(contains(message, "found 99999999999999999999"));
        CHECK(contains(message, "1073741824"));
    }
}

TEST_CASE("GPUs that the heads of a model do not divide over are blamed on --gpus") {
    CHECK(contains(refused("predict --gpu a100 --model llama-3.1-8b --gpus 3"), "--gpus: llama-3.1-8b has 32 attention heads"));
    CHECK(contains(refused("predict --gpu a100 --model llama-3.1-8b --tp 3"), "--tp"));
    CHECK(printed_prediction("predict --gpu a100 --model resnet50 --precision fp16 --gpus 3")["parallel"]["data"] == 3);
}

TEST_CASE("the folder of a checkpoint stands for its config.json") {
    const TemporaryFile config("config.json", R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 100,
        "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 4096})");
    const std::filesystem::path folder = config.path().parent_path();
    CHECK(printed_prediction("predict --gpu a100 --model " + folder.string())["model"] == folder.filename().string());
    CHECK(printed_prediction("predict --gpu a100 --model " + folder.string() + "/")["model"] == folder.filename().string());
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path(folder.parent_path());
    CHECK(printed_prediction("predict --gpu a100 --model " + folder.filename().string())["model"] == folder.filename().string());
    CHECK(printed_json("model show " + folder.filename().string())["id"] == folder.filename().string());
    CHECK(printed_json("model check " + folder.filename().string())["models"].size() == 1);
    std::filesystem::current_path(here);
}

TEST_CASE("hints name the whole command, and numbers have no leading zeros") {
    CHECK(contains(refused("gpu show"), "see roofcast gpu show --help"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --batch 010"), "write 10"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --batch=010"), "leading zero"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --batch=+010"), "leading zero"));
}

TEST_CASE("a word without an option is shown the options that it may belong behind") {
    CHECK(contains(refused("predict h100 llama-3.1-8b"), "unexpected argument; found h100; expected --gpu GPU --model MODEL"));
    CHECK(contains(refused("validate rows.csv"), "unexpected argument; found rows.csv; expected --data rows.csv"));
    CHECK(contains(refused("gpu list tesla"), "unexpected argument; found tesla; expected --search tesla"));
    CHECK(contains(refused("software keys tesla"), "unexpected argument; found tesla; see roofcast software keys --help"));
}

TEST_CASE("a weight format that is nearly right is not hidden among all") {
    CHECK(contains(refused("predict -g h100 -m llama-3.1-8b --weights q5"),
                   "formats, such as fp8 or q4_k_m; did you mean q5_0, q5_1 or q5_k?"));
    CHECK(contains(refused("predict -g h100 -m llama-3.1-8b --weights zzzzzzzzzz"), "iq4_nl"));
}

TEST_CASE("options that contradict each other are named") {
    const std::string load = refused("serve-sim -g h100 -m llama-3.1-8b --rate 5 --concurrency 4");
    CHECK(contains(load, "several options say when requests arrive; found --rate and --concurrency"));
}
