#include "roofcast/step_time.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::gpus_dir;
using test::models_dir;
using test::rel;
using test::software_dir;

namespace {

struct StepBench {
    SoftwareStacks software = load_software(software_dir());

    StepModel model(const char* gpu_id, const char* model_id, Execution execution = Execution::cuda_graph, const char* engine = "") const {
        const Gpu gpu = load_gpu(gpus_dir(), gpu_id);
        const Workload workload = find_workload(models_dir(), model_id);
        Run request;
        request.execution = execution;
        request.software = engine;
        request.precision = Precision::fp16;
        return step_model(workload, gpu, completed(request, workload, gpu), software);
    }
};

Seconds pass(const StepModel& m, const OpGraph& graph) {
    return timeline(graph, m.gpu, m.stack).total;
}

Run of_batch(const StepModel& m, std::int64_t batch) {
    Run run = m.run;
    run.batch = batch;
    return run;
}

/// Steps of all sizes up to 256 sequences and 8192 tokens, evenly by logarithm; every third only decodes, every third only prompts.
std::vector<StepMix> mixes(int count) {
    std::mt19937_64 engine(1);
    const auto up_to = [&engine](double most) {
        return std::floor(std::exp(static_cast<double>(engine() >> 11U) * 0x1p-53 * std::log(most + 1)));
    };
    std::vector<StepMix> result;
    for (int i = 0; i < count; ++i) {
        StepMix mix;
        if (i % 3 != 1) mix = {.decodes = static_cast<std::int64_t>(up_to(192)), .context = up_to(8192)};
        if (i % 3 != 0) {
            mix.prompts = static_cast<std::int64_t>(up_to(64));
            const double room = static_cast<double>((8192 - mix.decodes) / mix.prompts);
            mix.prompt_tokens = mix.prompts * static_cast<std::int64_t>(up_to(room - 1));
            mix.past = up_to(8192) - 1;
        }
        result.push_back(mix);
    }
    return result;
}

}  // namespace

TEST_CASE("a step without prompts is a decode step, and one without decodes a prefill") {
    const StepBench bench;
    for (const char* id : {"llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gpt-oss-20b"}) {
        CAPTURE(id);
        const StepModel m = bench.model("a100-sxm4-80gb", id);
        CHECK(step_time(m, {.decodes = 24, .context = 700}) == pass(m, decode_graph(m.model, of_batch(m, 24), {}, 700)));
        CHECK(step_time(m, {.prompts = 1, .prompt_tokens = 512}) == pass(m, prefill_graph(m.model, of_batch(m, 1), {}, 512)));
        CHECK(step_time(m, {.prompts = 3, .prompt_tokens = 600, .past = 1000}) ==
              pass(m, prefill_graph(m.model, of_batch(m, 3), {}, 200, 1000)));
    }
}

TEST_CASE("a mixed step reads the weights once") {
    const StepBench bench;
    const StepModel m = bench.model("a100-sxm4-80gb", "llama-3.1-8b");
    const Seconds decode = step_time(m, {.decodes = 8, .context = 500}), prompt = step_time(m, {.prompts = 1, .prompt_tokens = 64}),
                  both = step_time(m, {.decodes = 8, .context = 500, .prompts = 1, .prompt_tokens = 64});
    CHECK(both > max(decode, prompt));
    // 7.5e9 weights outside the embedding in 2 bytes at 2039 GB/s: one pass over them is 7.4 ms, and more at the bandwidth that is reached.
    CHECK((decode + prompt - both).in(ms) > 7.4);
    CHECK((decode + prompt - both).in(ms) < 1.5 * 7.4);
}

TEST_CASE("a prompt in chunks takes longer than whole, by the weights that each chunk reads") {
    const StepBench bench;
    const StepModel m = bench.model("h200-sxm-141gb", "llama-3.1-8b");
    Seconds chunks;
    for (int past = 0; past < 2048; past += 256)
        chunks += step_time(m, {.prompts = 1, .prompt_tokens = 256, .past = static_cast<double>(past)});
    const Seconds whole = step_time(m, {.prompts = 1, .prompt_tokens = 2048});
    CHECK(chunks > whole);
    CHECK(chunks < 2 * whole);
}

