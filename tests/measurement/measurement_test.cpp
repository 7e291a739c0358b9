#include "roofcast/measurement.hpp"

#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

Measurements read(std::string_view text) {
    return read_measurements_text(text, "rows.csv");
}

/// The reason for which the only row of `text` was skipped.
std::string reason(std::string_view text) {
    const auto found = read(text);
    REQUIRE(found.skipped.rows() == 1);
    CHECK(found.kernels.empty());
    CHECK(found.models.empty());
    CHECK(found.skipped.reasons()[0].file == "rows.csv");
    CHECK(found.skipped.reasons()[0].line == 2);
    return found.skipped.reasons()[0].reason;
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a kernel row is read with its columns in any order") {
    const auto found = read(
        "latency_us,k,n,m,op,gpu,precision,weight_precision,launch,cache,runs,latency_std_us,software,source\n"
        "12.5,64,32,16,gemm,some-gpu,bf16,int8,included,warm,100,0.5,\"torch, eager\",me\n");
    REQUIRE(found.kernels.size() == 1);
    CHECK(found.skipped.empty());
    const auto& row = found.kernels[0];
    CHECK(row.gpu == "some-gpu");
    CHECK(row.op_name == "gemm");
    CHECK(row.latency.in(us) == rel(12.5, 1e-12));
    CHECK(row.launch_included);
    CHECK(row.cache == Cache::warm);
    CHECK(row.runs == 100);
    REQUIRE(row.latency_std);
    CHECK(row.latency_std->in(us) == rel(0.5, 1e-12));
    CHECK(row.origin.software == "torch, eager");
    CHECK(row.origin.line == 2);
    const auto& op = std::get<Gemm>(row.op);
    CHECK(op.batch == 1);
    CHECK(op.m == 16);
    CHECK(op.n == 32);
    CHECK(op.k == 64);
    CHECK(op.precision == Precision::bf16);
    CHECK(op.weight_bits == 8);  // weight-only quantization
    CHECK_FALSE(op.dynamic_quantized);
}

TEST_CASE("a row keeps its library's kernel and the window of its keys") {
    const auto found = read(
        "gpu,op,kernel,precision,heads,head_dim,query_len,kv_len,sliding_window,latency_us\n"
        "g,attention,fa3,bf16,8,64,1,4096,128,5\n"
        "g,attention,fa3,bf16,8,64,1,4096,0,6\n"
        "g,attention,triton,bf16,8,64,1,4096,,6\n");
    REQUIRE(found.kernels.size() == 3);  // rows of two kernels are not one row measured twice
    CHECK(found.kernels[0].kernel == "fa3");
    CHECK(found.kernels[2].kernel == "triton");
    CHECK(std::get<Attention>(found.kernels[0].op).window == 128);
    CHECK(std::get<Attention>(found.kernels[1].op).window == 0);
    CHECK(std::get<Attention>(found.kernels[2].op).window == 0);
    CHECK(reason("gpu,op,precision,heads,head_dim,query_len,kv_len,sliding_window,latency_us\n"
                 "g,attention,bf16,8,64,1,4096,-1,5\n") == "sliding_window -1 is below 0");
}

TEST_CASE("weights are stored in blocks or in 4 bits beside activations of 16, 8 or 4") {
    const auto found = read(
        "gpu,op,precision,weight_precision,m,n,k,tokens,hidden,intermediate,experts,top_k,latency_us\n"
        "g,gemm,fp8,fp8_block,16,256,128,,,,,,5\n"
        "g,moe,fp8,fp8_block,,,,128,512,256,16,2,5\n"
        "g,moe,bf16,mxfp4,,,,128,512,256,16,2,5\n"
        "g,moe,fp8,mxfp4,,,,128,512,256,16,2,5\n"
        "g,moe,fp4,mxfp4,,,,128,512,256,16,2,5\n"
        "g,moe,fp4,fp4,,,,128,512,256,16,2,5\n");
    REQUIRE(found.skipped.empty());
    const auto& gemm = std::get<Gemm>(found.kernels[0].op);
    CHECK(gemm.block_scales);
    CHECK(gemm.weight_bits == 8);
    CHECK_FALSE(gemm.unpacks_weights());
    CHECK(name(*found.kernels[0].weights) == "fp8_block");
    const auto moe = [&](std::size_t row) { return std::get<Moe>(found.kernels[row].op); };
    CHECK(moe(1).block_scales);
    CHECK_FALSE(moe(2).block_scales);
    for (const std::size_t row : {2, 3, 4}) CHECK(moe(row).weight_bits == 4.25);  // 4 and 8 / 32
    CHECK(moe(2).precision == Precision::bf16);
    CHECK(moe(3).precision == Precision::fp8);
    CHECK(moe(5).weight_bits == 4);
}

