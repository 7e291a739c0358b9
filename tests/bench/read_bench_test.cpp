#include <doctest/doctest.h>

#include "roofcast/bench.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/program.hpp"

using namespace roofcast;
using roofcast::test::contains;
using roofcast::test::rel;

namespace {

std::string label(const Labels& labels, std::string_view key) {
    for (const auto& [name, value] : labels) {
        if (name == key) return value;
    }
    return "(none)";
}

std::string error_of(std::string_view text) {
    try {
        read_bench_text(text, "file");
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("rows of a measurement file that differ in the time only are samples of one series") {
    const auto data = read_bench_text(
        "gpu,op,precision,rows,cols,latency_us\n"
        "t4,softmax,fp32,64,128,10\n"
        "t4,softmax,fp32,64,256,50\n"
        "t4,softmax,fp32,64,128,14\n",
        "rows.csv");
    REQUIRE(data.series.size() == 2);
    CHECK(data.series[0].statistics.count == 2);
    CHECK(*data.series[0].statistics.median == 12);
    CHECK(data.series[0].metric == "latency_us");
    CHECK(described(data.series[0].work) == "softmax rows=64 cols=128");
    CHECK(label(data.series[0].run_by, "gpu") == "t4");
    CHECK(label(data.series[0].run_by, "file") == "rows.csv");
}

TEST_CASE("a single row brings its own statistics") {
    const auto data = read_bench_text(
        "gpu,op,precision,rows,cols,latency_us,latency_mean_us,latency_std_us,latency_min_us,latency_max_us,latency_p95_us,runs,drift\n"
        "t4,softmax,fp32,64,128,10,10.5,2,9,20,15,40,0\n",
        "rows.csv");
    const auto& s = data.series.at(0).statistics;
    CHECK(s.count == 40);
    CHECK(*s.median == 10);
    CHECK(*s.mean == 10.5);
    CHECK(*s.variation_percent() == rel(20, 1e-12));
    CHECK(*s.p95 == 15);
    CHECK_FALSE(s.p99);
}

TEST_CASE("model rows are series of their metric, and rates are better when larger") {
    const auto data = read_bench_text(
        "gpu,model,precision,batch,metric,value\n"
        "t4,resnet50,fp16,8,latency_ms,6\n"
        "t4,resnet50,fp16,8,throughput_per_s,1300\n"
        "t4,resnet50,fp16,8,throughput_per_s,-1\n",
        "rows.csv");
    REQUIRE(data.series.size() == 2);
    CHECK(data.series[0].lower_is_better);
    CHECK_FALSE(data.series[1].lower_is_better);
    REQUIRE(data.skipped.rows() == 1);
    CHECK(data.skipped.reasons()[0].line == 4);
}

TEST_CASE("google-benchmark repetitions are samples, and times are converted") {
    const auto data = read_bench_text(R"({"context": {"host_name": "h"}, "benchmarks": [
        {"name": "sort/8", "run_name": "sort/8", "run_type": "iteration", "real_time": 2.0, "cpu_time": 1.0, "time_unit": "ms"},
        {"name": "sort/8", "run_name": "sort/8", "run_type": "iteration", "real_time": 4.0, "cpu_time": 1.0, "time_unit": "ms"},
        {"name": "sort/8_mean", "run_name": "sort/8", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 3.0, "cpu_time": 1.0,
         "time_unit": "ms"},
        {"name": "bad", "run_name": "bad", "run_type": "iteration", "error_occurred": true, "error_message": "no device"}]})",
                                      "gb.json");
    REQUIRE(data.series.size() == 2);
    CHECK(data.series[0].metric == "real_time_us");
    CHECK(data.series[0].statistics.count == 2);
    CHECK(*data.series[0].statistics.mean == rel(3000, 1e-12));
    REQUIRE(data.skipped.rows() == 1);
    CHECK(contains(data.skipped.reasons()[0].reason, "no device"));
}

TEST_CASE("a series with a figure below 0 is skipped with the reason") {
    const char* text = R"({"context": {}, "benchmarks": [
        {"name": "a", "run_type": "iteration", "iterations": 1, "real_time": -5, "cpu_time": 5, "time_unit": "us"},
        {"name": "a", "run_type": "iteration", "iterations": 1, "real_time": 6, "cpu_time": 5, "time_unit": "us"}]})";
    const auto data = read_bench_text(text, "file");
    REQUIRE(data.series.size() == 1);
    CHECK(data.series[0].metric == "cpu_time_us");
    REQUIRE(data.skipped.rows() == 1);
    CHECK(contains(data.skipped.reasons()[0].reason, "real_time_us below 0, -5"));
    CHECK(contains(error_of(R"([{"latencyMs": -1, "computeMs": -1}])"), "latency_ms below 0"));
}

TEST_CASE("a series of nothing but 0 is skipped, as nothing is a multiple of it") {
    const auto data = read_bench_text(R"([{"latencyMs": 2, "computeMs": 2, "h2dMs": 0}])", "trtexec.json");
    for (const auto& series : data.series) CHECK(series.statistics.typical() > 0);
    REQUIRE(data.skipped.rows() == 1);
    CHECK(contains(data.skipped.reasons()[0].reason, "h2d_ms is 0"));
}

