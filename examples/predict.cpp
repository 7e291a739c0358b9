// How fast is a model on a GPU, and why?
#include <roofcast/catalogue.hpp>

#include <cstdio>

int main() {
    const auto catalogue = roofcast::Catalogue::shipped();
    const auto p = roofcast::predict(catalogue.model("llama-3.1-8b"), catalogue.gpu("h200"), {.batch = 8, .precision = roofcast::Precision::bf16});
    std::printf("time to first token %.1f ms, then %.2f ms per output token\n", p.ttft->in(roofcast::ms), p.tpot->in(roofcast::ms));
    for (const roofcast::Phase& phase : p.phases)
        std::printf("%s: %.1f ms, bound by %s\n", phase.name.c_str(), phase.latency.in(roofcast::ms), phase.bound.c_str());
}
