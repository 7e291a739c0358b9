#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::printed;
using roofcast::test::refused;
using roofcast::test::TemporaryFile;

TEST_CASE("machines: every command refuses tensor parallelism beyond one machine") {
    for (const std::string& run :
         {std::string("predict --gpu h100 --model llama-3.1-70b --tp 64"), std::string("memory --gpu h100 --model llama-3.1-70b --tp 64"),
          std::string("compare --gpu h200 --gpu h100 --model llama-3.1-70b --tp 64"),
          std::string("compare --policy cost --gpu gb200 --gpu h100 --model llama-3.1-70b --tp 64"),
          std::string("cost --gpu h100 --model llama-3.1-70b --tp 64"),
          std::string("serve-sim --gpu h100 --model llama-3.1-70b --rate 1 --tp 64")}) {
        const std::string error = refused(run);
        CAPTURE(error);
        for (const char* part : {"--tp", "64", "one machine has 8 H", "does not model networks between machines", "use --tp 8 or fewer"})
            CHECK(contains(error, part));
    }
}

TEST_CASE("machines: a pipeline refuses it by the key of its file, as it has no such option") {
    const TemporaryFile pipeline(
        "wide.toml", "name = \"wide\"\n[[stage]]\nname = \"a\"\nmodel = \"llama-3.1-70b\"\ndevice = \"h100\"\ntensor_parallel = 64\n");
    const std::string error = refused("pipeline " + pipeline.path().string());
    CAPTURE(error);
    for (const char* part : {": tensor_parallel: ", "64", "one machine has 8 H", "does not model networks between machines",
                             "use `tensor_parallel` 8 or fewer"})
        CHECK(contains(error, part));
}

TEST_CASE("machines: the refusal fits the GPU") {
    const std::string card = refused("predict --gpu rtx-3060 --model llama-3.1-8b --tp 16");
    for (const char* part : {"one machine has 8", "(assumed)", "set interconnect.gpus_per_machine"}) CHECK(contains(card, part));
    CHECK(contains(refused("predict --gpu m4-max --model llama-3.1-8b --tp 4"), "one machine has 1"));
    CHECK(contains(refused("predict --gpu h100 --model llama-3.1-8b --tp 4 --pp 4"), "--pp"));
    CHECK(contains(refused("predict --gpu h100 --model mixtral-8x7b --tp 2 --dp 8 --pp 2 --ep 8"), "16 GPUs in one copy"));
}

TEST_CASE("machines: independent copies may lie in several machines, and racks hold more") {
    CHECK(roofcast::test::only_prediction(printed("predict --gpu m4-max --model llama-3.1-8b --dp 4 --format json"))["parallel"]["gpus"] ==
          4);
    CHECK(roofcast::test::only_prediction(
              printed("predict --gpu h100 --model llama-3.1-70b --tp 8 --dp 2 --format json"))["parallel"]["gpus"] == 16);
    CHECK(roofcast::test::only_prediction(
              printed("predict --gpu gb200 --model llama-3.1-405b --tp 16 --format json"))["parallel"]["gpus"] == 16);
}

TEST_CASE("machines: a sweep lists points beyond a machine as not runnable") {
    const json points = json::parse(printed("sweep --gpu h100,m4-max --model llama-3.1-8b --tp 1,8,16 --format json"))["points"];
    REQUIRE(points.size() == 6);
    for (const json& p : points) {
        CAPTURE(p.dump());
        const std::int64_t most = p["gpu"] == "m4-max" ? 1 : 8;
        const bool runs = p["tensor_parallel"] <= most;
        CHECK(p["reason"].is_null() == runs);
        CHECK(p["latency_ms"].is_null() != runs);
        if (!runs) CHECK(contains(p["reason"], "one machine has"));
    }
}