TEST_CASE("vLLM's steps of prompts and decodes have one attention kernel, which FlashAttention-2 cuts as prompts") {
    const StepBench bench;
    const StepMix both{.decodes = 64, .context = 4000, .prompts = 1, .prompt_tokens = 1984};
    const auto times = [&](const char* gpu, const StepMix& mix) {
        const StepModel m = bench.model(gpu, "qwen3-14b", Execution::cuda_graph, "vllm");
        StepModel other = m;
        other.stack.joint_attention = false;
        return std::pair{step_time(m, mix), step_time(other, mix)};
    };
    // 64 sequences of 4,000 tokens, 40 layers of 40 heads 128 wide: 64 rows for each query are 13.4 TFLOP, 43 ms at 312 TFLOP/s.
    const auto [joint, apart] = times("a100-sxm4-80gb", both);
    CHECK((joint - apart).in(ms) > 50);
    CHECK((joint - apart).in(ms) < 100);
    const auto [decodes, as_ever] = times("a100-sxm4-80gb", {.decodes = 64, .context = 4000});
    CHECK(decodes == as_ever);
    const auto [packed, plain] = times("h100-sxm5-80gb", both);
    CHECK(packed == plain);

    // Absorbed latent attention has kernels of its own.
    StepModel latent = bench.model("a100-sxm4-80gb", "deepseek-v3", Execution::cuda_graph, "vllm");
    const Seconds before = step_time(latent, both);
    latent.stack.joint_attention = false;
    CHECK(step_time(latent, both) == before);

    const StepModel m = bench.model("a100-sxm4-80gb", "qwen3-14b", Execution::cuda_graph, "vllm");
    const StepTable table = tabulated(m, {.sequences = 256, .tokens = 4096, .prompt_tokens = 4096, .context = 8192});
    for (const StepMix& mix : {both, StepMix{.decodes = 23, .context = 900, .prompts = 2, .prompt_tokens = 700, .past = 300},
                               StepMix{.decodes = 23, .context = 900}}) {
        CHECK(step_time(table, mix).in(ms) == rel(step_time(m, mix).in(ms), 0.03));
    }
    CHECK_FALSE(tabulated(bench.model("a100-sxm4-80gb", "qwen3-14b"), {}).joint_decode);
}

TEST_CASE("the table is within a few percent of the graphs that it interpolates") {
    const StepBench bench;
    const std::vector<StepMix> sizes = mixes(450);
    for (const char* gpu : {"a100-sxm4-80gb", "rtx-4090"}) {
        for (const char* id : {"llama-3.1-8b", "mixtral-8x7b", "gpt-oss-20b"}) {
            for (const auto& [execution, engine] :
                 {std::pair{Execution::cuda_graph, ""}, {Execution::cuda_graph, "vllm"}, {Execution::eager, ""}}) {
                const StepModel m = bench.model(gpu, id, execution, engine);
                const StepTable table = tabulated(m, {.sequences = 256, .tokens = 8192, .prompt_tokens = 8192, .context = 8192});
                double sum = 0, worst = 0;
                for (const StepMix& mix : sizes) {
                    const double error = std::abs(step_time(table, mix) / step_time(m, mix) - 1);
                    sum += error;
                    worst = std::max(worst, error);
                }
                CAPTURE(gpu);
                CAPTURE(id);
                CHECK(sum / static_cast<double>(sizes.size()) < 0.005);
                CHECK(worst < 0.06);
            }
        }
    }
}