TEST_CASE("quantizing a tensor and products of latent attention are operators of their own") {
    const auto found = read(
        "gpu,op,function,precision,rows,cols,tokens,heads,latency_us\n"
        "g,quantize,compute_scale,fp8,16,512,,,5\n"
        "g,quantize,scale_matrix,fp8,16,512,,,6\n"
        "g,mla_bmm,mla_gen_pre,bf16,,,7,16,5\n"
        "g,mla_bmm,mla_gen_post,fp8,,,7,16,5\n");
    REQUIRE(found.skipped.empty());
    const auto& search = std::get<Quantize>(found.kernels[0].op);
    CHECK(search.kind == QuantizeKind::compute_scale);
    CHECK(search.rows == 16);
    CHECK(search.cols == 512);
    CHECK(search.from == Precision::bf16);
    CHECK(search.to == Precision::fp8);
    CHECK(std::get<Quantize>(found.kernels[1].op).kind == QuantizeKind::scale_matrix);
    const auto& before = std::get<Gemm>(found.kernels[2].op);
    CHECK(before.batch == 16);
    CHECK(before.m == 7);
    CHECK(before.n == 512);  // 128 to 512 a head
    CHECK(before.k == 128);
    const auto& after = std::get<Gemm>(found.kernels[3].op);
    CHECK(after.n == 128);
    CHECK(after.k == 512);
    CHECK(after.weight_bits == 8);
    CHECK(reason("gpu,op,precision,rows,cols,latency_us\ng,quantize,fp8,16,512,5\n") == "function is missing");
}

TEST_CASE("latent attention has keys of each head in prompts, and one key for all heads, which holds the value, in decoding") {
    const auto found = read(
        "gpu,op,function,precision,kv_precision,batch,heads,query_len,kv_len,latency_us\n"
        "g,mla,mla_context,bf16,fp8,2,16,100,100,5\n"
        "g,mla,mla_generation,bf16,fp8,2,16,1,100,6\n");
    REQUIRE(found.skipped.empty());
    const auto& prompt = std::get<Attention>(found.kernels[0].op);
    CHECK(prompt.kv_heads == 16);
    CHECK(prompt.head_dim == 192);  // 128, and 64 that are rotated
    CHECK(prompt.value_width() == 128);
    CHECK_FALSE(prompt.values_in_keys);
    const auto& decoding = std::get<Attention>(found.kernels[1].op);
    CHECK(decoding.kv_heads == 1);
    CHECK(decoding.head_dim == 576);
    CHECK(decoding.value_width() == 512);
    CHECK(decoding.values_in_keys);
    CHECK(decoding.kv_precision == Precision::fp8);
    CHECK(reason("gpu,op,function,precision,heads,query_len,kv_len,latency_us\ng,mla,mla_generation,bf16,8,9,5,5\n") ==
          "causal attention has more queries than keys");
}

