// Commands with ONNX nets.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/compare.hpp"
#include "support/onnx_bytes.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::printed;
using roofcast::test::refused;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;
namespace bytes = roofcast::test::onnx_bytes;

namespace {

std::string encoder() {
    return (roofcast::test::source_dir() / "docs/examples/nets/small-encoder.onnx").string();
}

/// x [batch, 4] times w [4, 6].
std::string product(const std::string& batch, const std::string& kind = "MatMul") {
    return bytes::model(bytes::node(kind, {"x", "w"}, {"y"}) + bytes::weight("w", {4, 6}) + bytes::input("x", {batch, "4"}) +
                        bytes::output("y"));
}

}  // namespace

TEST_CASE("an encoder from a file has the parameters of its layers") {
    const json shown = json::parse(printed("model show --format json --prompt 128 " + encoder()));
    // Tables of 8000, 512 and 2 rows and a norm; two layers of four products of 256, an MLP of 1024 and two norms; the pooler.
    const double embedding = (8000 + 512 + 2) * 256 + 2 * 256, layer = 4 * (256 * 256 + 256) + 2 * 256 * 1024 + 1024 + 256 + 4 * 256;
    CHECK(shown["parameters"] == embedding + 2 * layer + 256 * 256 + 256);
    CHECK(shown["id"] == "small-encoder");
}

TEST_CASE("symbols are set by name or by what they are") {
    const auto latency = [](const std::string& arguments) {
        const json p = roofcast::test::only_prediction(printed("predict --gpu t4 --format json --model " + encoder() + arguments));
        return p["latency_ms"].get<double>();
    };
    CHECK(latency(" --prompt 128") == rel(latency(" --dim sequence_length=128"), 1e-12));
    CHECK(latency(" --prompt 256") > latency(" --prompt 128"));
    CHECK(latency(" --prompt 128 --batch 64") > latency(" --prompt 128"));
    const json p =
        roofcast::test::only_prediction(printed("predict --gpu t4 --format json --dim sequence_length=128 --model " + encoder()));
    CHECK(p["dimensions"]["sequence_length"] == 128);
}

TEST_CASE("what nothing sets, and what nothing reads, is refused by name") {
    const std::string open = refused("predict --gpu t4 --model " + encoder());
    CHECK(contains(open, "sequence_length"));
    CHECK(contains(open, "--prompt or --dim sequence_length=N"));
    CHECK(contains(refused("predict --gpu t4 --prompt 8 --dim tokens=8 --model " + encoder()), "tokens"));
    CHECK(contains(refused("predict --gpu t4 --prompt 8 --dim sequence_length --model " + encoder()), "NAME=N"));
    CHECK(contains(refused("predict --gpu t4 --prompt 8 --image-size 8 --model " + encoder()), "--image-size"));
    CHECK(contains(refused("predict --gpu t4 --model resnet50 --dim batch=8"), "--dim"));
    CHECK(contains(refused("predict --gpu t4 --model missing.onnx"), "does not exist"));
}

TEST_CASE("options that would change nothing of a net are refused") {
    const TemporaryFile file("net.onnx", product("batch"));
    const std::string command = "predict --gpu t4 --model " + file.path().string();
    CHECK(contains(refused(command + " --prompt 99"), "--prompt: no open dimension of the net is the number of tokens"));
    CHECK(contains(refused(command + " --prompt 99"), "--dim sets batch"));
    CHECK(contains(refused(command + " --image-size 99"), "--image-size: the net takes no images"));
    CHECK(contains(refused(command + " --layout nhwc"), "--layout: net has no convolutions"));
    for (const char* option : {"generate", "images", "steps"})
        CHECK(contains(refused(command + " --" + option + " 2"), std::string("--") + option + ": net "));
    CHECK(contains(refused(command + " --kv fp8"), "--kv: net has no KV cache"));
    const std::string text = "predict --gpu t4 --model " + encoder() + " --prompt 64 ";
    CHECK(contains(refused(text + "--dim sequence_length=32"), "--prompt: the size of this dimension is set twice"));
    CHECK(contains(printed(text + "--dim sequence_length=64"), "64 tokens"));
    CHECK(contains(refused(text + "--layout nhwc"), "--layout"));
    CHECK(contains(refused("model show --prompt 99 " + file.path().string()), "--prompt"));
}

TEST_CASE("a net that was exported for one batch runs that batch") {
    const TemporaryFile file("net.onnx", product("8"));
    const std::string command = "predict --gpu t4 --format json --model " + file.path().string();
    const json p = roofcast::test::only_prediction(printed(command));
    CHECK(p["batch"] == 8);
    CHECK(p["memory"]["largest_batch"] == 8);
    CHECK(contains(refused("predict --gpu t4 --batch 4 --model " + file.path().string()), "--batch 8"));
}

TEST_CASE("an operator that no model covers withholds the total and is listed") {
    const auto answer = [](const TemporaryFile& file, const std::string& options) {
        const auto result = roofcast::test::roofcast("predict --gpu t4 " + options + " --model " + file.path().string());
        CHECK(result.exit_code == 1);  // the question is sound, and has no answer
        return result.output;
    };
    const TemporaryFile one("net.onnx", product("batch", "Unheard"));
    const json p = roofcast::test::only_prediction(answer(one, "--format json"));
    CHECK(p["withheld"] == json::array({"Unheard"}));
    CHECK(p["latency_ms"].is_null());
    const std::string twice =
        bytes::node("Odd", {"x"}, {"a"}) + bytes::node("Odd", {"a"}, {"y"}) + bytes::input("x", {"2"}) + bytes::output("y");
    const TemporaryFile two("net.onnx", bytes::model(twice));
    CHECK(contains(answer(two, ""), "Odd (2 times)"));
}

TEST_CASE("sweeps and memory take ONNX nets") {
    const std::string rows =
        printed("sweep --gpu t4 --format csv --dim sequence_length=64,sequence_length=128 --batch 1,8 --model " + encoder());
    CHECK(std::count(rows.begin(), rows.end(), '\n') == 5);
    CHECK(contains(rows, "sequence_length=64"));
    CHECK(contains(printed("memory --prompt 128 --model " + encoder()), "fp16"));
}
