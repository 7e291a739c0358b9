#include "roofcast/run_settings.hpp"

#include <doctest/doctest.h>

#include <set>

#include "support/paths.hpp"

using namespace roofcast;
using test::gpus_dir;
using test::models_dir;

namespace {

ErrorDetail refused_setting(std::string_view name, const std::string& text) {
    RunSettings settings;
    try {
        set(settings, name, text);
    } catch (const Error& e) {
        return e.detail();
    }
    return {.what = "nothing"};
}

}  // namespace

TEST_CASE("run settings: names and fields are there once, and each name is that of its field") {
    std::set<std::string_view> names, fields;
    for (const RunSetting& setting : run_settings()) {
        CHECK(names.insert(setting.name).second);
        CHECK(fields.insert(setting.field).second);
        CHECK(setting_name(setting.field) == std::string(setting.name));
    }
    CHECK(setting_name("parallel.tensor") == "tp");
    CHECK_FALSE(setting_name("nothing"));
}

TEST_CASE("run settings: texts make a run") {
    const Workload model = find_workload(models_dir(), "llama-3.1-70b");
    const Gpu gpu = load_gpu(gpus_dir(), "h100-sxm5-80gb");
    RunSettings settings;
    for (const auto& [name, text] :
         {std::pair("precision", "fp8"), {"tp", "4"}, {"batch", "8"}, {"prefill_chunk", "256"}, {"host_time", "0.5"}})
        set(settings, name, text);
    const Run run = run_request(settings, model, &gpu.profile, models_dir());
    CHECK(run.precision == Precision::fp8);
    CHECK(run.parallel.tensor == 4);
    CHECK(run.batch == 8);
    CHECK(run.techniques.prefill_chunk == 256);
    CHECK(run.host_time == 0.5);
    CHECK(run_request({}, model, &gpu.profile).precision == Precision::bf16);  // the model's own
}

TEST_CASE("run settings: what is wrong names the field") {
    CHECK(refused_setting("tp", "0").key == "parallel.tensor");
    CHECK(refused_setting("tp", "4x").found == "4x");
    CHECK(refused_setting("kv", "fp17").key == "kv_precision");
    CHECK(refused_setting("execution", "graphs").suggestion == "did you mean cuda_graph?");
    CHECK(refused_setting("layout", "nhcw").key == "channels_last");
    CHECK(refused_setting("host_time", "fast").key == "host_time");
    CHECK(refused_setting("precison", "fp8").suggestion == "did you mean precision?");
    CHECK(refused_setting("software", "vllm 0.24").what == "nothing");
}
