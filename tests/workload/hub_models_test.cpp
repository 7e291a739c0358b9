// Published figures of 86 configurations: what roofcast counts of each against what its publisher states.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "prediction/shapes.hpp"
#include "roofcast/decoder_figures.hpp"
#include "roofcast/op_graph.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::models_dir;
using roofcast::test::rel;

namespace {

/// Totals: counts in names, else of model cards and technical reports; 0: none is stated, or the name is no count (Qwen3-VL names leave
/// out the tower, Kimi K2 says 1 T). Checkpoint: total of the safetensors files as Hugging Face counts it, for quantized copies that of
/// the original; 0: not known. Active: of names, cards and reports, which count both tables of words, one or none; 0: a dense model, or
/// not stated. KV: bytes of one more token, as layers × elements × bytes: in bf16, or in fp8 where the checkpoint has scales for it.
/// DeepSeek-V4's are those of its report's 10 % of V3.2: 9848 bytes a token make 9.62 GiB at 2^20 tokens.
struct Row {
    const char* hub_id;
    double total, checkpoint, active, kv_bytes;
};

constexpr Row rows[] = {
    {"deepseek-ai/DeepSeek-R1", 671e9, 684489845504, 37e9, 61 * (512 + 64) * 2},
    {"deepseek-ai/DeepSeek-V3", 671e9, 684489845504, 37e9, 61 * (512 + 64) * 2},
    {"deepseek-ai/DeepSeek-V3.2", 671e9, 685355329792, 37e9, 61 * (512 + 64 + 128) * 2},
    {"deepseek-ai/DeepSeek-V4-Flash", 284e9, 290944616402, 13e9, (21 * (512 + 128) / 4.0 + 20 * 512 / 128.0) * 2},
    {"deepseek-ai/DeepSeek-V4-Pro", 1600e9, 1598839674782, 49e9, (30 * (512 + 128) / 4.0 + 31 * 512 / 128.0) * 2},
    {"google/gemma-4-26B-A4B", 25.2e9, 0, 3.8e9, 5 * 2 * 2 * 512 * 2},
    {"meta-llama/Llama-4-Maverick-17B-128E-Instruct", 400e9, 0, 17e9, 12 * 2 * 8 * 128 * 2},
    {"meta-llama/Llama-4-Scout-17B-16E-Instruct", 109e9, 0, 17e9, 12 * 2 * 8 * 128 * 2},
    {"meta-llama/Meta-Llama-3.1-405B", 405e9, 0, 0, 126 * 2 * 8 * 128 * 2},
    {"meta-llama/Meta-Llama-3.1-70B", 70.6e9, 0, 0, 80 * 2 * 8 * 128 * 2},
    {"meta-llama/Meta-Llama-3.1-8B", 8.03e9, 0, 0, 32 * 2 * 8 * 128 * 2},
    {"MiniMaxAI/MiniMax-M2.5", 229e9, 228703644928, 0, 62 * 2 * 8 * 128 * 2},
    {"MiniMaxAI/MiniMax-M2.7", 229e9, 228689764864, 0, 62 * 2 * 8 * 128 * 2},
    {"MiniMaxAI/MiniMax-M3", 428e9, 427040140160, 0, (60 * 2 * 4 * 128 + 57 * 128) * 2},
    {"mistralai/Mixtral-8x22B-v0.1", 141e9, 140620634112, 39e9, 56 * 2 * 8 * 128 * 2},
    {"mistralai/Mixtral-8x7B-v0.1", 46.7e9, 46702792704, 12.9e9, 32 * 2 * 8 * 128 * 2},
    {"moonshotai/Kimi-K2-Instruct", 0, 1026408235864, 32e9, 61 * (512 + 64) * 2},
    {"moonshotai/Kimi-K2.5", 0, 0, 32e9, 61 * (512 + 64) * 2},
    {"moonshotai/Kimi-K3", 2800e9, 0, 104e9, 24 * (512 + 64) * 2},
    {"nvidia/DeepSeek-V3.1-NVFP4", 671e9, 684489845504, 37e9, 61 * (512 + 64)},
    {"nvidia/DeepSeek-V3.2-NVFP4", 671e9, 685355329792, 37e9, 61 * (512 + 64 + 128)},
    {"nvidia/DeepSeek-V4-Flash-NVFP4", 284e9, 290944616402, 13e9, (21 * (512 + 128) / 4.0 + 20 * 512 / 128.0) * 2},
    {"nvidia/DeepSeek-V4-Pro-NVFP4", 1600e9, 1598839674782, 49e9, (30 * (512 + 128) / 4.0 + 31 * 512 / 128.0) * 2},
    {"nvidia/Gemma-4-26B-A4B-NVFP4", 25.2e9, 0, 3.8e9, 5 * 2 * 2 * 512},
    {"nvidia/Gemma-4-31B-IT-NVFP4", 30.7e9, 0, 0, 10 * 2 * 4 * 512},
    {"nvidia/GLM-5-NVFP4", 744e9, 753864139008, 40e9, 78 * (512 + 64 + 128)},
    {"nvidia/GLM-5.1-NVFP4", 744e9, 753864139008, 40e9, 78 * (512 + 64 + 128)},
    {"nvidia/GLM-5.2-NVFP4", 744e9, 753329940480, 40e9, (78 * (512 + 64) + 21 * 128)},
    {"nvidia/Kimi-K2.5-NVFP4", 0, 0, 32e9, 61 * (512 + 64)},
    {"nvidia/Kimi-K2.6-NVFP4", 0, 0, 32e9, 61 * (512 + 64)},
    {"nvidia/Kimi-K2.7-Code-NVFP4", 0, 0, 32e9, 61 * (512 + 64)},
    {"nvidia/Llama-3.1-70B-Instruct-FP8", 70.6e9, 0, 0, 80 * 2 * 8 * 128},
    {"nvidia/Llama-3_3-Nemotron-Super-49B-v1", 49e9, 0, 0, 49 * 2 * 8 * 128 * 2},
    {"nvidia/MiniMax-M2.5-NVFP4", 229e9, 228689764864, 0, 62 * 2 * 8 * 128},
    {"nvidia/MiniMax-M2.7-NVFP4", 229e9, 228689764864, 0, 62 * 2 * 8 * 128},
    {"nvidia/MiniMax-M3-NVFP4", 428e9, 427040140160, 0, (60 * 2 * 4 * 128 + 57 * 128) * 2},
    {"nvidia/Nemotron-H-56B-Base-8K", 56e9, 0, 0, 10 * 2 * 8 * 128 * 2},
    {"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 31.6e9, 31577937344, 3.2e9, 6 * 2 * 2 * 128 * 2},
    {"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", 31.6e9, 31577937344, 3.2e9, 6 * 2 * 2 * 128},
    {"nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8", 120e9, 123611012096, 12e9, 8 * 2 * 2 * 128},
    {"nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", 120e9, 123611012096, 12e9, 8 * 2 * 2 * 128},
    {"nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", 550e9, 0, 55e9, 12 * 2 * 2 * 128 * 2},
    {"nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8", 550e9, 0, 55e9, 12 * 2 * 2 * 128},
    {"nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4", 550e9, 0, 55e9, 12 * 2 * 2 * 128},
    {"nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4", 31.6e9, 32913263168, 3.2e9, 6 * 2 * 2 * 128},
    {"nvidia/Qwen3-235B-A22B-NVFP4", 235e9, 235093634560, 22e9, 94 * 2 * 4 * 128},
    {"nvidia/Qwen3.5-122B-A10B-NVFP4", 122e9, 0, 10e9, 12 * 2 * 2 * 256},
    {"nvidia/Qwen3.5-397B-A17B-NVFP4", 397e9, 403397928944, 17e9, 15 * 2 * 2 * 256},
    {"nvidia/Qwen3.6-27B-NVFP4", 27e9, 0, 0, 16 * 2 * 4 * 256},
    {"nvidia/Qwen3.6-35B-A3B-NVFP4", 35e9, 0, 3e9, 10 * 2 * 2 * 256},
    {"openai/gpt-oss-120b", 116.83e9, 116829156672, 5.13e9, 18 * 2 * 8 * 64 * 2},
    {"openai/gpt-oss-20b", 20.91e9, 20914757184, 3.61e9, 12 * 2 * 8 * 64 * 2},
    {"Qwen/Qwen3-0.6B", 0.6e9, 0, 0, 28 * 2 * 8 * 128 * 2},
    {"Qwen/Qwen3-1.7B", 1.7e9, 0, 0, 28 * 2 * 8 * 128 * 2},
    {"Qwen/Qwen3-235B-A22B", 235e9, 235093634560, 22e9, 94 * 2 * 4 * 128 * 2},
    {"Qwen/Qwen3-235B-A22B-FP8", 235e9, 235107904512, 22e9, 94 * 2 * 4 * 128 * 2},
    {"Qwen/Qwen3-30B-A3B", 30.5e9, 30532122624, 3.3e9, 48 * 2 * 4 * 128 * 2},
    {"Qwen/Qwen3-30B-A3B-FP8", 30.5e9, 30533947392, 3.3e9, 48 * 2 * 4 * 128 * 2},
    {"Qwen/Qwen3-32B", 32.8e9, 0, 0, 64 * 2 * 8 * 128 * 2},
    {"Qwen/Qwen3-32B-FP8", 32.8e9, 0, 0, 64 * 2 * 8 * 128 * 2},
    {"Qwen/Qwen3-32B-FP8-Static-PerTensor", 32.8e9, 0, 0, 64 * 2 * 8 * 128},
    {"Qwen/Qwen3-8B", 8.2e9, 0, 0, 36 * 2 * 8 * 128 * 2},
    {"Qwen/Qwen3-Coder-480B-A35B-Instruct", 480e9, 480154875392, 35e9, 62 * 2 * 8 * 128 * 2},
    {"Qwen/Qwen3-VL-235B-A22B-Instruct", 235e9, 0, 22e9, 94 * 2 * 4 * 128 * 2},
    {"Qwen/Qwen3-VL-2B-Instruct", 0, 2127532032, 0, 28 * 2 * 8 * 128 * 2},
    {"Qwen/Qwen3-VL-30B-A3B-Instruct", 31e9, 31070754032, 0, 48 * 2 * 4 * 128 * 2},
    {"Qwen/Qwen3-VL-32B-Instruct", 33e9, 0, 0, 64 * 2 * 8 * 128 * 2},
    {"Qwen/Qwen3-VL-32B-Thinking", 33e9, 0, 0, 64 * 2 * 8 * 128 * 2},
    {"Qwen/Qwen3-VL-4B-Instruct", 0, 4437815808, 0, 36 * 2 * 8 * 128 * 2},
    {"Qwen/Qwen3-VL-8B-Instruct", 0, 8767123696, 0, 36 * 2 * 8 * 128 * 2},
    {"Qwen/Qwen3.5-122B-A10B", 122e9, 0, 10e9, 12 * 2 * 2 * 256 * 2},
    {"Qwen/Qwen3.5-27B", 27e9, 0, 0, 16 * 2 * 4 * 256 * 2},
    {"Qwen/Qwen3.5-35B-A3B", 35e9, 0, 3e9, 10 * 2 * 2 * 256 * 2},
    {"Qwen/Qwen3.5-397B-A17B", 397e9, 403397928944, 17e9, 15 * 2 * 2 * 256 * 2},
    {"sgl-project/DeepSeek-V4-Flash-FP8", 284e9, 290944616402, 13e9, (21 * (512 + 128) / 4.0 + 20 * 512 / 128.0) * 2},
    {"sgl-project/DeepSeek-V4-Pro-FP8", 1600e9, 1598839674782, 49e9, (30 * (512 + 128) / 4.0 + 31 * 512 / 128.0) * 2},
    {"stepfun-ai/Step-3.7-Flash", 196e9, 0, 11e9, 12 * 2 * 8 * 128 * 2},
    {"stepfun-ai/Step-3.7-Flash-FP8", 196e9, 0, 11e9, 12 * 2 * 8 * 128 * 2},
    {"XiaomiMiMo/MiMo-7B-Base", 0, 0, 0, 36 * 2 * 8 * 128 * 2},
    {"XiaomiMiMo/MiMo-V2-Flash", 309e9, 0, 15e9, 9 * 4 * (192 + 128) * 2},
    {"zai-org/GLM-5", 744e9, 753864139008, 40e9, 78 * (512 + 64 + 128) * 2},
    {"zai-org/GLM-5-FP8", 744e9, 753910024032, 40e9, 78 * (512 + 64 + 128) * 2},
    {"zai-org/GLM-5.1", 744e9, 753864139008, 40e9, 78 * (512 + 64 + 128) * 2},
    {"zai-org/GLM-5.1-FP8", 744e9, 753910024032, 40e9, 78 * (512 + 64 + 128) * 2},
    {"zai-org/GLM-5.2", 744e9, 753329940480, 40e9, (78 * (512 + 64) + 21 * 128) * 2},
    {"zai-org/GLM-5.2-FP8", 744e9, 753329940480, 40e9, (78 * (512 + 64) + 21 * 128) * 2},
};

/// Half a unit of the last digit of a figure in billions that is stated with up to two decimals.
double rounding(double figure) {
    constexpr double giga = 1e9, half = 0.5;
    for (const double unit : {1.0, 0.1}) {
        const double units = figure / giga / unit;
        if (std::abs(units - std::round(units)) < 1e-6) return half * unit * giga;
    }
    return half * 0.01 * giga;
}

const DecoderLlm& decoder_of(const Workload& workload) {
    const DecoderLlm* decoder = language_model(workload);
    REQUIRE(decoder != nullptr);
    return *decoder;
}

}  // namespace

TEST_CASE("parameters of 86 published configurations are those that publishers state") {
    CHECK(std::size(rows) == 86);
    for (const Row& row : rows) {
        CAPTURE(std::string(row.hub_id));
        const Workload workload = find_workload(models_dir(), row.hub_id);
        const DecoderLlm& decoder = decoder_of(workload);
        const DecoderParameters parameters = decoder_parameters(decoder);
        const double all = total_parameters(forward_graph(workload, {}, {}));
        if (row.total > 0) CHECK(parameters.all == rel(row.total, std::max(0.02, rounding(row.total) / row.total)));
        if (row.checkpoint > 0) CHECK(all + parameters.prediction == rel(row.checkpoint, 0.005));
    }
}

TEST_CASE("active parameters are those that publishers state, with both tables of words, one or none") {
    for (const Row& row : rows) {
        if (row.active == 0) continue;
        CAPTURE(std::string(row.hub_id));
        const DecoderLlm decoder = decoder_of(find_workload(models_dir(), row.hub_id));
        const DecoderParameters p = decoder_parameters(decoder);
        const double table = decoder.tied_embeddings ? p.tables : p.tables / 2;
        const double off =
            std::min({std::abs(p.active - row.active), std::abs(p.active + (decoder.tied_embeddings ? 0 : table) - row.active),
                      std::abs(p.active - table - row.active)});
        CHECK(off <= std::max(0.02 * row.active, rounding(row.active)));
    }
}

TEST_CASE("KV bytes of a token are those that layers of each kind keep") {
    for (const Row& row : rows) {
        CAPTURE(std::string(row.hub_id));
        const Workload workload = find_workload(models_dir(), row.hub_id);
        Run run;
        run.kv_precision = workload.native_cache.value_or(Precision::bf16);
        CHECK(cache_per_token(decoder_of(workload), run).in(byte) == rel(row.kv_bytes, 1e-12));
    }
}

TEST_CASE("states and windows are kept once a sequence") {
    Run run{.precision = Precision::bf16};
    // 45 layers of 64 heads with a state of 128 × 128 in fp32, and three tokens of 2 · 16 · 128 + 64 · 128 channels in bf16.
    const Workload qwen = find_workload(models_dir(), "qwen/qwen3.5-397b-a17b");
    CHECK(fixed_cache(decoder_of(qwen), run).in(byte) == rel(45.0 * (64 * 128 * 128 * 4 + (2 * 16 + 64) * 128 * 3 * 2), 1e-12));
    // 18 layers with a window of 128 tokens of 2 · 8 · 64 elements.
    CHECK(fixed_cache(decoder_of(find_workload(models_dir(), "openai/gpt-oss-120b")), run).in(byte) ==
          rel(18.0 * 128 * 2 * 8 * 64 * 2, 1e-12));
    // A sequence shorter than the windows fills no window; of a longer one the rest grows with each token.
    const DecoderLlm& decoder = decoder_of(qwen);
    CHECK((kv_cache_size(decoder, run, 5000) - kv_cache_size(decoder, run, 4000)).in(byte) == rel(1000.0 * 15 * 2 * 2 * 256 * 2, 1e-9));
    // Each of 8 GPUs keeps an eighth of the heads, and at least one KV head.
    Run split = run;
    split.parallel.tensor = 8;
    CHECK(fixed_cache(decoder, split).in(byte) == rel(fixed_cache(decoder, run).in(byte) / 8, 1e-12));
    CHECK(cache_per_token(decoder, split).in(byte) == rel(cache_per_token(decoder, run).in(byte) / 2, 1e-12));
}

TEST_CASE("every shipped configuration loads under its id and its hub id") {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(models_dir() / "hub")) {
        if (entry.path().extension() != ".json") continue;
        ++files;
        CAPTURE(entry.path().string());
        const Workload workload = load_workload(entry.path());
        REQUIRE(workload.aliases.size() == 1);
        CHECK(find_workload(models_dir(), workload.id).file == entry.path().string());
        CHECK(find_workload(models_dir(), workload.aliases.front()).file == entry.path().string());
    }
    CHECK(files > 100);
}