TEST_CASE("google-benchmark aggregates serve where the run reported nothing else") {
    const auto data = read_bench_text(R"({"benchmarks": [
        {"name": "x_mean", "run_name": "x", "run_type": "aggregate", "aggregate_name": "mean", "repetitions": 5, "real_time": 3, "cpu_time": 3,
         "time_unit": "ns"},
        {"name": "x_stddev", "run_name": "x", "run_type": "aggregate", "aggregate_name": "stddev", "repetitions": 5, "real_time": 0.3,
         "cpu_time": 0.3, "time_unit": "ns"}]})",
                                      "gb.json");
    const auto& s = data.series.at(0).statistics;
    CHECK(s.count == 5);
    CHECK(*s.mean == rel(0.003, 1e-12));
    CHECK(*s.variation_percent() == rel(10, 1e-9));
}

TEST_CASE("google-benchmark's fits of complexity are no measurements, and what was skipped is named") {
    const auto data = read_bench_text(R"({"benchmarks": [
        {"name": "sort/8", "run_name": "sort/8", "run_type": "iteration", "real_time": 2, "cpu_time": 2, "time_unit": "ns"},
        {"name": "sort_BigO", "run_name": "sort", "run_type": "aggregate", "aggregate_name": "BigO", "cpu_coefficient": 0.2,
         "real_coefficient": 0.2, "big_o": "N", "time_unit": "ns"},
        {"name": "sort_RMS", "run_name": "sort", "run_type": "aggregate", "aggregate_name": "RMS", "rms": 0.1},
        {"name": "other", "run_name": "other", "run_type": "iteration", "skipped": true, "skip_message": "no such device"}]})",
                                      "gb.json");
    REQUIRE(data.series.size() == 2);
    CHECK(data.series[0].metric == "real_time_us");
    REQUIRE(data.skipped.rows() == 1);
    CHECK(contains(data.skipped.reasons()[0].reason, "other: no such device"));
}

TEST_CASE("nvbench JSON gives times in microseconds, by device and axes") {
    const auto data = read_bench_text(R"({"devices": [{"id": 0, "name": "NVIDIA L4"}], "benchmarks": [{"name": "copy", "states": [
        {"name": "Device=0 N=64", "device": 0, "axis_values": [{"name": "N", "type": "int64", "value": "64"}], "summaries": [
            {"tag": "nv/cold/sample_size", "data": [{"name": "value", "type": "int64", "value": "120"}]},
            {"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "type": "float64", "value": "2e-05"}]},
            {"tag": "nv/cold/time/gpu/stdev/relative", "data": [{"name": "value", "type": "float64", "value": "0.05"}]}],
         "is_skipped": false},
        {"name": "Device=0 N=128", "device": 0, "axis_values": [], "summaries": [], "is_skipped": true, "skip_reason": "too large"}]}]})",
                                      "nv.json");
    REQUIRE(data.series.size() == 1);
    const auto& s = data.series[0];
    CHECK(described(s.work) == "copy N=64");
    CHECK(label(s.run_by, "gpu") == "NVIDIA L4");
    CHECK(s.metric == "gpu_time_us");
    CHECK(*s.statistics.mean == rel(20, 1e-12));
    CHECK(*s.statistics.std == rel(1, 1e-9));
    CHECK(s.statistics.count == 120);
    CHECK(contains(data.skipped.reasons().at(0).reason, "too large"));
}

TEST_CASE("nvbench CSV takes the noise behind each time") {
    const auto data = read_bench_text(
        "Benchmark,Device,Device Name,N (pow2),N,Skipped,Samples,CPU Time (sec),Noise,GPU Time (sec),Noise\n"
        "copy,0,NVIDIA L4,2^6,64,No,120,3e-05,0.2,2e-05,0.05\n"
        "copy,0,NVIDIA L4,2^7,128,Yes,,,,,\n",
        "nv.csv");
    REQUIRE(data.series.size() == 2);
    CHECK(described(data.series[0].work) == "copy N=64");
    CHECK(data.series[0].metric == "gpu_time_us");
    CHECK(*data.series[0].statistics.std == rel(1, 1e-9));
    CHECK(*data.series[1].statistics.variation_percent() == rel(20, 1e-9));
    CHECK(data.skipped.reasons().at(0).line == 3);
}

