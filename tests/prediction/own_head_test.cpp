// A model's own multi-token prediction module as draft model.
#include "prediction/own_head.hpp"

#include <doctest/doctest.h>

#include "graph/decoder.hpp"
#include "prediction/shapes.hpp"
#include "roofcast/decoder_figures.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::gpus_dir;
using test::models_dir;
using test::rel;
using test::software_dir;

namespace {

Workload shipped_model(const char* id) {
    return find_workload(models_dir(), id);
}

struct HeadBench {
    Workload model = shipped_model("zai-org/GLM-4.5-Air");
    Gpu gpu = load_gpu(gpus_dir(), "h200-sxm-141gb");
    SoftwareStacks software = load_software(software_dir());

    [[nodiscard]] Prediction run(std::optional<Speculation> speculation, Parallelism parallel = {.tensor = 2}) const {
        Run run{.batch = 4, .prompt_tokens = 1024, .generate_tokens = 129, .precision = Precision::bf16, .parallel = parallel};
        run.techniques.speculation = std::move(speculation);
        return predict(model, gpu, run, software);
    }
};

Speculation proposed(std::int64_t tokens, double acceptance) {
    return {.draft = {}, .tokens = tokens, .acceptance = acceptance, .own_head = true};
}

}  // namespace

TEST_CASE("a prediction module has the parameters that its checkpoint has beside tables") {
    for (const char* id : {"zai-org/GLM-4.5-Air", "deepseek-ai/DeepSeek-V3.2", "Qwen/Qwen3.5-27B", "XiaomiMiMo/MiMo-7B-Base"}) {
        CAPTURE(id);
        const Workload model = shipped_model(id);
        const DecoderLlm& llm = *language_model(model);
        const std::shared_ptr<const Workload> head = own_head(model);
        const double tables = llm.prediction->own_tables ? 2.0 * static_cast<double>(llm.vocabulary * llm.hidden) : 0;
        const double each = decoder_parameters(llm).prediction / static_cast<double>(llm.prediction->modules) - tables;
        const OpGraph graph = prefill_graph(*language_model(*head), Run{}, Lowering{}, 1);
        CHECK(total_parameters(graph) == rel(each, 1e-9));
    }
}

TEST_CASE("a model without a prediction module says so by name") {
    try {
        static_cast<void>(own_head(shipped_model("llama-3.1-8b")));
        FAIL("no error");
    } catch (const Error& e) {
        CHECK(e.detail().what == "llama-3.1-8b has no multi-token prediction module");
        CHECK(e.detail().key == "techniques.speculation.own_head");
    }
}

TEST_CASE("as many modules draft as there are, or tokens to propose") {
    const Workload one = shipped_model("zai-org/GLM-4.5-Air"), three = shipped_model("stepfun-ai/Step-3.7-Flash");
    REQUIRE(language_model(three)->prediction->modules == 3);
    CHECK(drafting_modules(one, proposed(4, 0.5)) == 1);
    CHECK(drafting_modules(three, proposed(2, 0.5)) == 2);
    CHECK(drafting_modules(three, proposed(5, 0.5)) == 3);
    Speculation other = proposed(5, 0.5);
    other.own_head = false;
    CHECK(drafting_modules(three, other) == 1);
}

TEST_CASE("multi-token prediction drafts by one layer, and verifies all tokens in one pass") {
    const HeadBench bench;
    const Prediction plain = bench.run({}), p = bench.run(proposed(1, 0.85));
    REQUIRE(p.speculation);
    CHECK(p.speculation->tokens_per_iteration == rel(1.85, 1e-12));  // 1 + α
    CHECK(p.speculation->plain_tpot == *plain.tpot);
    CHECK(p.tpot->in(ms) == rel(p.speculation->iteration.in(ms) / 1.85, 1e-9));
    const auto phase = [&p](std::string_view name) -> const Phase& {
        return *std::find_if(p.phases.begin(), p.phases.end(), [&](const Phase& x) { return x.name == name; });
    };
    // One layer of 46 and the LM head: the module takes a tenth of the model's pass at most.
    CHECK(phase("draft_decode").timeline.total < 0.1 * phase("verify").timeline.total);
    CHECK(phase("draft_decode").timeline.total > 0.01 * phase("verify").timeline.total);
    CHECK(phase("verify").graph.name == "verify");
    // Nothing accepted: each token takes the draft's pass more.
    CHECK(*bench.run(proposed(1, 0)).tpot > *plain.tpot);
    CHECK(*bench.run(proposed(2, 0.8)).tpot < *bench.run(proposed(2, 0.6)).tpot);
}

TEST_CASE("memory counts weights and cache of the module, and no table twice") {
    const HeadBench bench;
    const Prediction plain = bench.run({}), p = bench.run(proposed(1, 0.85));
    const DecoderLlm& llm = *language_model(bench.model);
    // Two GPUs share the layer in 16 bits; the projection of 2 x 4096 to 4096, and norms and router, are whole on each.
    const double tables = llm.prediction->own_tables ? 2.0 * static_cast<double>(llm.vocabulary * llm.hidden) : 0;
    const double module = decoder_parameters(llm).prediction - tables;
    const double added = (p.memory.weights - plain.memory.weights).in(byte);
    CHECK(added > module);         // half of it, two bytes each
    CHECK(added < 1.05 * module);  // and what is whole
    CHECK(p.memory.kv_cache / plain.memory.kv_cache == rel(1 + 1.0 / static_cast<double>(llm.layers), 1e-9));
}

TEST_CASE("the last stage of a pipeline has the module") {
    const HeadBench bench;
    const Parallelism stages{.tensor = 2, .pipeline = 2};
    const Prediction plain = bench.run({}, stages), p = bench.run(proposed(1, 0.85), stages);
    CHECK(*p.tpot < *plain.tpot);
    CHECK(p.memory.weights > plain.memory.weights);
}