TEST_CASE("machines: rows measured on more GPUs than a machine has are skipped with the reason") {
    const TemporaryFile rows("rows.csv",
                             "gpu,model,precision,batch,prompt_tokens,output_tokens,gpus,tensor_parallel,phase,metric,value\n"
                             "h100,llama-3.1-8b,fp16,1,128,128,8,8,generate,latency_ms,900\n"
                             "h100,llama-3.1-8b,fp16,1,128,128,16,16,generate,latency_ms,900\n");
    const json document = json::parse(printed("validate --format json --data " + rows.path().string()));
    REQUIRE(document["skipped"].size() == 1);
    CHECK(document["skipped"][0]["line"] == 3);
    CHECK(contains(document["skipped"][0]["reason"], "one machine has 8"));
}

TEST_CASE("machines: no command advises more GPUs than a machine has") {
    // 141 GB of weights: a rack of 72 would hold them, one Apple chip of 128 GB does not.
    const TemporaryFile pipeline("large.toml",
                                 "name = \"large\"\n[[stage]]\nname = \"a\"\nmodel = \"llama-3.1-70b\"\ndevice = \"m4-max\"\n");
    for (const std::string& run :
         {std::string("predict --gpu m4-max --model llama-3.1-70b"),
          std::string("memory --gpu m4-max --model llama-3.1-70b --precision fp16 --weights fp16"),
          std::string("cost --gpu m4-max --model llama-3.1-70b"), std::string("serve-sim --gpu m4-max --model llama-3.1-70b --rate 1"),
          "pipeline " + pipeline.path().string()}) {
        CAPTURE(run);
        const auto result = roofcast::test::roofcast(run);
        CHECK(result.exit_code == 1);
        CHECK(contains(result.output, "int8 weights"));
        CHECK_FALSE(contains(result.output, "tensor parallelism over"));
        CHECK_FALSE(contains(result.output, "a pipeline over"));
    }
}

TEST_CASE("machines: recommend puts no copy on more GPUs than a machine has") {
    const json document =
        json::parse(printed("recommend --gpu gh200 --model llama-3.1-8b --slo tpot=100ms --date 2026-11-21 --all --format json"));
    REQUIRE(document["rows"].size() > 0);
    for (const json& row : document["rows"])
        CHECK(row["expected"]["tensor_parallel"].get<int>() * row["expected"]["pipeline_parallel"].get<int>() == 1);
}

TEST_CASE("machines: commands that predict times take how PCIe joins GPUs, and say what they took") {
    const std::string run = "predict --gpu l40s --model llama-3.1-8b --tp 8 --prompt 2048 --generate 8 --format json";
    const json host = roofcast::test::only_prediction(printed(run)),
               switched = roofcast::test::only_prediction(printed(run + " --pcie switch"));
    CHECK(host["pcie"] == "host");
    CHECK(switched["pcie"] == "switch");
    CHECK(switched["ttft_ms"] < 0.5 * host["ttft_ms"].get<double>());
    CHECK(roofcast::test::only_prediction(printed("predict --gpu h100 --model llama-3.1-8b --tp 8 --format json"))["pcie"].is_null());
    CHECK(contains(printed("predict --gpu l40s --model llama-3.1-8b --pcie switch"), "--pcie switch changes nothing"));
    const std::string slip = refused("predict --gpu l40s --model llama-3.1-8b --tp 8 --pcie swich");
    for (const char* part : {"--pcie", "found swich", "did you mean switch"}) CHECK(contains(slip, part));
    CHECK(contains(refused("memory --model llama-3.1-8b --pcie switch"), "--pcie"));
    const json points = json::parse(
        printed("sweep --gpu l40s --model llama-3.1-8b --tp 8 --prompt 2048 --generate 8 --pcie host,switch --format json"))["points"];
    REQUIRE(points.size() == 2);
    CHECK(points[0]["ttft_ms"] == host["ttft_ms"]);
    CHECK(points[1]["ttft_ms"] == switched["ttft_ms"]);
    CHECK(contains(printed("gpu show rtx-pro-6000-server"), "PCIe switches"));
    CHECK(json::parse(printed("gpu show l4 --format json"))["gpu"]["pcie"] == "host");
}

