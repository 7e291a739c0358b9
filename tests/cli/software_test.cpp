#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::printed;
using roofcast::test::refused;

TEST_CASE("software list names every engine") {
    const json list = json::parse(printed("software list --format json"))["software"];
    CHECK(list.size() > 40);
    CHECK(list[0].contains("execution"));
    CHECK(contains(printed("software list"), "vllm-0.7"));
}

TEST_CASE("software show prints what an engine states, by family, name or version") {
    const json family = json::parse(printed("software show vllm --format json"))["software"];
    CHECK(family.size() >= 5);
    const json one = json::parse(printed("software show 'vllm 0.6.3' --format json"))["software"];
    REQUIRE(one.size() == 1);
    CHECK(one[0]["name"] == "vllm-0.6");
    CHECK(one[0]["source"].get<std::string>().size() > 20);
    CHECK(contains(one[0]["keys"].dump(), "long_contexts"));
    CHECK(contains(printed("software show eager"), "host_us_per_kernel"));
    CHECK(contains(printed("software show sglang"), "sglang-custom-allreduce"));
    CHECK(contains(refused("software show vlm"), "did you mean vllm?"));
}

TEST_CASE("software keys explains every key") {
    const json keys = json::parse(printed("software keys --format json"))["keys"];
    for (const json& key : keys) CHECK(key["meaning"].get<std::string>().size() > 10);
    CHECK(keys.size() > 60);
}

TEST_CASE("rows of a kernel family are fitted with --family, and left out of a GPU's own fit") {
    const roofcast::test::TemporaryFile rows("rows.csv",
                                             "gpu,op,kernel,precision,weight_precision,batch,m,n,k,latency_us,software,source,launch\n"
                                             "h200-sxm-141gb,gemm,torch_flow,fp8,fp8,1,64,4096,4096,20,trtllm 1.3.0,lab,excluded\n");
    const std::string data = " --gpu h200-sxm-141gb --data " + rows.path().string();
    CHECK(contains(refused("calibrate --family no-such" + data), "unknown kernel family"));
    const auto own = roofcast::test::roofcast("calibrate" + data, true);
    CHECK(own.exit_code != 0);
    CHECK(contains(own.output, "1 rows of kernel families were left out; --family fits them"));
}

TEST_CASE("an operator's kernel family stands in the explanation of a prediction") {
    const std::string run = "predict --gpu h200-sxm-141gb --model llama-3.1-8b --precision fp8 --explain --format json --software ";
    CHECK(contains(printed(run + "sglang"), "\"kernel\": \"sgl-kernel-fp8\""));
    CHECK_FALSE(contains(printed(run + "'vllm 0.6'"), "sgl-kernel-fp8"));
}