TEST_CASE("llama-bench tests are named as its own table names them") {
    const auto csv = read_bench_text(
        "build_commit,build_number,gpu_info,model_filename,model_type,n_prompt,n_gen,avg_ns,stddev_ns,avg_ts,stddev_ts\n"
        "\"abc\",\"5163\",\"NVIDIA L4\",\"m.gguf\",\"llama 7B mostly Q4_0\",\"512\",\"0\",\"100\",\"1\",\"2400.5\",\"7.5\"\n"
        "\"abc\",\"5163\",\"NVIDIA L4\",\"m.gguf\",\"llama 7B mostly Q4_0\",\"0\",\"128\",\"100\",\"1\",\"fast\",\"7.5\"\n",
        "llama.csv");
    REQUIRE(csv.series.size() == 1);
    CHECK(described(csv.series[0].work) == "llama 7B pp512");
    CHECK(label(csv.series[0].run_by, "weight_precision") == "Q4_0");
    CHECK(csv.series[0].statistics.typical() == 2400.5);
    CHECK_FALSE(csv.series[0].lower_is_better);
    CHECK(contains(csv.skipped.reasons().at(0).reason, "fast"));

    const auto json = read_bench_text(R"([{"gpu_info": "NVIDIA L4", "model_type": "llama 7B Q4_0", "n_prompt": 0, "n_gen": 128,
        "avg_ts": 1, "stddev_ts": 0, "samples_ts": [130, 132, 134]}])",
                                      "llama.json");
    CHECK(described(json.series.at(0).work) == "llama 7B tg128");
    CHECK(*json.series.at(0).statistics.median == 132);
}

TEST_CASE("trtexec durations are series, moments are not") {
    const auto data = read_bench_text(R"([
        {"startComputeMs": 1, "endComputeMs": 3, "computeMs": 2, "latencyMs": 2.5, "endToEndMs": 4},
        {"startComputeMs": 5, "endComputeMs": 9, "computeMs": 4, "latencyMs": 4.5, "endToEndMs": 6}])",
                                      "times.json");
    REQUIRE(data.series.size() == 3);
    CHECK(data.series[0].metric == "compute_ms");
    CHECK(*data.series[0].statistics.mean == 3);
    CHECK(data.series[2].metric == "end_to_end_ms");
}

TEST_CASE("statistics by mode and metric keep the order of the file") {
    const auto data = read_bench_text(R"({"eager": {"latency_ms": {"values": [3, 1, 2]}}, "compiled": {"latency_ms":
        {"mean": 1, "std": 0.2, "min": 0.8, "max": 1.5, "median": 0.9, "values": []}}})",
                                      "modes.json");
    REQUIRE(data.series.size() == 2);
    CHECK(label(data.series[0].run_by, "mode") == "eager");
    CHECK(*data.series[0].statistics.median == 2);
    CHECK(*data.series[1].statistics.max == 1.5);
}

TEST_CASE("what is wrong with a benchmark file is said with its place") {
    CHECK(contains(error_of(""), "an empty file"));
    CHECK(contains(error_of("{\"benchmarks\": [\n{]"), "file:2: not valid JSON"));
    CHECK(contains(error_of("a,b\n1,2\n"), "no known benchmark format"));
    CHECK(contains(error_of("[1, 2]"), "a JSON list"));
    CHECK(contains(error_of(R"({"benchmarks": [{"name": "x", "cpu_time": 1}]})"), "benchmarks[0]: 'real_time' is missing"));
    CHECK(contains(error_of(R"({"benchmarks": [{"name": "x", "real_time": "soon"}]})"), "benchmarks[0].real_time"));
    CHECK(contains(error_of(R"({"benchmarks": [{"name": "x", "real_time": 1, "cpu_time": 1, "time_unit": "h"}]})"), "ns, us, ms or s"));
    CHECK(contains(error_of(R"({"eager": {"latency_ms": {"std": 1}}})"), "eager.latency_ms"));
    CHECK(contains(error_of(R"({"eager": 3})"), "eager"));
    CHECK(contains(error_of("gpu,op,precision,latency_us\nt4,softmax,fp32,1\n"), "file:2"));
}

TEST_CASE("lists that are none, numbers beyond a double and endless nesting are errors of a benchmark file") {
    const char* axes = R"({"devices": [], "benchmarks": [{"name": "b", "states": [{"axis_values": {"name": "m"}, "summaries": []}]}]})";
    CHECK(contains(error_of(axes), "axis_values"));
    CHECK(contains(error_of(R"({"eager": {"latency_ms": {"mean": 1e999}}})"), "not valid JSON"));
    CHECK(contains(error_of(std::string(100'000, '[')), "nested too deeply"));
}

TEST_CASE("a number of samples that nobody can have taken counts as not said") {
    CHECK(read_bench_text(R"({"eager": {"latency_ms": {"mean": 1, "count": 1e300}}})", "file").series.at(0).statistics.count == 0);
    CHECK(read_bench_text(R"({"eager": {"latency_ms": {"mean": 1, "count": -3}}})", "file").series.at(0).statistics.count == 0);
    CHECK(read_bench_text("quantity,value,runs\nlaunch_us,5,1e300\n", "file").series.at(0).statistics.count == 0);
    CHECK(read_bench_text("quantity,value,runs\nlaunch_us,5,30\n", "file").series.at(0).statistics.count == 30);
}

TEST_CASE("weights stored as the arithmetic's precision are the same work, said or not") {
    const auto data = read_bench_text(
        "gpu,op,precision,weight_precision,m,n,k,latency_us\n"
        "t4,gemm,fp16,fp16,8,8,8,10\n"
        "t4,gemm,fp16,int8,8,8,8,10\n",
        "rows.csv");
    CHECK(label(data.series.at(0).run_by, "weight_precision") == "(none)");
    CHECK(label(data.series.at(1).run_by, "weight_precision") == "int8");
}