TEST_CASE("popular small models have the parameters of their checkpoints") {
    // Totals of safetensors files on Hugging Face.
    const std::pair<const char*, double> models[] = {{"google/gemma-2-2b-it", 2614341888},
                                                     {"google/gemma-2-9b-it", 9241705984},
                                                     {"google/gemma-2-27b-it", 27227128320},
                                                     {"google/gemma-3-1b-it", 999885952},
                                                     {"google/gemma-3-4b-it", 4300079472},
                                                     {"google/gemma-3-12b-it", 12187325040},
                                                     {"google/gemma-3-27b-it", 27432406640},
                                                     {"google/gemma-3-270m-it", 268098176},
                                                     {"microsoft/Phi-3.5-mini-instruct", 3821079552},
                                                     {"microsoft/phi-4", 14659507200},
                                                     {"microsoft/Phi-4-mini-instruct", 3836021760},
                                                     {"mistralai/Mistral-Small-24B-Instruct-2501", 23572403200},
                                                     {"mistralai/Mistral-Small-3.1-24B-Instruct-2503", 24011361280},
                                                     {"HuggingFaceTB/SmolLM3-3B", 3075098624},
                                                     {"Qwen/Qwen2.5-Coder-7B-Instruct", 7615616512},
                                                     {"Qwen/Qwen3-Embedding-8B", 7567295488},
                                                     {"BAAI/bge-m3", 567754752}};
    for (const auto& [hub_id, parameters] : models) {
        CAPTURE(std::string(hub_id));
        CHECK(total_parameters(forward_graph(find_workload(models_dir(), hub_id), {}, {})) == rel(parameters, 1e-5));
    }
}