TEST_CASE("machines: gpu show states the machine and where it is from") {
    const json rack = json::parse(printed("gpu show gb200 --format json"))["gpu"];
    CHECK(rack["gpus_per_machine"] == 72);
    CHECK(contains(rack["gpus_per_machine_source"], "NVL72"));
    const std::string card = printed("gpu show rtx-3060");
    CHECK(contains(card, "gpus_per_machine"));
    CHECK(contains(card, "assumed: usual for PCIe"));
}

TEST_CASE("providers: prices are chosen by kind of provider, and unlike ones are said to be so") {
    const std::string date = " --date 2026-11-21 --format json";
    const auto rent = [&](const std::string& options) {
        return json::parse(printed("cost --gpu rtx-4090 --model resnet50 " + options + date))["rows"][0]["rental_price"];
    };
    // RunPod: 0.74 in its data centers, 0.34 on machines of private owners.
    CHECK(rent("")["usd"] == 0.74);
    CHECK(rent("")["provider_kind"] == "specialized");
    CHECK(rent("")["fallback"] == false);
    CHECK(rent("--provider community")["usd"] == 0.34);
    const json only = json::parse(printed("cost --gpu rtx-3080 --model resnet50" + date))["rows"][0]["rental_price"];
    CHECK(only["provider_kind"] == "community");
    CHECK(only["fallback"] == true);
    CHECK(contains(refused("cost --gpu a40 --model resnet50 --provider hyperscaler"), "expected specialized"));
    for (const char* command : {"cost", "compare"}) {
        const std::string text = printed(std::string(command) + " --gpu rtx-4090 --gpu mi300x --model llama-3.1-8b --date 2026-11-21");
        CHECK(contains(text, "hyperscaler (mi300x), specialized cloud (rtx-4090)"));
        CHECK_FALSE(
            contains(printed(std::string(command) + " --gpu h200 --gpu h100 --model llama-3.1-8b --provider AWS"), "different kinds"));
    }
}

TEST_CASE("prices: gpu check reads the shipped lists, and says what is wrong in others") {
    const std::string folder = (roofcast::test::gpus_dir()).string();
    const json files = json::parse(printed("gpu check " + folder + "/prices.csv " + folder + "/providers.csv --format json"))["files"];
    REQUIRE(files.size() == 2);
    CHECK(files[0]["kind"] == "prices");
    CHECK(files[0]["entries"].get<int>() >= 199);
    CHECK(files[1]["kind"] == "providers");
    const TemporaryFile wrong("prices.csv", "gpu,kind,provider,instance,gpus_in_instance,usd,date,source\nt4,on_demand_hour,,,1,free,,x\n");
    for (const char* part : {"prices.csv:2", "usd", "\"free\""}) CHECK(contains(refused("gpu check " + wrong.path().string()), part));
}

TEST_CASE("providers: recommend leaves out what only community clouds offer, unless asked for") {
    const std::string run = "recommend --model llama-3.2-1b --slo tpot=1s --date 2026-11-21 --format json";
    const auto note = [](const json& document) {
        for (const json& text : document["notes"]) {
            if (contains(text, "only community clouds offer")) return text.get<std::string>();
        }
        return std::string();
    };
    const json all = json::parse(printed(run));
    CHECK(contains(note(all), "rtx-3080"));
    CHECK(all["prices"]["rtx-3080"].is_null());
    for (const auto& [gpu, price] : all["prices"].items()) CHECK((price.is_null() || price["provider_kind"] != "community"));
    const json named = json::parse(printed(run + " --gpu rtx-3080 --gpu t4"));
    CHECK(note(named).empty());
    CHECK(named["prices"]["rtx-3080"]["fallback"] == true);
    const json community = json::parse(printed(run + " --provider community"));
    for (const auto& [gpu, price] : community["prices"].items()) CHECK((price.is_null() || price["provider_kind"] == "community"));
}
