// Laws that predictions of whole models obey on every shipped GPU.
#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

std::vector<Gpu> shipped_gpus() {
    std::vector<Gpu> gpus;
    for (auto& profile : load_gpu_catalogue(test::gpus_dir())) {
        ParameterSet parameters = load_parameters(test::gpus_dir(), profile);
        gpus.push_back({std::move(profile), std::move(parameters)});
    }
    return gpus;
}

Run request(Precision p, std::int64_t batch, std::int64_t prompt, std::int64_t output) {
    Run r;
    r.batch = batch;
    r.prompt_tokens = prompt;
    r.generate_tokens = output;
    r.precision = p;
    return r;
}

}  // namespace

TEST_CASE("no interval of a decode step reaches below the time that its weights take at data-sheet bandwidth") {
    const SoftwareStacks software = load_software(test::software_dir());
    for (const char* id : {"llama-3.1-70b", "llama-3.1-8b", "qwen2.5-0.5b"}) {
        const Workload model = find_workload(test::models_dir(), id);
        for (const Gpu& gpu : shipped_gpus()) {
            CAPTURE(gpu.profile.id);
            CAPTURE(id);
            const Prediction p =
                predict(model, gpu, request(default_precision(model, gpu.profile), 1, 512, 64), software);  // also where it does not fit
            REQUIRE(p.intervals);
            REQUIRE(p.intervals->tpot);
            CHECK(p.intervals->tpot->low <= 1);
            CHECK(p.intervals->tpot->high >= 1);
            // The embedding is a table of which a step reads a row; where the head has no weights of its own, it is read as one.
            const auto& llm = std::get<DecoderLlm>(model.architecture);
            const double embedding = static_cast<double>(llm.vocabulary * llm.hidden) * p.request.weights->bits / 8;
            const Bytes read = p.memory.weights - 2 * embedding * byte - gpu.profile.l2;
            const Seconds floor = read / gpu.profile.bandwidth;
            CHECK((p.intervals->tpot->low * *p.tpot).in(ms) >= 0.999 * floor.in(ms));
            // 64 tokens: 63 steps after the first.
            CHECK((p.intervals->latency.low * p.latency).in(ms) >= 0.999 * 63 * floor.in(ms));
        }
    }
}

TEST_CASE("one sequence more never doubles a decode step") {
    // Any library can compute a row of a GEMM with the kernel that it has for one row, so that b + 1 rows take at most (b + 1) / b of
    // the time of b, and at most twice that of one. Attention reads a cache more, and nothing else grows faster than the batch.
    constexpr double most = 2;
    const SoftwareStacks software = load_software(test::software_dir());
    const Workload model = find_workload(test::models_dir(), "qwen2.5-0.5b");
    for (const Gpu& gpu : shipped_gpus()) {
        // Known misses: docs/limits.md.
        if (gpu.profile.architecture == "pascal" || gpu.profile.architecture == "turing") continue;
        for (const Precision p : all_precisions) {
            double before = 0;
            for (std::int64_t batch = 1; batch <= 16; ++batch) {
                CAPTURE(gpu.profile.id);
                CAPTURE(name(p));
                CAPTURE(batch);
                double step = 0;
                try {
                    step = predict(model, gpu, request(p, batch, 64, 8), software).tpot->in(ms);
                } catch (const Error&) {
                    break;  // a precision that it lacks
                }
                if (before > 0) CHECK(step <= most * before);
                before = step;
            }
        }
    }
}
