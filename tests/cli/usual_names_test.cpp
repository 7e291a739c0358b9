// Names that users of other tools bring along.
#include "support/paths.hpp"
#include "support/program.hpp"

using roofcast::test::contains;
using roofcast::test::printed;
using roofcast::test::refused;

TEST_CASE("a hub id names a shipped model, in any case") {
    const std::string by_id = printed("predict --gpu h100-sxm5-80gb --precision bf16 --model llama-3.1-70b --tp 4");
    CHECK(printed("predict --gpu h100-sxm5-80gb --precision bf16 --model meta-llama/Llama-3.1-70B-Instruct --tp 4") == by_id);
    CHECK(printed("predict --gpu h100-sxm5-80gb --precision bf16 --model meta-llama/llama-3.1-70b-instruct --tp 4") == by_id);
}

TEST_CASE("an unknown hub id says which file to fetch, and a path stays a path") {
    CHECK(contains(refused("predict --gpu h100-sxm5-80gb --model some-lab/New-7B"), "hf download some-lab/New-7B config.json"));
    CHECK(contains(refused("predict --gpu h100-sxm5-80gb --model ./some-lab/model.toml"), "does not exist"));
}

TEST_CASE("model formats that are not read yet are named") {
    CHECK(contains(refused("predict --gpu h100-sxm5-80gb --model net.pth"), "does not read PyTorch files yet"));
    CHECK(contains(refused("predict --gpu h100-sxm5-80gb --model dir/net.pth"), "does not read PyTorch files yet"));
}

TEST_CASE("options of other tools point to ours") {
    CHECK(contains(refused("predict --gpu h100-sxm5-80gb --model llama-3.1-8b --dtype bf16"), "did you mean --precision?"));
    CHECK(contains(refused("predict --gpu h100-sxm5-80gb --model llama-3.1-8b --tensor-parallel-size=2"), "did you mean --tp?"));
    CHECK(contains(refused("predict --gpu h100-sxm5-80gb --model llama-3.1-8b --batch-size 2"), "did you mean --batch?"));
}

TEST_CASE("an unknown engine is answered with where the known ones are listed, and with the nearest") {
    const std::string message = refused("predict --gpu h100-sxm5-80gb --model llama-3.1-8b --software tgi");
    CHECK(contains(message, "roofcast software list"));
    CHECK(message.size() < 160);
    CHECK(contains(refused("predict --gpu h100-sxm5-80gb --model llama-3.1-8b --software vlm"), "did you mean vllm?"));
}

TEST_CASE("a version that was not looked at is answered with the nearest, which is said") {
    const std::string asked = " --gpu h100-sxm5-80gb --model llama-3.1-8b --software ", run = "predict" + asked;
    for (const char* command :
         {"predict", "sweep", "cost", "memory", "serve-sim --rate 1/s --requests 20", "recommend --rate 1/s --slo ttft=2s"}) {
        CAPTURE(command);
        CHECK(contains(roofcast::test::roofcast(command + asked + "'vllm 9.1'", true).output,
                       "no data for this version; using vllm (0.19 to"));
    }
    for (const char* known : {"vllm", "'vllm 0.9.2'", "vllm==0.9.2", "sglang", "'sglang 0.5.2'"})
        CHECK_FALSE(contains(roofcast::test::roofcast(run + known, true).output, "no data for"));
}

TEST_CASE("int4 as a precision says that weights alone are another option") {
    const std::string text = printed("predict --gpu a100-sxm4-80gb --model llama-3.1-8b --precision int4");
    CHECK(contains(text, "--weights int4"));
}

TEST_CASE("the ending of --output chooses the format, and --format comes first") {
    const roofcast::test::TemporaryFile folder("here", "");
    const std::string run = "predict --gpu h100-sxm5-80gb --model resnet50 --output ";
    const auto written = [&](const std::string& name, const std::string& more = "") {
        const std::filesystem::path file = folder.path().parent_path() / name;
        CHECK(printed(run + file.string() + more).empty());
        return roofcast::test::text_of(file);
    };
    CHECK(written("a.json").starts_with("{"));
    CHECK(written("a.csv").starts_with("model,"));
    CHECK(written("b.json", " --format table").starts_with("resnet50 on "));
}
