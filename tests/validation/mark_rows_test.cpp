/// Who called a measured kernel, by the column `software`.

#include <doctest/doctest.h>

#include "roofcast/software.hpp"
#include "roofcast/validation.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

namespace roofcast {

namespace {

std::vector<KernelRow> marked(const std::string& text) {
    std::vector<KernelRow> rows = read_measurements_text(text, "rows.csv").kernels;
    mark_rows(test::shipped_software(), {}, rows);
    return rows;
}

}  // namespace

TEST_CASE("operands are plain tensors where PyTorch or cuBLAS ran GEMMs, and element-wise kernels of PyTorch take any operands") {
    const auto rows = marked(
        "gpu,op,precision,m,n,k,elements,function,latency_us,software\n"
        "g,gemm,int8,16,16,16,,linear,5,trtllm 1.0.0\n"
        "g,gemm,int8,16,16,32,,linear,6,cuBLASLt 13.1.0 driver 580\n"
        "g,gemm,int8,16,16,48,,linear,7,pytorch 2.11.0 CUDA 13.0\n"
        "g,elementwise,fp32,,,,100,add,7,PyTorch 2.11.0 CUDA 13.0\n"
        "g,elementwise,fp32,,,,100,add,8,driver 580 CUDA 13.0\n"
        "g,gemm,int8,16,16,64,,linear,8,\n");
    REQUIRE(rows.size() == 6);
    CHECK_FALSE(rows[0].caller.has_plain_tensors());
    CHECK(rows[1].caller.has_plain_tensors());
    CHECK_FALSE(rows[1].caller.framework);
    CHECK(rows[2].caller.framework);
    CHECK_FALSE(rows[5].caller.has_plain_tensors());  // nothing is said: an engine's
    CHECK(std::get<Elementwise>(rows[3].op).any_operands);
    CHECK_FALSE(std::get<Elementwise>(rows[4].op).any_operands);
}

TEST_CASE("TensorRT-LLM alone has kernels for vectors that unpack weights") {
    const auto rows = marked(
        "gpu,op,precision,weight_precision,m,n,k,latency_us,software\n"
        "g,gemm,bf16,int4,1,16,16,5,trtllm 1.0.0\n"
        "g,gemm,bf16,int4,1,16,32,6,TensorRT-LLM 0.12\n"
        "g,gemm,bf16,int4,1,16,48,7,vllm 0.14.0\n"
        "g,gemm,bf16,int4,1,16,64,8,\n");
    REQUIRE(rows.size() == 4);
    CHECK(rows[0].caller.unpacks_on_simt);
    CHECK(rows[1].caller.unpacks_on_simt);
    CHECK_FALSE(rows[2].caller.unpacks_on_simt);
    CHECK_FALSE(rows[3].caller.unpacks_on_simt);
}

TEST_CASE("attention has a cache under an engine, and none where frameworks or libraries were called") {
    const auto rows = marked(
        "gpu,op,precision,batch,heads,head_dim,query_len,kv_len,latency_us,software,kernel\n"
        "g,attention,bf16,1,8,64,128,128,5,vllm 0.14.0,\n"
        "g,attention,bf16,1,8,64,128,128,6,cuDNN 9.19.0 driver 580,\n"
        "g,attention,bf16,1,8,64,128,128,6,pytorch 2.11.0 CUDA 13.0,\n"
        "g,attention,bf16,1,8,64,128,128,7,vllm 0.24.0,an_encoder\n");
    REQUIRE(rows.size() == 4);
    const auto cached = [&](std::size_t row) { return std::get<Attention>(rows[row].op).cached; };
    CHECK(cached(0));
    CHECK_FALSE(cached(1));
    CHECK_FALSE(cached(2));
    CHECK_FALSE(cached(3));
    CHECK_FALSE(rows[3].caller.has_plain_tensors());
}

TEST_CASE("softmax of PyTorch 2.1 keeps no long rows in registers, that of later versions does") {
    const auto rows = marked(
        "gpu,op,precision,rows,cols,latency_us,software\n"
        "g,softmax,fp32,10,2000,5,pytorch 2.1.0 cu121 eager\n"
        "g,softmax,fp32,10,2000,6,pytorch 2.11.0 CUDA 13.0\n"
        "g,softmax,fp32,10,2000,7,\n");
    REQUIRE(rows.size() == 3);
    CHECK_FALSE(rows[0].caller.softmax_in_registers);
    CHECK(rows[1].caller.softmax_in_registers);
    CHECK(rows[2].caller.softmax_in_registers);
}

TEST_CASE("engines say how they go through a tensor that they quantize") {
    const auto rows = marked(
        "gpu,op,precision,rows,cols,function,latency_us,software\n"
        "g,quantize,fp8,10,2000,scale_matrix,5,vllm 0.24.0\n"
        "g,quantize,fp8,10,2000,scale_matrix,5,trtllm 1.0.0\n"
        "g,quantize,fp8,10,2000,scale_matrix,5,trtllm 1.3.0rc20\n"
        "g,quantize,fp8,10,2000,scale_matrix,5,sglang 0.5.14\n");
    REQUIRE(rows.size() == 4);
    const auto schedule = [&](std::size_t row) { return std::get<Quantize>(rows[row].op).schedule; };
    CHECK(schedule(0) == QuantizeSchedule::rows);
    CHECK(schedule(1) == QuantizeSchedule::narrow);
    CHECK(schedule(2) == QuantizeSchedule::tensor);
    CHECK(schedule(3) == QuantizeSchedule::elementwise);
}

TEST_CASE("a source's rows of an engine may convolve the keys of a gated delta rule alone") {
    std::vector<KernelRow> rows =
        read_measurements_text(
            "gpu,op,kernel,phase,precision,batch,query_len,k_heads,k_head_dim,v_heads,v_head_dim,latency_us,software,source\n"
            "g,gated_delta,causal_conv1d_fn,context,bf16,1,8,16,128,32,128,5,trtllm 1.3.0rc20,aiconfigurator-2026\n"
            "g,gated_delta,causal_conv1d_fn,context,bf16,1,8,16,128,32,128,5,sglang 0.5.14,aiconfigurator-2026\n"
            "g,gated_delta,causal_conv1d_fn,context,bf16,1,8,16,128,32,128,5,trtllm 1.3.0rc20,another\n",
            "rows.csv")
            .kernels;
    REQUIRE(rows.size() == 3);
    mark_rows(test::shipped_software(), load_measuring_hosts(test::software_dir() / "hosts.toml"), rows);
    const auto channels = [&](std::size_t row) { return std::get<CausalConvolution>(rows[row].op).channels; };
    CHECK(channels(0) == 16 * 128);
    CHECK(channels(1) == (2 * 16 + 32) * 128);
    CHECK(channels(2) == channels(1));
    CHECK(rows[0].cache == Cache::warm);  // calls on the same operands
    CHECK(rows[2].cache == Cache::cold);
}

TEST_CASE("rows are judged as their callers see the GPU") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    Measurements measurements = read_measurements_text(
        "gpu,op,precision,m,n,k,latency_us,software\n"
        "a100-sxm4-80gb,gemm,int8,3,4096,65536,500,trtllm 1.0.0\n"
        "a100-sxm4-80gb,gemm,int8,3,4096,65536,501,cuBLASLt 13.1.0\n",
        "rows.csv");
    mark_rows(test::shipped_software(), {}, measurements.kernels);
    Predictors predictors;
    predictors.gpu = [&](const std::string&) { return &gpu; };
    const Validation result = judge(measurements, predictors);
    REQUIRE(result.rows.size() == 2);
    CHECK(result.rows[0].predicted != result.rows[1].predicted);
    for (std::size_t i = 0; i < 2; ++i) {
        const KernelRow& row = measurements.kernels[i];
        CHECK(result.rows[i].predicted == predicted_cost(row, as_row_sees(row, gpu)).total.in(us));
    }
}

}  // namespace roofcast
