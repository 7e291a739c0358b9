// Weights as files and quantizers store them, tensor by tensor.
#include <doctest/doctest.h>

#include "roofcast/prediction.hpp"
#include "support/compare.hpp"
#include "support/gguf_bytes.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

struct Stored {
    SoftwareStacks software = load_software(test::software_dir());

    [[nodiscard]] Bytes weights(const Workload& workload, std::string_view format = {}, Parallelism parallel = {}) const {
        Run run{.precision = workload.default_precision, .parallel = parallel};
        if (!format.empty()) run.weights = parse_weight_format(format).value();
        return memory_estimate(workload, completed_sizes(run, workload), software).weights;
    }
    [[nodiscard]] Bytes weights(const std::string& model, std::string_view format) const {
        return weights(find_workload(test::models_dir(), model), format);
    }
};

}  // namespace

TEST_CASE("mixes of Llama 3.1 8B have the bits a weight that llama.cpp publishes") {
    // tools/quantize/README.md of llama.cpp. 8,030,261,248 parameters.
    const std::pair<const char*, double> published[] = {
        {"iq1_s", 2.0042},   {"iq1_m", 2.1460},  {"iq2_xxs", 2.3824}, {"iq2_xs", 2.5882}, {"iq2_s", 2.7403},  {"iq2_m", 2.9294},
        {"iq3_xxs", 3.2548}, {"iq3_xs", 3.4977}, {"iq3_s", 3.6606},   {"iq3_m", 3.7628},  {"iq4_xs", 4.4597}, {"iq4_nl", 4.6818},
        {"q2_k_s", 2.9697},  {"q2_k", 3.1593},   {"q3_k_s", 3.6429},  {"q3_k_l", 4.2979}, {"q4_k_s", 4.6672}, {"q4_k_m", 4.8944},
        {"q5_k_s", 5.5704},  {"q5_k_m", 5.7036}, {"q6_k", 6.5633},    {"q8_0", 8.5008}};
    const Stored stored;
    for (const auto& [format, bits] : published) {
        CAPTURE(std::string(format));
        CHECK(8 * stored.weights("llama-3.1-8b", format).in(byte) / 8'030'261'248.0 == rel(bits, 1e-4));
    }
}

TEST_CASE("mixes of other models are as large as their files") {
    const Stored stored;
    // Score chart of Llama 2 70B in llama.cpp's README of 2023, in GiB: its attention values have more bits than those of smaller models.
    CHECK(stored.weights("llama-2-70b", "q4_k_m").in(gib) == rel(38.54, 0.005));
    CHECK(stored.weights("llama-2-70b", "q4_0").in(gib) == rel(36.20, 0.005));
    CHECK(stored.weights("llama-2-70b", "q6_k").in(gib) == rel(52.70, 0.005));
    CHECK(stored.weights("llama-2-70b", "q5_k_m").in(gib) == rel(45.41, 0.005));
    // Start-up logs of Ollama and llama.cpp, logs 123 and 60 of validation_data/memory/engine_logs.csv.
    CHECK(stored.weights("llama-3.2-3b", "q4_k_m").in(gib) == rel(1.873, 0.001));
    CHECK(stored.weights("llama-3.1-8b", "q6_k").in(gib) == rel(6.136, 0.001));
}

TEST_CASE("rows that are no whole blocks of 256 are stored in blocks of 32") {
    // Qwen2.5 0.5B: rows of 896 weights are 5.5 bits each in place of 4.5, and the embedding, which is the head, 8.5. Down projections have
    // 4864 = 19 blocks: 6.5625 bits in 12 of 24 layers, 4.5 in the others.
    constexpr double layer = 896 * (896 * 2 + 128 * 2), up = 2.0 * 4864 * 896, down = 4864.0 * 896, table = 151936.0 * 896;
    // Values of the 12 layers with more bits would have 6.5625 bits: 8.5 in blocks of 32.
    constexpr double values = 128 * 896;
    constexpr double bits = 24 * (5.5 * (layer + up) + down * 4.5) + 12 * (3.0 * values + 2.0625 * down) + 8.5 * table;
    constexpr double vectors = 24 * (896 + 2 * 128 + 2 * 896) + 896;
    CHECK(Stored{}.weights("qwen2.5-0.5b", "q4_k_m").in(byte) == rel((bits + 32 * vectors) / 8, 1e-6));
}

TEST_CASE("a GGUF file takes as much memory as its tensors have bytes") {
    const test::TemporaryFile file("Llama-3.1-8B-Q4_K_M.gguf", test::llama_8b_q4_k_m());
    const Workload workload = find_workload(test::models_dir(), file.path().string());
    // Of a layer: 2 + 2/4 squares of attention and 3 matrices of 14336 x 4096 in 4.5 bits; values and down projections of 16 layers and the
    // head in 6.5625; 65 norms and 64 frequencies in 32.
    constexpr double square = 4096.0 * 4096, values = square / 4, mlp = 14336.0 * 4096, table = 128256.0 * 4096;
    constexpr double bits =
        32 * 4.5 * (2.5 * square + 3 * mlp) + 16 * 2.0625 * (values + mlp) + (4.5 + 6.5625) * table + 32 * (65.0 * 4096 + 64);
    const Stored stored;
    CHECK(stored.weights(workload).in(byte) == rel(bits / 8, 1e-12));
    CHECK(workload.totals->bytes.in(byte) == rel(bits / 8, 1e-12));
    // The same as the quantizer's mix makes of the shipped architecture, but for the frequencies.
    CHECK(stored.weights(workload).in(byte) == rel(stored.weights("llama-3.1-8b", "q4_k_m").in(byte) + 256, 1e-9));
    // Each of two stages of a pipeline has half of the layers' matrices; the last one has the head. Vectors are not told apart.
    constexpr double tables = (4.5 + 6.5625) * table, vectors = 32 * (65.0 * 4096 + 64);
    CHECK(stored.weights(workload, {}, {.pipeline = 2}).in(byte) ==
          rel(((bits - tables - vectors) / 2 + 6.5625 * table + vectors) / 8, 1e-9));
}

TEST_CASE("GEMMs of a GGUF file have the bits of their own tensors") {
    const test::TemporaryFile file("llama.gguf", test::llama_8b_q4_k_m());
    const Workload workload = find_workload(test::models_dir(), file.path().string());
    const Run run = completed_sizes({}, workload);
    const OpGraph graph = decode_graph(std::get<DecoderLlm>(workload.architecture), run, Lowering{}, 100);
    const auto bits = [&](const std::string& name) {
        for (const Segment& segment : graph.segments) {
            for (const OpNode& node : segment.nodes) {
                if (node.name == name) return std::get<Gemm>(node.op).weight_bits;
            }
        }
        return 0.0;
    };
    CHECK(bits("qkv_proj") == rel(4.5 + 2.0625 / 2 / 6, 1e-12));  // values are a sixth, and half of them have 6.5625
    CHECK(bits("o_proj") == 4.5);
    CHECK(bits("gate_up_proj") == 4.5);
    CHECK(bits("down_proj") == rel((4.5 + 6.5625) / 2, 1e-12));
    CHECK(bits("lm_head") == 6.5625);
}

TEST_CASE("formats that take long to unpack decode slower than their bytes arrive") {
    const Stored stored;
    const Gpu gpu = load_gpu(test::gpus_dir(), "rtx-3090");
    const auto token_ms = [&](const char* model, const char* format) {
        Run run{.prompt_tokens = 16, .generate_tokens = 128, .software = "llama.cpp"};
        run.weights = parse_weight_format(format).value();
        return predict(find_workload(test::models_dir(), model), gpu, run, stored.software).tpot.value().in(ms);
    };
    // Tokens/s on the RTX 3090, llama.cpp pull requests 8215 (Llama 3 8B) and 4766 (7B).
    CHECK(token_ms("llama-3.1-8b", "iq3_xxs") == rel(1000 / 143.46, 0.05));
    CHECK(token_ms("llama-3.1-8b", "iq1_m") == rel(1000 / 167.03, 0.05));
    CHECK(token_ms("llama-2-7b", "q2_k") == rel(1000 / 92.69, 0.12));
    CHECK(token_ms("llama-2-7b", "q3_k_s") == rel(1000 / 87.26, 0.12));
    CHECK(token_ms("llama-2-7b", "q4_0") == rel(1000 / 121.82, 0.12));
    CHECK(token_ms("llama-2-7b", "q2_k") > token_ms("llama-2-7b", "q4_0"));  // in fewer bytes
}
