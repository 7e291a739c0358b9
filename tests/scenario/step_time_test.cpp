#include "roofcast/step_time.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <chrono>

#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::gpus_dir;
using test::models_dir;
using test::rel;

TEST_CASE("scenario scratch") {
    const SoftwareStacks software = load_software(gpus_dir());
    for (const char* gpu_id : {"a100-sxm4-80gb", "h200-sxm-141gb", "rtx-4090"})
    for (const char* id : {"llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gpt-oss-20b"})
    for (const Execution e : {Execution::cuda_graph, Execution::eager}) {
    const Gpu gpu = load_gpu(gpus_dir(), gpu_id);
    const Workload w = find_workload(models_dir(), id);
    RunRequest r; r.execution = e; r.shape.precision = Precision::bf16; r = completed(r, w, gpu);
    const StepModel m = step_model(w, gpu, r, software);
    const auto t0 = std::chrono::steady_clock::now();
    const StepTable t = tabulated(m, {256, 8192, 8192, 8192});
    const double dt = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
    fmt::print("{} {} {}: {} evaluated in {:.3f} s\n", gpu_id, id, name(e), t.evaluated, dt);
    double worst[3] = {0,0,0}; StepMix at[3];
    std::uint64_t x = 12345;
    const auto rnd = [&](double top) { x = x * 6364136223846793005ULL + 1442695040888963407ULL; return std::exp((x >> 11) * 0x1p-53 * std::log(top)); };
    double sum[3]={0,0,0};
    for (int i = 0; i < 600; ++i) {
        StepMix mix;
        if (i % 3 != 1) { mix.decodes = rnd(256); mix.context = std::floor(rnd(8192)); }
        if (i % 3 != 0) { mix.prompts = std::min<double>(rnd(64), 256 - mix.decodes); if (mix.prompts < 1) mix.prompts=1; const auto q = static_cast<long>(rnd((8192 - mix.decodes) / mix.prompts)); mix.prompt_tokens = mix.prompts * std::max(1L, q); mix.past = std::floor(rnd(8192)) - 1; }
        const double a = step_time(t, mix).in(ms), b = step_time(m, mix).in(ms);
        const double err = std::abs(a / b - 1);
        sum[i%3] += err/200;
        if (err > worst[i % 3]) worst[i % 3] = err, at[i % 3] = mix;
    }
    for (int k = 0; k < 3; ++k) fmt::print("  {}: mean {:.4f} worst {:.4f} at n {} c {} s {} tokens {} past {}: {} ms vs {}\n", k, sum[k], worst[k], at[k].decodes, at[k].context, at[k].prompts, at[k].prompt_tokens, at[k].past, step_time(t, at[k]).in(ms), step_time(m, at[k]).in(ms));
    }
}
