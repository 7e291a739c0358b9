#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;

namespace {

constexpr const char* one_bad_row =
    "gpu,op,precision,rows,cols,latency_us\n"
    "t4,softmax,fp32,1024,1024,60\n"
    "t4,softmax,fp32,1024,,60\n";

}  // namespace

TEST_CASE("validate prints accuracy by the keys asked for") {
    const TemporaryFile file("rows.csv", one_bad_row);
    const auto result = roofcast::test::roofcast("validate --format json --by op,source --data " + file.path().string());
    REQUIRE(result.exit_code == 0);
    const json document = json::parse(result.output);
    CHECK(document["overall"]["rows"] == 1);
    CHECK(document["overall"]["skipped"] == 1);
    CHECK(document["groups"][0]["op"] == "softmax");
    CHECK(document["groups"][0].contains("source"));
    CHECK_FALSE(document["groups"][0].contains("gpu"));
    CHECK(document["skipped"][0]["line"] == 3);
}

TEST_CASE("validate --strict fails on a row that cannot be used") {
    const TemporaryFile file("rows.csv", one_bad_row);
    const auto result = roofcast::test::roofcast("validate --strict --data " + file.path().string(), true);
    CHECK(result.exit_code == 2);
    CHECK(contains(result.output, "cols is missing"));
}

TEST_CASE("validate refuses what it does not know") {
    CHECK(roofcast::test::roofcast("validate --by colour", true).exit_code == 2);
    CHECK(roofcast::test::roofcast("validate --gpu no-such-gpu", true).exit_code == 2);
    CHECK(roofcast::test::roofcast("validate --data no-such-file.csv", true).exit_code == 2);
}

TEST_CASE("validate without --data judges the shipped rows of one GPU") {
    const auto result = roofcast::test::roofcast("validate --format json --gpu t4 --op elementwise");
    REQUIRE(result.exit_code == 0);
    const json document = json::parse(result.output);
    REQUIRE(document["groups"].size() == 1);
    CHECK(document["groups"][0]["gpu"] == "t4");
    CHECK(document["groups"][0]["rows"] == 440);
    CHECK(document["groups"][0]["roofline_mape_percent"].is_number());
    CHECK(document["groups"][0]["coverage_percent"].get<double>() > 0);
}

TEST_CASE("validate names a broken profile or fit, and skips the rows of GPUs that have none") {
    const TemporaryFile rows("rows.csv",
                             "gpu,op,precision,rows,cols,latency_us\nt4,softmax,fp32,1024,1024,60\nno-such-gpu,softmax,fp32,8,8,60\n");
    const fs::path data = rows.path().parent_path() / "data";
    const auto judge = [&](const char* spoilt, const char* line, bool errors) {
        fs::remove_all(data);
        fs::create_directories(data / "validation_data");
        fs::copy(roofcast::test::gpus_dir(), data / "gpus", fs::copy_options::recursive);
        fs::copy(roofcast::test::models_dir(), data / "models", fs::copy_options::recursive);
        fs::copy(roofcast::test::software_dir(), data / "software", fs::copy_options::recursive);
        std::ofstream(data / "gpus" / spoilt, std::ios::app) << line;
        return roofcast::test::roofcast("validate --data-dir " + data.string() + " --data " + rows.path().string(), errors);
    };
    const auto sound = judge("t4.toml", "", false);
    CHECK(sound.exit_code == 0);
    CHECK(contains(sound.output, "1 rows judged, 0 set aside as impossible, 1 skipped"));
    for (const char* spoilt : {"t4.toml", "arch/turing.toml", "fits/t4.fit.toml"}) {
        CAPTURE(spoilt);
        const auto broken = judge(spoilt, "\n[no_such_table]\nkey = 1\n", true);
        CHECK(broken.exit_code == 2);
        CHECK(contains(broken.output, spoilt));
        CHECK(contains(broken.output, "no_such_table"));
    }
}

TEST_CASE("validate refuses operators that no row can have, and says when no row is left") {
    using roofcast::test::refused;
    const TemporaryFile file("rows.csv", one_bad_row);
    CHECK(contains(refused("validate --op softmx --data " + file.path().string()), "did you mean softmax"));
    const auto none = roofcast::test::roofcast("validate --op gemm --data " + file.path().string(), true);
    CHECK(none.exit_code == 1);
    CHECK(contains(none.output, "no row is left"));
}

TEST_CASE("validate tells of skipped rows where its table does not show them") {
    const TemporaryFile file("rows.csv", one_bad_row);
    CHECK(contains(roofcast::test::roofcast("validate --format csv --data " + file.path().string(), true).output, "1 rows were skipped"));
}

TEST_CASE("validate groups rows by the GPU, whatever rows call it") {
    const TemporaryFile file("rows.csv",
                             "gpu,op,precision,rows,cols,latency_us\n"
                             "t4,softmax,fp32,1024,1024,60\n"
                             "T4,softmax,fp32,2048,1024,120\n");
    const json document = json::parse(roofcast::test::printed("validate --format json --by gpu --data " + file.path().string()));
    REQUIRE(document["groups"].size() == 1);
    CHECK(document["groups"][0]["rows"] == 2);
}

