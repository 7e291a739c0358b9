#include "prediction/techniques.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "roofcast/error.hpp"
#include "roofcast/kernel_cost.hpp"
#include "roofcast/prediction.hpp"
#include "support/compare.hpp"
#include "support/llama_on_a100.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;
using test::gpus_dir;
using test::models_dir;
using test::rel;
using test::software_dir;

namespace {

struct TechniqueBench : test::LlamaOnA100 {
    Run asked{.prompt_tokens = 4096, .generate_tokens = 129, .precision = Precision::bf16};

    [[nodiscard]] Prediction run(const Techniques& techniques) const { return run(llama, techniques); }
    [[nodiscard]] Prediction run(const Workload& workload, const Techniques& techniques) const {
        Run request = asked;
        request.techniques = techniques;
        return predict(workload, gpu, request, software);
    }
};

Techniques drafted(double acceptance, std::int64_t tokens = 4, const char* draft = "llama-3.2-1b") {
    return {.speculation = Speculation{
                .draft = std::make_shared<const Workload>(find_workload(models_dir(), draft)), .tokens = tokens, .acceptance = acceptance}};
}

bool noted(const Prediction& p, const std::string& part) {
    for (const auto& text : p.notes) {
        if (test::contains(text, part)) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("a fraction of tokens is rounded down, but not by what a product of doubles loses") {
    CHECK(share_of(0.29, 100) == 29);
    CHECK(share_of(0.299, 100) == 29);
    CHECK(share_of(0.5, 7) == 3);
    CHECK(share_of(0, 100) == 0);
}

TEST_CASE("techniques that are off leave a prediction as it was, to the last bit") {
    const TechniqueBench bench;
    const Prediction plain = bench.run({});
    for (const Techniques& off : {Techniques{.cached_prefix = 0}, Techniques{.prefill_chunk = 4096}, Techniques{.prefill_chunk = 99999}}) {
        const Prediction p = bench.run(off);
        CHECK(p.latency == plain.latency);
        CHECK(*p.ttft == *plain.ttft);
        CHECK(p.memory.total() == plain.memory.total());
    }
    CHECK(plain.notes.empty());
}

TEST_CASE("a cached prefix spares its part of the prompt, and TTFT falls with it") {
    const TechniqueBench bench;
    Seconds before{1e9};
    for (const double share : {0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.99999}) {
        CAPTURE(share);
        const Prediction p = bench.run({.cached_prefix = share});
        CHECK(*p.ttft < before);
        CHECK(*p.tpot == *bench.run({}).tpot);
        before = *p.ttft;
    }
    // 4096 tokens, half of them cached: the pass has 2048 rows and attends to 4096.
    const Prediction half = bench.run({.cached_prefix = 0.5});
    for (const TimedOp& op : half.phases.front().timeline.ops) {
        if (const auto* attention = std::get_if<Attention>(&op.node->op)) {
            CHECK(attention->query_len == 2048);
            CHECK(attention->kv_len == 4096);
        }
    }
}

TEST_CASE("chunks of a prompt are added up, and the whole is no faster than its arithmetic and its weights allow") {
    const TechniqueBench bench;
    const auto& llm = std::get<DecoderLlm>(bench.llama.architecture);
    const Prediction whole = bench.run({});
    const Run& request = whole.request;
    const double flops = total_flops(prefill_graph(llm, request, {}, 4096)).in(flop);
    Seconds before;
    for (const std::int64_t chunk : {4096, 2048, 1024, 512, 256, 128, 100}) {
        CAPTURE(chunk);
        const Phase prefill = std::move(bench.run({.prefill_chunk = chunk}).phases.front());
        const double passes = std::ceil(4096.0 / static_cast<double>(chunk));
        CHECK(prefill.passes == rel(4096.0 / static_cast<double>(chunk), 1e-12));  // the last of 100 tokens' counts by its share
        CHECK(prefill.latency > flops / bench.gpu.profile.matmul_peak(Precision::bf16)->in(FlopsPerSecond{1}) * s);
        // Every pass reads 6.98e9 weights of the layers, 2 bytes each.
        CHECK(prefill.latency.in(s) > passes * 2 * 6.98e9 / bench.gpu.profile.bandwidth.in(BytesPerSecond{1}));
        CHECK(prefill.latency > before * 0.98);  // smaller chunks may only win what a tile's rounding gives
        before = prefill.latency;
    }
    // 1024 at a time: four passes over 0, 1024, 2048 and 3072 cached tokens.
    Seconds sum;
    for (const std::int64_t past : {0, 1024, 2048, 3072})
        sum += timeline(prefill_graph(llm, request, {}, 1024, past), bench.gpu, bench.software.find(Execution::cuda_graph, "")).total;
    CHECK(bench.run({.prefill_chunk = 1024}).ttft->in(ms) == rel(sum.in(ms), 1e-12));
}

TEST_CASE("many chunks are integrated as close as makes no difference") {
    const TechniqueBench bench;
    const auto& llm = std::get<DecoderLlm>(bench.llama.architecture);
    const Prediction p = bench.run({.prefill_chunk = 64});
    Seconds sum;
    for (std::int64_t past = 0; past < 4096; past += 64)
        sum += timeline(prefill_graph(llm, p.request, {}, 64, past), bench.gpu, bench.software.find(Execution::cuda_graph, "")).total;
    CHECK(p.ttft->in(ms) == rel(sum.in(ms), 0.01));
}

TEST_CASE("a paged cache takes whole blocks") {
    TechniqueBench bench;
    bench.asked.prompt_tokens = 500;
    bench.asked.generate_tokens = 100;
    // 600 tokens are 38 blocks of 16, 608; a token takes 32 layers x 2 x 8 heads x 128 x 2 bytes = 131 072 bytes.
    CHECK(bench.run({}).memory.kv_cache.in(byte) == rel(600 * 131'072.0, 1e-12));
    CHECK(bench.run({.kv_block = 16}).memory.kv_cache.in(byte) == rel(608 * 131'072.0, 1e-12));
    CHECK(bench.run({.kv_block = 1}).latency == bench.run({.kv_block = 16}).latency);
}

TEST_CASE("smaller passes of a prompt keep fewer activations") {
    const TechniqueBench bench;
    CHECK(bench.run({.prefill_chunk = 512}).memory.activations < 0.2 * bench.run({}).memory.activations);
    CHECK(bench.run({.cached_prefix = 0.5}).memory.activations < bench.run({}).memory.activations);
}

TEST_CASE("an iteration of speculative decoding yields as many tokens as Leviathan et al. say") {
    CHECK(expected_tokens(0, 5) == 1);
    CHECK(expected_tokens(1, 5) == 6);
    // 1 + 0.8 + 0.64 + 0.512 + 0.4096 = 3.3616
    CHECK(expected_tokens(0.8, 4) == rel(3.3616, 1e-12));
    CHECK(expected_tokens(1 - 1e-9, 5) == rel(6, 1e-6));
}

TEST_CASE("speculative decoding that nothing is accepted of is slower than none, and says so, that everything is accepted of is faster") {
    const TechniqueBench bench;
    const Prediction plain = bench.run({}), none = bench.run(drafted(0)), all = bench.run(drafted(1));
    CHECK(*none.tpot > *plain.tpot);
    CHECK(none.speculation->speedup < 1);
    CHECK(noted(none, "SLOWER"));
    CHECK(*all.tpot < *plain.tpot);
    CHECK_FALSE(noted(all, "SLOWER"));
    CHECK(all.speculation->plain_tpot == *plain.tpot);
    // TPOT is the time of an iteration over what it yields: 5 tokens.
    CHECK(all.tpot->in(ms) == rel(all.speculation->iteration.in(ms) / 5, 1e-9));
    CHECK(all.speculation->speedup == rel(*plain.tpot / *all.tpot, 1e-9));
    Seconds before = *none.tpot;
    for (const double acceptance : {0.2, 0.4, 0.6, 0.8, 0.95}) {
        const Seconds tpot = *bench.run(drafted(acceptance)).tpot;
        CHECK(tpot < before);
        before = tpot;
    }
}

TEST_CASE("a verification scores every proposed token and costs no less than a decode step") {
    const TechniqueBench bench;
    const auto& llm = std::get<DecoderLlm>(bench.llama.architecture);
    const Run request = bench.run({}).request;
    const SoftwareStack& stack = bench.software.find(Execution::cuda_graph, "");
    Seconds before = timeline(decode_graph(llm, request, {}, 1001), bench.gpu, stack).total;
    for (const std::int64_t tokens : {2, 4, 8, 16, 64}) {
        const OpGraph graph = verify_graph(llm, request, {}, tokens, 1000);
        CHECK(std::get<Gemm>(graph.segments.back().nodes[1].op).m == tokens);
        const Seconds time = timeline(graph, bench.gpu, stack).total;
        CHECK(time >= 0.98 * before);
        before = time;
    }
}

TEST_CASE("speculative decoding takes a whole iteration at least, however many tokens it yields") {
    TechniqueBench bench;
    bench.asked.generate_tokens = 2;
    const Prediction p = bench.run(drafted(1, 8));
    double verifications = 0;
    for (const Phase& phase : p.phases) {
        if (phase.name == "verify") verifications = phase.passes;
    }
    CHECK(verifications == 1);
    CHECK(p.latency > *p.ttft + p.phases.back().timeline.total);
}

TEST_CASE("memory counts both models of speculative decoding") {
    const TechniqueBench bench;
    const MemoryEstimate plain = bench.run({}).memory, both = bench.run(drafted(0.5)).memory,
                         draft = bench.run(*drafted(0.5).speculation->draft, {}).memory;
    CHECK(both.weights.in(gb) == rel((plain.weights + draft.weights).in(gb), 1e-12));
    CHECK(both.kv_cache.in(gb) == rel((plain.kv_cache + draft.kv_cache).in(gb), 1e-12));
}

TEST_CASE("weights in host memory make every pass longer and the GPU's memory smaller") {
    const TechniqueBench bench;
    const Prediction none = bench.run({});
    Seconds latency = none.latency;
    Bytes weights = none.memory.weights;
    for (const double share : {0.05, 0.1, 0.3, 0.6, 1.0}) {
        CAPTURE(share);
        const Prediction p = bench.run({.offload = share});
        CHECK(p.latency > latency);
        CHECK(p.memory.weights < weights);
        latency = p.latency;
        weights = p.memory.weights;
    }
    // A layer has 218 112 000 weights of 2 bytes; all 32 come over the link in each pass, and the first once more.
    const Seconds layer = cost(Copy{CopyKind::h2d, 2 * 218'112'000.0 * byte, true}, bench.gpu).total;
    const Prediction all = bench.run({.offload = 1});
    CHECK(all.tpot->in(ms) == rel(33 * layer.in(ms), 1e-9));
    CHECK(all.phases.back().bound == "communication");
    // Buffers for two layers stay.
    CHECK((none.memory.weights - all.memory.weights).in(mb) == rel(30 * 2 * 218.112, 1e-9));
}

TEST_CASE("little offloading hides behind compute but for the first layer") {
    const TechniqueBench bench;
    const Seconds layer = cost(Copy{CopyKind::h2d, 0.01 * 2 * 218'112'000.0 * byte, true}, bench.gpu).total;
    CHECK(bench.run({.offload = 0.01}).ttft->in(ms) == rel((*bench.run({}).ttft + layer).in(ms), 1e-9));
}

TEST_CASE("what does not fit is offered as many weights in host memory as it takes") {
    const TechniqueBench bench;
    Run request = completed_sizes(bench.asked, bench.llama);
    const MemoryAdvice advice = memory_advice(bench.llama, request, bench.software, 14 * gb);
    REQUIRE_FALSE(advice.remedies.empty());
    CHECK(test::contains(advice.remedies.back(), "offloading"));
    const double percent = std::stod(advice.remedies.back().substr(advice.remedies.back().find(' ')));
    request.techniques.offload = percent / 100;
    CHECK(memory_estimate(bench.llama, request, bench.software).total() <= 14 * gb);
    request.techniques.offload = (percent - 1) / 100;
    CHECK(memory_estimate(bench.llama, request, bench.software).total() > 14 * gb);
    CHECK_FALSE(test::contains(memory_advice(bench.llama, request, bench.software, 14 * gb, false).remedies.back(), "offloading"));
}

TEST_CASE("engines that cut prompts take passes of so many tokens of all sequences, unless asked otherwise") {
    TechniqueBench bench;
    bench.software = load_software(software_dir());
    const auto passes = [&](const Techniques& techniques, std::int64_t batch) {
        Run request = bench.asked;
        request.batch = batch;
        request.software = "llama.cpp";
        request.techniques = techniques;
        return predict(bench.llama, bench.gpu, request, bench.software).phases.front().passes;
    };
    CHECK(passes({}, 1) == 4096 / 512);
    CHECK(passes({}, 2) == 2 * 4096 / 512);
    CHECK(passes({}, 24) == 24 * 4096 / 512);
    CHECK(passes({.prefill_chunk = 2048}, 1) == 2);
    CHECK(bench.run({}).phases.front().passes == 1);
}

TEST_CASE("engines that cut prompts lay them end to end") {
    TechniqueBench bench;
    bench.software = load_software(software_dir());
    const auto prefill = [&](std::int64_t prompt, std::int64_t batch) {
        Run request = bench.asked;
        request.prompt_tokens = prompt;
        request.batch = batch;
        request.software = "llama.cpp";
        return std::move(predict(bench.llama, bench.gpu, request, bench.software).phases.front());
    };
    // 24 prompts of whole passes take 24 times as long as one.
    CHECK(prefill(2048, 24).latency.in(ms) == rel(24 * prefill(2048, 1).latency.in(ms), 1e-12));
    // 2000 tokens are three passes and 464 tokens. 24 of those are 21 passes and one of 384.
    const Phase ends = prefill(2000, 24);
    CHECK(ends.launches() == 24 * 3 + 21 + 1);
    CHECK(ends.passes == rel(24 * 2000 / 512.0, 1e-12));
    CHECK(ends.latency < 24 * prefill(2000, 1).latency);
    CHECK(ends.latency > 24 * prefill(1536, 1).latency + 20 * prefill(512, 1).latency);
    // Five prompts of 100 tokens fit a pass. 24 have 2400 tokens: four passes and 352 tokens.
    const Phase several = prefill(100, 24);
    CHECK(several.launches() == 5);
    CHECK(several.latency.in(ms) == rel(4 * prefill(100, 5).latency.in(ms) + prefill(88, 4).latency.in(ms), 0.05));
    CHECK(prefill(2000, 1).launches() == 4);
    CHECK(prefill(100, 5).launches() == 1);
}

TEST_CASE("techniques out of range, or of no use to a model, are refused") {
    const TechniqueBench bench;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const Techniques& wrong : {Techniques{.cached_prefix = 1}, Techniques{.cached_prefix = nan}, Techniques{.cached_prefix = -0.1},
                                    Techniques{.offload = 1.01}, Techniques{.offload = nan}, Techniques{.prefill_chunk = -1},
                                    Techniques{.kv_block = 0}, Techniques{.kv_block = std::int64_t{1} << 40}, drafted(1.1), drafted(nan),
                                    drafted(0.5, 0), drafted(0.5, 100'000), drafted(0.5, 4, "resnet50"), drafted(0.5, 4, "llama-3.1-8b"),
                                    drafted(0.5, 4, "tinyllama-1.1b")})  // 2048 positions are fewer than 4096 + 128
        CHECK_THROWS_AS(bench.run(wrong), Error);
    const Workload resnet = find_workload(models_dir(), "resnet50");
    for (const Techniques& useless :
         {Techniques{.cached_prefix = 0.5}, Techniques{.offload = 0.5}, Techniques{.kv_block = 16}, drafted(0.5)})
        CHECK_THROWS_AS(bench.run(resnet, useless), Error);
    TechniqueBench shared;
    shared.gpu = load_gpu(gpus_dir(), "jetson-agx-orin");
    CHECK_THROWS_AS(shared.run({.offload = 0.5}), Error);
}
