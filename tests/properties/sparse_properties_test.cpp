/// Sparse attention and its index over sizes, GPUs and engines; decoding over contexts.

#include <doctest/doctest.h>

#include <algorithm>

#include "roofcast/kernel_cost.hpp"
#include "roofcast/prediction.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::rel;

namespace {

SparseAttention chosen(std::int64_t batch, std::int64_t tokens, std::int64_t heads, std::int64_t context) {
    return {.batch = batch,
            .query_len = tokens,
            .heads = heads,
            .head_dim = 576,
            .value_dim = 512,
            .keys = static_cast<double>(std::min<std::int64_t>(context, 2048)),
            .most_keys = 2048,
            .cached = context,
            .values_in_keys = true};
}

/// Of a step of DeepSeek-V3.2 at a context: all operators, and those of the index alone.
struct StepTimes {
    Seconds all, index;
};

StepTimes step_at(std::int64_t context) {
    static const Gpu gpu = test::shipped_gpu("h200-sxm-141gb");
    const Workload model = find_workload(test::models_dir(), "deepseek-v3.2");
    Run run{.batch = 64, .precision = Precision::bf16, .parallel = {.tensor = 8}};
    const SoftwareStack& stack = test::shipped_software().find(Execution::cuda_graph, "vllm 0.24", "NVIDIA");
    const OpGraph graph = decode_graph(std::get<DecoderLlm>(model.architecture), run, stack.lowering, context);
    const Timeline pass = timeline(graph, as_software_sees(gpu, stack), stack);
    StepTimes times{.all = pass.gpu_busy, .index = {}};
    for (const TimedOp& op : pass.ops) {
        if (op.node->name == "index_scores" || op.node->name == "index_top_k") times.index += op.time;
    }
    return times;
}

}  // namespace

TEST_CASE("sparse attention and its index take longer the larger they are, and no less than the data sheet allows") {
    for (const Gpu& gpu : test::gpus_with_engines()) {
        CAPTURE(gpu.profile.id);
        Seconds before_scores, before_choice;
        for (std::int64_t n = 1; n <= 4096; n *= 2) {
            const SparseAttention attention = chosen(n, 1 + n % 3, 16, 64 * n);
            const KernelCost attends = cost(attention, gpu, Cache::produced);
            CHECK(attends.total >= datasheet_roofline(attention, gpu.profile, Cache::produced) / gpu.profile.clock_headroom());
            const SparseAttention grown = chosen(2 * n, 1, 16, 1000), small = chosen(n, 1, 16, 1000);
            CHECK(cost(grown, gpu).total >= cost(small, gpu).total);
            const IndexScores scores{
                .batch = 4, .query_len = 1, .keys = 64 * n, .heads = 64, .dim = 128, .pairs = 64.0 * static_cast<double>(n)};
            const KernelCost scored = cost(scores, gpu);
            CHECK(scored.total >= before_scores);
            before_scores = scored.total;
            const KernelCost chose = cost(TopK{.rows = 4, .top_k = 2048, .scores = 64.0 * static_cast<double>(n)}, gpu);
            CHECK(chose.total >= before_choice);
            before_choice = chose.total;
        }
    }
}

TEST_CASE("beyond the tokens that an index chooses, a longer context lengthens decoding by the index alone") {
    const StepTimes at_choice = step_at(2048), twice = step_at(4096), long_context = step_at(65536);
    CHECK(twice.all > at_choice.all);
    CHECK((twice.all - at_choice.all) / (twice.index - at_choice.index) == rel(1, 0.05));
    CHECK((long_context.all - twice.all) / (long_context.index - twice.index) == rel(1, 0.01));
}