TEST_CASE("no output takes the place of an input or of another output") {
    using roofcast::test::refused;
    const TemporaryFile file("rows.csv", one_bad_row);
    const std::string name = file.path().string(), beside = (file.path().parent_path() / "." / "rows.csv").string();
    CHECK(contains(refused("validate --data " + name + " --rows " + beside), "--rows"));
    CHECK(contains(refused("validate --data " + name + " --output " + name), "--output"));
    const std::string folder = file.path().parent_path().string();
    CHECK(contains(refused("validate --data " + name + " --rows " + folder + "/x.csv --output " + folder + "/./x.csv"), "--output"));
    CHECK(contains(refused("bench summarize " + name + " --output " + name), "--output"));
    CHECK(contains(refused("validate --data " + folder + " --rows " + name), "--rows"));
    CHECK(contains(refused("validate --data " + folder + "/. --output " + name), "--output"));
    const fs::path below = file.path().parent_path() / "below";
    fs::create_directory(below);
    fs::copy_file(file.path(), below / "rows.csv");
    CHECK(contains(refused("validate --data " + folder + " --output " + (below / "rows.csv").string()), "--output"));
    CHECK(contains(refused("predict --gpu t4 --model resnet50 --output " + folder + "/t4.toml"), "not TOML"));
    CHECK(contains(refused("sweep --gpu t4 --model resnet50 --format csv --output " + folder + "/t4.toml"), "not TOML"));
    CHECK(contains(refused("validate --data " + name + " --rows " + folder + "/t4.toml"), "--rows"));
    CHECK(contains(refused("predict --gpu t4 --model resnet50 --output -"), "standard output"));
    CHECK(roofcast::test::text_of(file.path()) == one_bad_row);
}

TEST_CASE("JSON is valid whatever bytes a row holds") {
    const TemporaryFile file("rows.csv", "gpu,op,precision,rows,cols,latency_us,source\nt4,softmax,fp32,1024,1024,60,caf\xE9\n");
    const json document = json::parse(roofcast::test::printed("validate --format json --by source --data " + file.path().string()));
    CHECK(document["groups"][0]["rows"] == 1);
}

TEST_CASE("no output replaces a file that the command line names to be read") {
    const std::string llama = R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 2, "vocab_size": 100, "n_positions": 64})";
    const TemporaryFile config("config.json", llama), trace("t.csv", "arrival_s,prompt_tokens,output_tokens\n0,10,2\n");
    using roofcast::test::refused;
    const std::string file = config.path().string(), folder = config.path().parent_path().string(), times = trace.path().string();
    CHECK(contains(refused("predict --gpu t4 --precision fp16 --prompt 8 --generate 4 --model " + file + " --output " + file), "--output"));
    CHECK(
        contains(refused("predict --gpu t4 --precision fp16 --prompt 8 --generate 4 --model " + folder + " --output " + file), "--output"));
    CHECK(contains(refused("sweep --gpu t4 --precision fp16 --prompt 8 --generate 4 --model " + file + " --format csv --output " + file),
                   "--output"));
    CHECK(contains(refused("serve-sim --gpu a100-sxm4-80gb --model gpt2-large --trace " + times + " --output " + times), "--output"));
    CHECK(roofcast::test::text_of(config.path()) == llama);
    CHECK(contains(roofcast::test::text_of(trace.path()), "arrival_s"));
}

TEST_CASE("validate reads the profiles of the GPUs asked for alone, and says what a name of several was taken for") {
    const TemporaryFile rows("rows.csv",
                             "gpu,op,precision,rows,cols,latency_us\nt4,softmax,fp32,1024,1024,60\nv100,softmax,fp32,1024,1024,30\n");
    const fs::path data = rows.path().parent_path() / "data";
    fs::create_directories(data / "validation_data");
    fs::copy(roofcast::test::gpus_dir(), data / "gpus", fs::copy_options::recursive);
    fs::copy(roofcast::test::models_dir(), data / "models", fs::copy_options::recursive);
    fs::copy(roofcast::test::software_dir(), data / "software", fs::copy_options::recursive);
    const std::string command = "validate --data-dir " + data.string() + " --data " + rows.path().string();
    const auto all = roofcast::test::roofcast(command, true);
    CHECK(all.exit_code == 0);
    CHECK(contains(all.output, "v100 is ambiguous"));
    for (const char* spoilt : {"fits/v100-sxm2-16gb.fit.toml", "arch/volta.toml"})
        std::ofstream(data / "gpus" / spoilt, std::ios::app) << "[no_such_table]\n";
    const auto one = roofcast::test::roofcast(command + " --gpu t4", true);
    CHECK(one.exit_code == 0);
    CHECK_FALSE(contains(one.output, "ambiguous"));
    CHECK(contains(roofcast::test::printed(command + " --gpu t4"), "1 rows judged"));
}

