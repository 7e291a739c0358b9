// Rows of engines' start-up logs.
#include <doctest/doctest.h>

#include "roofcast/measurement.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

Measurements start_rows(const std::string& settings, const std::string& figure) {
    return read_measurements_text(
        "gpu,model,precision,phase,memory_fraction,context_tokens,max_seqs,max_tokens,gpu_memory_gib,software,metric,value\n"
        "h100-sxm5-80gb,llama-3.1-8b,bf16," +
            settings + ",vllm 0.19," + figure + "\n",
        "rows.csv");
}

std::string why_not(const std::string& settings, const std::string& figure) {
    const Measurements found = start_rows(settings, figure);
    REQUIRE(found.skipped.rows() == 1);
    return found.skipped.reasons()[0].reason;
}

}  // namespace

TEST_CASE("a row of phase start holds what the engine was set to, and blanks where the log does not say") {
    const Measurements found = start_rows("start,0.95,8192,64,2048,79.19", "kv_cache_tokens,476016");
    REQUIRE(found.models.size() == 1);
    const ModelRow& row = found.models[0];
    REQUIRE(row.started);
    CHECK(row.started->fraction == 0.95);
    CHECK(row.started->context == 8192);
    CHECK(row.started->max_sequences == 64);
    CHECK(row.started->max_tokens == 2048);
    CHECK(row.started->gpu_memory->in(gib) == rel(79.19, 1e-12));
    CHECK(row.metric == Metric::kv_cache_tokens);
    const Measurements blank = start_rows("start,,,,,", "weights_gib,14.99");
    REQUIRE(blank.models.size() == 1);
    CHECK_FALSE(blank.models[0].started->fraction);
    CHECK_FALSE(blank.models[0].started->gpu_memory);
}

TEST_CASE("figures of start-up belong to phase start alone, and are positive") {
    CHECK(why_not("serve,0.9,,,,", "weights_gib,14.99").find("requests") != std::string::npos);
    CHECK(why_not("start,0.9,,,,", "latency_ms,14.99").find("does not apply to phase 'start'") != std::string::npos);
    CHECK(why_not("start,0.9,,,,", "kv_cache_gib,-2.14").find("not positive") != std::string::npos);
    CHECK(why_not("start,1.5,,,,", "weights_gib,14.99").find("at most 1") != std::string::npos);
    CHECK(why_not("start,0.9,,,9999999,", "weights_gib,14.99").find("max_tokens") != std::string::npos);
}