TEST_CASE("a table follows the host where that issues kernels, also between parts that it hides and parts that it does not") {
    const StepBench bench;
    const StepRange range{.sequences = 16, .tokens = 4096, .prompt_tokens = 4096, .context = 1024};
    const StepTable graphs = tabulated(bench.model("rtx-4090", "gpt-oss-20b"), range);
    CHECK(graphs.waiting.empty());
    CHECK(graphs.decode.rest.empty());
    CHECK(graphs.prompt.rest.empty());
    const StepModel m = bench.model("rtx-4090", "gpt-oss-20b", Execution::eager);
    const StepTable eager = tabulated(m, range);
    CHECK(eager.waiting[1] > eager.waiting.back());
    CHECK(eager.decode.host > Seconds{});
    // Attention of these prompts is hidden up to some 3,000 tokens, and is not beyond; no point of the grid lies between 6 and 8 prompts.
    for (const std::int64_t prompts : {5, 6, 7, 8}) {
        const StepMix mix{.prompts = prompts, .prompt_tokens = prompts * 481, .past = 1000};
        CHECK(step_time(eager, mix).in(ms) == rel(step_time(m, mix).in(ms), 0.01));
    }
}

TEST_CASE("interpolated times never fall when contexts or caches grow, and pass through the grid's points") {
    const StepBench bench;
    const StepModel m = bench.model("rtx-4090", "llama-3.1-8b");
    const StepTable table = tabulated(m, {.sequences = 64, .tokens = 1024, .prompt_tokens = 1024, .context = 4096});
    Seconds decode, prompt;
    for (double tokens = 1; tokens < 6000; tokens *= 1.1) {
        const Seconds next = step_time(table, {.decodes = 20, .context = tokens}),
                      after = step_time(table, {.decodes = 20, .context = 100, .prompts = 2, .prompt_tokens = 500, .past = tokens});
        CHECK(next >= decode);
        CHECK(after >= prompt);
        decode = next;
        prompt = after;
    }
    const StepMix on_grid{.decodes = 16, .context = 1024};
    CHECK(step_time(table, on_grid).in(us) == rel(step_time(m, on_grid).in(us), 1e-9));
    const StepModel hosted = bench.model("rtx-4090", "llama-3.1-8b", Execution::eager);
    const StepTable eager = tabulated(hosted, {.sequences = 64, .tokens = 1024, .prompt_tokens = 1024, .context = 4096});
    CHECK(step_time(eager, on_grid).in(us) == rel(step_time(hosted, on_grid).in(us), 1e-9));
    // Beyond the range counts as its end, but for the rows that every operator has.
    CHECK((step_time(eager, {.decodes = 100, .context = 9000}) - step_time(eager, {.decodes = 64, .context = 4096})).in(us) ==
          rel((eager.body[100] - eager.body[64]).in(us), 1e-9));
}

TEST_CASE("images go through the vision part in a pass of their own, before whatever the step computes") {
    const StepBench bench;
    const StepModel m = bench.model("rtx-4090", "qwen2.5-vl-3b");
    REQUIRE(m.vision);
    const StepMix text{.decodes = 4, .context = 900, .prompts = 2, .prompt_tokens = 1400};
    StepMix images = text;
    images.encoded = 2;
    CHECK((step_time(m, images) - step_time(m, text)).in(ms) == rel(pass(m, vision_graph(*m.vision, of_batch(m, 2), {})).in(ms), 1e-9));
    const StepTable table = tabulated(m, {.sequences = 16, .tokens = 4096, .prompt_tokens = 4096, .context = 4096});
    for (const std::int64_t v : {1, 2, 3, 5, 11, 16}) {
        CAPTURE(v);
        images.encoded = v;
        CHECK((step_time(table, images) - step_time(table, text)).in(ms) ==
              rel(pass(m, vision_graph(*m.vision, of_batch(m, v), {})).in(ms), 0.05));
    }
    const StepModel language = bench.model("rtx-4090", "llama-3.1-8b");
    CHECK(step_time(language, images) == step_time(language, text));
}

TEST_CASE("values on demand are computed once, when they are first read") {
    std::vector<std::size_t> computed;
    const OnDemand<double> squares(5, [&computed](std::size_t i) {
        computed.push_back(i);
        return static_cast<double>(i * i);
    });
    CHECK(squares.size() == 5);
    CHECK(computed.empty());
    CHECK(squares[3] == 9);
    CHECK(squares[3] == 9);
    CHECK(squares.back() == 16);
    CHECK(computed == std::vector<std::size_t>{3, 4});
    const OnDemand<double> known{1, 2};
    CHECK(known[1] == 2);
    CHECK(OnDemand<double>().empty());
}