TEST_CASE("validate sets rows of models aside that no GPU can have run") {
    const TemporaryFile rows("rows.csv",
                             "gpu,model,precision,batch,phase,metric,value\n"
                             "t4,resnet50,fp16,64,forward,latency_ms,40\n"
                             "t4,resnet50,fp16,32,forward,latency_ms,0.04\n"
                             "t4,resnet50,fp16,64,forward,throughput_per_s,1e6\n"
                             "t4,resnet50,fp16,64,forward,memory_gb,64\n");
    const std::string judged = roofcast::test::printed("validate --data " + rows.path().string());
    CHECK(contains(judged, "1 rows judged, 3 set aside as impossible"));
    CHECK(contains(judged, "rows.csv:5"));
    const TemporaryFile none("none.csv", "gpu,model,precision,batch,phase,metric,value\nt4,resnet50,fp16,64,forward,latency_ms,0.04\n");
    CHECK(contains(roofcast::test::roofcast("validate --data " + none.path().string(), true).output, "all were skipped or set aside"));
}

TEST_CASE("a served load that asks for more than its GPUs' peak is set aside, TTFT and TPOT alike") {
    // A request of 416 users takes 0.72 + 499 * 0.01366 = 7.5 s. In that time two B200 of 9 PFLOP/s each can compute 1.4e17 FLOP; 416
    // prompts of 15,000 tokens of a model of 32.8e9 parameters are 4.1e17 without attention.
    const TemporaryFile rows(
        "loads.csv",
        "gpu,model,phase,software,precision,dense_format,prompt_tokens,output_tokens,concurrency,tensor_parallel,ttft_ms,"
        "tpot_ms\n"
        "b200-sxm,qwen3-32b,serve,trtllm 1.3.0,fp4,fp4,15000,500,416,2,719.28,13.656\n"
        "b200-sxm,qwen3-32b,serve,trtllm 1.3.0,fp4,fp4,15000,500,16,2,719.28,13.656\n");
    const auto judged = nlohmann::json::parse(roofcast::test::printed("validate --format json --data " + rows.path().string()));
    CHECK(judged["overall"]["impossible"] == 2);
    CHECK(judged["overall"]["rows"] == 2);
    CHECK(judged["impossible"][0]["line"] == 2);
}

TEST_CASE("rows of serving engines are compared with what serve-sim predicts") {
    const TemporaryFile rows("served.csv",
                             "gpu,model,precision,phase,execution,prompt_tokens,output_tokens,requests,concurrency,metric,value\n"
                             "h200-sxm-141gb,llama-3.1-8b,bf16,serve,cuda_graph,300,50,200,20,tokens_per_s,1\n"
                             "h200-sxm-141gb,llama-3.1-8b,bf16,serve,cuda_graph,300,50,200,20,ttft_ms,1000\n"
                             "h200-sxm-141gb,llama-3.1-8b,bf16,serve,cuda_graph,300,50,200,20,memory_gb,50\n");
    const TemporaryFile out("judged.csv", "");
    const std::string text = roofcast::test::printed("validate --data " + rows.path().string() + " --rows " + out.path().string());
    CHECK(contains(text, "2 rows judged"));
    CHECK(contains(text, "does not apply to phase 'serve'"));
    const auto sim = nlohmann::json::parse(roofcast::test::printed(
        "serve-sim --gpu h200-sxm-141gb --model llama-3.1-8b --concurrency 20 --requests 200 --prompt 300 --generate 50 --format json"));
    std::ifstream judged(out.path());
    const auto predicted_of_next = [&] {
        std::string line, cell;
        std::getline(judged, line);
        std::istringstream cells(line);
        for (int column = 0; column < 11; ++column) std::getline(cells, cell, ',');
        return cell;
    };
    CHECK(predicted_of_next() == "predicted");
    CHECK(std::stod(predicted_of_next()) == rel(sim["loads"][0]["tokens_per_s"].get<double>(), 1e-4));
    CHECK(std::stod(predicted_of_next()) == rel(sim["latencies"][0]["mean_ms"].get<double>(), 1e-4));
}

TEST_CASE("rows may name the file of a model, from where the command runs") {
    const std::string net = (roofcast::test::source_dir() / "docs" / "examples" / "nets" / "small-detector.toml").string();
    const TemporaryFile rows("rows.csv",
                             "gpu,model,precision,batch,execution,phase,metric,value\n"
                             "rtx-4070," +
                                 net + ",fp16,1,tensorrt,forward,latency_ms,1\n");
    const auto judged = nlohmann::json::parse(roofcast::test::printed("validate --format json --data " + rows.path().string()));
    CHECK(judged["overall"]["rows"] == 1);
    const TemporaryFile missing("missing.csv",
                                "gpu,model,precision,batch,execution,phase,metric,value\n"
                                "rtx-4070,/nowhere/net.toml,fp16,1,tensorrt,forward,latency_ms,1\n");
    CHECK(contains(roofcast::test::refused("validate --data " + missing.path().string()), "/nowhere/net.toml"));
}