TEST_CASE("the shipped rows of several engines are read without a skipped one") {
    const Measurements all = read_measurements({test::source_dir() / "validation_data" / "kernels_by_family"});
    CHECK(all.skipped.empty());
    CHECK(all.kernels.size() > 20'000);
    for (const KernelRow& row : all.kernels) {
        if (row.op_name != "quantize" && !row.op_name.starts_with("mla") && row.op_name != "mhc") CHECK_FALSE(row.kernel.empty());
    }
}

TEST_CASE("experts are balanced where a row says so, else chosen at random") {
    const auto found = read(
        "gpu,op,precision,function,tokens,hidden,intermediate,experts,top_k,latency_us\n"
        "g,moe,bf16,balanced,128,512,256,16,2,5\n"
        "g,moe,bf16,,128,512,256,16,2,6\n");
    REQUIRE(found.kernels.size() == 2);
    CHECK(std::get<Moe>(found.kernels[0].op).balanced);
    CHECK(std::get<Moe>(found.kernels[0].op).imbalance == 0);
    CHECK_FALSE(std::get<Moe>(found.kernels[1].op).balanced);
}

TEST_CASE("every operator of the format becomes its struct") {
    const auto found = read(
        "gpu,op,precision,kv_precision,function,batch,heads,kv_heads,head_dim,query_len,kv_len,causal,in_channels,height,width,"
        "out_channels,kernel_size,stride,padding,groups,elements,rows,cols,tokens,hidden,intermediate,experts,top_k,tensor_parallel,"
        "expert_parallel,gpus,bytes,latency_us\n"
        "g,attention,bf16,fp8,,2,8,2,128,16,64,1,,,,,,,,,,,,,,,,,,,,,5\n"
        "g,conv2d,fp32,,,4,,,,,,,3,224,220,64,7,2,3,1,,,,,,,,,,,,,5\n"
        "g,elementwise,fp32,,add,,,,,,,,,,,,,,,,1000,,,,,,,,,,,,5\n"
        "g,elementwise,fp32,,pow,,,,,,,,,,,,,,,,1000,,,,,,,,,,,,5\n"
        "g,elementwise,fp32,,pow_scalar,,,,,,,,,,,,,,,,1000,,,,,,,,,,,,5\n"
        "g,softmax,fp32,,,,,,,,,,,,,,,,,,,10,20,,,,,,,,,,5\n"
        "g,moe,fp8,,power_law_1.2,,,,,,,,,,,,,,,,,,,128,512,256,16,2,4,2,,,5\n"
        "g,all_reduce,fp16,,,,,,,,,,,,,,,,,,,,,,,,,,,,8,1024,5\n"
        "g,memcpy_d2h,fp16,,,,,,,,,,,,,,,,,,,,,,,,,,,,,4096,5\n");
    REQUIRE(found.skipped.empty());
    REQUIRE(found.kernels.size() == 9);
    const auto& attention = std::get<Attention>(found.kernels[0].op);
    CHECK(attention.value_dim == 128);
    CHECK(attention.causal);
    CHECK(attention.kv_precision == Precision::fp8);
    const auto& conv = std::get<Conv2d>(found.kernels[1].op);
    CHECK(conv.kernel_w == 7);
    CHECK(conv.out_width() == 110);  // (220 + 6 − 6 − 1) / 2 + 1
    const auto& elementwise = std::get<Elementwise>(found.kernels[2].op);
    CHECK(elementwise.reads == 2);
    CHECK(elementwise.writes == 1);
    CHECK(elementwise.instructions == 0);
    CHECK(std::get<Elementwise>(found.kernels[3].op).instructions == pow_instructions);
    CHECK(std::get<Elementwise>(found.kernels[4].op).reads == 1);
    CHECK(std::get<Elementwise>(found.kernels[4].op).instructions == 0);  // a product
    CHECK(std::get<RowWise>(found.kernels[5].op).kind == RowOp::softmax);
    const auto& moe = std::get<Moe>(found.kernels[6].op);
    CHECK(moe.imbalance == rel(1.2, 1e-12));
    CHECK_FALSE(moe.balanced);
    CHECK(moe.weight_bits == 8);
    CHECK(moe.expert_parallel == 2);
    CHECK(std::get<Collective>(found.kernels[7].op).bytes.in(byte) == 1024);
    CHECK(std::get<Copy>(found.kernels[8].op).kind == CopyKind::d2h);
}

TEST_CASE("a model row is read with what the source says and no more") {
    const auto found = read(
        "gpu,model,precision,weight_precision,batch,gpus,phase,execution,metric,value,prompt_tokens\n"
        "g,llama,fp16,q4_k_m,1,4,decode,cuda_graph,tokens_per_s,35.5,0\n"
        "g,odd,fp16,exl2-2.5-bpw,1,,decode,,tokens_per_s,40,\n");
    REQUIRE(found.models.size() == 2);
    const auto& row = found.models[0];
    CHECK(row.weights.value().bits == rel(4.85, 1e-12));
    CHECK(row.kv_precision == Precision::fp16);
    CHECK(row.gpus == 4);
    CHECK(row.parallel.gpus() == 1);
    CHECK(row.metric == Metric::tokens_per_s);
    CHECK(row.value == 35.5);
    CHECK_FALSE(row.gmacs);
    CHECK(found.models[1].weights.value().bits == 2.5);
}

TEST_CASE("a row says how PCIe joined the GPUs of its machine") {
    const auto kernels = read(
        "gpu,op,precision,gpus,bytes,pcie,latency_us\ng,all_reduce,fp16,4,1024,switch,10\ng,all_reduce,fp16,4,1024,host,20\n"
        "g,all_reduce,fp16,4,1024,,30\n");
    REQUIRE(kernels.kernels.size() == 3);  // three machines, not repeats of one measurement
    CHECK(std::get<Collective>(kernels.kernels[0].op).pcie == PcieTopology::switched);
    CHECK(std::get<Collective>(kernels.kernels[1].op).pcie == PcieTopology::host);
    CHECK_FALSE(std::get<Collective>(kernels.kernels[2].op).pcie);
    const auto models =
        read("gpu,model,precision,batch,gpus,pcie,metric,value\ng,m,fp16,1,4,switch,latency_ms,5\ng,m,fp16,2,4,,latency_ms,5\n");
    REQUIRE(models.models.size() == 2);
    CHECK(models.models[0].pcie == PcieTopology::switched);
    CHECK_FALSE(models.models[1].pcie);
    const std::string wrong = reason("gpu,op,precision,gpus,bytes,pcie,latency_us\ng,all_reduce,fp16,4,1024,bridge,10\n");
    for (const char* part : {"pcie", "bridge", "host", "switch"}) CHECK(contains(wrong, part));
}

TEST_CASE("rows that cannot be used say why") {
    const std::string gemm = "gpu,op,precision,m,n,k,latency_us\n";
    CHECK(contains(reason(gemm + "g,gem,fp16,1,2,3,4\n"), "unknown op 'gem'; did you mean gemm"));
    CHECK(contains(reason(gemm + "g,gemm,fp17,1,2,3,4\n"), "unknown precision"));
    CHECK(contains(reason(gemm + "g,gemm,fp16,1,,3,4\n"), "n is missing"));
    CHECK(contains(reason(gemm + "g,gemm,fp16,1,0,3,4\n"), "n 0 is below 1"));
    CHECK(contains(reason(gemm + "g,gemm,fp16,1,2.5,3,4\n"), "not a whole number"));
    CHECK(contains(reason(gemm + "g,gemm,fp16,1,2,3,0\n"), "not positive"));
    CHECK(contains(reason(gemm + "g,gemm,fp16,1,2,3,-4\n"), "not positive"));
    CHECK(contains(reason(gemm + "g,gemm,fp16,1,2,3,nan\n"), "not finite"));
    CHECK(contains(reason(gemm + "g,gemm,fp16,1,2,3,fast\n"), "not a number"));
    CHECK(contains(reason(gemm + "g,gemm,fp16,1,2,3,4 us\n"), "not a number"));
    CHECK(contains(reason(gemm + "g,gemm,fp16,1,2,3,4e9\n"), "longer than an hour"));
    CHECK(contains(reason(gemm + "g,gemm,fp16,1,2,3,4e-5\n"), "shorter than any kernel"));
    CHECK(contains(reason(gemm + "g,gemm,fp16,1e12,1e12,1e12,4\n"), "multiply to more than 2^60"));
    CHECK(contains(reason("gpu,op,precision,rows,cols,latency_us\ng,softmax,fp16,1e13,1e13,4\n"), "multiply to more than 2^60"));
    CHECK(contains(reason(gemm + "g,gemm,fp16,1,2,3\n"), "6 fields, the header 7"));
    CHECK(contains(reason(gemm + ",gemm,fp16,1,2,3,4\n"), "gpu is missing"));
    CHECK(contains(reason(gemm + "g,,fp16,1,2,3,4\n"), "neither op nor model"));
    const std::string model = "gpu,model,precision,batch,metric,value\n";
    CHECK(contains(reason(model + "g,m,fp16,1,latency_s,4\n"), "unknown metric 'latency_s'; did you mean latency_ms"));
    CHECK(contains(reason(model + "g,m,fp16,1,latency_ms,0\n"), "not positive"));
    CHECK(contains(reason(model + "g,m,fp16,1,latency_ms,1e10\n"), "too large"));
}

TEST_CASE("a misspelt column is an error that names the right one") {
    try {
        read("gpu,op,precision,m,n,k,latency_ms_\n");
        FAIL("no error");
    } catch (const Error& e) {
        CHECK(e.detail().line == 1);
        CHECK(contains(e.what(), "latency_us"));
    }
    CHECK_THROWS_WITH_AS(static_cast<void>(read("gpu;op;precision\n")), doctest::Contains("not separated by commas; found ';'"), Error);
    CHECK_THROWS_WITH_AS(static_cast<void>(read("gpu\top\n")), doctest::Contains("found tabs"), Error);
    CHECK_THROWS_AS(read("gpu,op,gpu\n"), Error);
    CHECK_THROWS_AS(read("gpu,batch\n"), Error);
    CHECK_THROWS_AS(read("# only a comment\n"), Error);
}

TEST_CASE("duplicates are merged by median with their spread kept") {
    const auto found = read(
        "gpu,op,precision,m,n,k,latency_us,runs\n"
        "g,gemm,fp16,1,2,3,10,5\n"
        "g,gemm,fp16,1,2,4,99,5\n"
        "g,gemm,fp16,1,2,3,14,6\n"
        "g,gemm,fp16,1,2,3,11,7\n");
    REQUIRE(found.kernels.size() == 2);
    CHECK(found.kernels[0].latency.in(us) == rel(11, 1e-12));
    CHECK(found.kernels[0].repeats.rows == 3);
    CHECK(found.kernels[0].repeats.spread == rel(4.0 / 11, 1e-12));
    CHECK(found.kernels[0].origin.line == 2);
    CHECK(found.kernels[1].repeats.rows == 1);
    CHECK(found.kernels[1].repeats.spread == 0);
}

TEST_CASE("equal rows too far apart to be of one thing have no median") {
    const std::string header = "gpu,op,precision,m,n,k,latency_us\n", row = "t4,gemm,fp16,4096,4096,4096,";
    const auto found =
        read_measurements_text(header + row + "6000\n" + row + "6.1\n" + row + "6200\nt4,gemm,fp16,64,64,64,9\n", "rows.csv");
    REQUIRE(found.kernels.size() == 1);
    CHECK(found.kernels[0].latency.in(us) == 9);
    REQUIRE(found.skipped.rows() == 1);
    CHECK(found.skipped.reasons()[0].line == 2);
    CHECK(found.skipped.reasons()[0].reason == "3 equal rows measure from 6.1 to 6200: are some in other units?");
}

TEST_CASE("files and folders are read, what does not exist is an error") {
    const test::TemporaryFile file("a.csv", "gpu,op,precision,rows,cols,latency_us\ng,layernorm,fp16,8,8,3\n");
    CHECK(read_measurements({file.path()}).kernels.size() == 1);
    CHECK(read_measurements({file.path().parent_path()}).kernels.size() == 1);
    CHECK_THROWS_AS(read_measurements({file.path().parent_path() / "none.csv"}), Error);
}

TEST_CASE("every shipped measurement file is read without a skipped row") {
    const auto found =
        read_measurements({test::source_dir() / "validation_data" / "kernels", test::source_dir() / "validation_data" / "models"});
    CHECK(found.kernels.size() > 27000);
    CHECK(found.models.size() > 4500);
    for (const auto& row : found.skipped.reasons()) FAIL_CHECK(row.file << ":" << row.line << ": " << row.reason);
}

TEST_CASE("every row that no fit has seen is read") {
    const auto folder = test::source_dir() / "validation_data";
    const auto found = read_measurements({folder / "unseen", folder / "serving"});
    CHECK(found.kernels.size() == 2081 + 466);
    CHECK(found.models.size() ==
          8 + 84 + 37 + 248 + 112 + 72 + 36 + 9 + 2 * 1657);  // 1,872 loads, of which some are alike but for their date
    CHECK(found.skipped.empty());
}

TEST_CASE("rows of served checkpoints have a column for each metric, their formats and degrees of experts") {
    const std::string header =
        "gpu,model,phase,software,precision,dense_format,expert_format,mode,prompt_tokens,output_tokens,concurrency,tensor_parallel,"
        "attention_data_parallel,expert_tensor_parallel,expert_parallel,ttft_ms,tpot_ms,measured\n";
    const Measurements m =
        read_measurements_text(header +
                                   "h200,m,serve,sglang 0.5.9,fp8,fp8,fp4,aggregated,1024,512,16,2,,4,1,200.5,11,2026-04-21\n"
                                   "h200,m,serve,sglang 0.5.9,,,,,1024,512,4,0,0,0,0,,9,\n"
                                   "h200,m,serve,sglang 0.5.9,,,,disaggregated,1024,512,4,1,1,1,1,,9,\n",
                               "s.csv");
    REQUIRE(m.models.size() == 3);
    CHECK(m.models[0].metric == Metric::ttft_ms);
    CHECK(m.models[0].value == 200.5);
    CHECK(m.models[1].metric == Metric::tpot_ms);
    const ModelRow &first = m.models[0], &bare = m.models[2];
    CHECK(first.served->requests == 160);
    CHECK(first.checkpoint->precision == Precision::fp8);
    CHECK_FALSE(first.kv_precision);
    CHECK(first.attention_data_parallel == 2);  // experts lie on four GPUs, attention is split over two
    CHECK(first.execution == Execution::cuda_graph);
    CHECK_FALSE(bare.precision);
    CHECK(bare.parallel.tensor == 1);
    CHECK(bare.attention_data_parallel == 1);
    CHECK(roofcast::test::contains(m.skipped.reasons().at(0).reason, "prefill and decode on separate GPUs"));
    const Measurements apart = read_measurements_text(
        "gpu,model,phase,software,mode,prompt_tokens,output_tokens,concurrency,prefill_workers,prefill_tensor_parallel,"
        "prefill_attention_data_parallel,prefill_expert_parallel,decode_workers,decode_tensor_parallel,decode_attention_data_parallel,"
        "decode_expert_parallel,ttft_ms,tpot_ms\n"
        "gb200,m,serve,trtllm 1.1.0,disaggregated,1024,1024,4,1,1,4,4,4,8,1,8,195.5,5.3\n",
        "s.csv");
    CHECK(apart.models.empty());
    CHECK(roofcast::test::contains(apart.skipped.reasons().at(0).reason, "prefill and decode on separate GPUs"));
}

TEST_CASE("rows of serving engines say how requests came and what the engine was set to") {
    const std::string header =
        "gpu,model,precision,phase,prompt_tokens,output_tokens,requests,rate_per_s,concurrency,max_seqs,max_tokens,memory_fraction,"
        "admission,metric,value\n";
    const auto rows_of = [&](const std::string& rows) { return read_measurements_text(header + rows, "s.csv"); };
    const Measurements m = rows_of(
        "h100,llama-3.1-8b,fp8,serve,128,64,300,,,512,4096,0.95,output,tokens_per_s,100\n"
        "h100,llama-3.1-8b,fp8,serve,128,64,300,2.5,,,,,,ttft_ms,30\n"
        "h100,llama-3.1-8b,fp8,serve,128,64,300,,16,,,,,tpot_ms,9\n");
    REQUIRE(m.models.size() == 3);
    const ServedLoad &flood = *m.models[0].served, &rate = *m.models[1].served, &users = *m.models[2].served;
    CHECK(flood.users == 300);
    CHECK(flood.settings.max_sequences == 512);
    CHECK(flood.settings.max_tokens == 4096);
    CHECK(flood.settings.memory_fraction == 0.95);
    CHECK(flood.settings.admission == Admission::output);
    CHECK(rate.rate_per_s == 2.5);
    CHECK_FALSE(rate.settings.admission);  // the engine's
    CHECK(users.users == 16);
    const auto why_not = [&](const std::string& row) { return rows_of(row).skipped.reasons().at(0).reason; };
    CHECK(roofcast::test::contains(why_not("h100,llama-3.1-8b,fp8,serve,128,64,,,,,,,,ttft_ms,30\n"), "requests"));
    CHECK(roofcast::test::contains(why_not("h100,llama-3.1-8b,fp8,serve,128,,300,,,,,,,ttft_ms,30\n"), "output_tokens"));
    CHECK(roofcast::test::contains(why_not("h100,llama-3.1-8b,fp8,serve,128,64,300,2,16,,,,,ttft_ms,30\n"), "both"));
    CHECK(roofcast::test::contains(why_not("h100,llama-3.1-8b,fp8,serve,128,64,300,,,,,1.5,,ttft_ms,30\n"), "memory_fraction"));
    CHECK(roofcast::test::contains(why_not("h100,llama-3.1-8b,fp8,serve,128,64,300,,,9000,8000,,,ttft_ms,30\n"), "max_seqs"));
    CHECK(roofcast::test::contains(why_not("h100,llama-3.1-8b,fp8,serve,128,64,999999999,,,,,,,ttft_ms,30\n"), "too large"));
}
