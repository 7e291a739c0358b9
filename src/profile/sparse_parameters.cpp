#include <fmt/format.h>

#include "profile/parameter_groups.hpp"

namespace roofcast {

void add_sparse(Specs& specs) {
    using I = IndexScoresParameters;
    GroupAdder i(specs, "index_scores", [](CostParameters& p) -> I& { return p.sparse.scores; });
    i.put("fixed_cycles", "cycles", 1, 500, 100000, log, "launch of the index score kernel", &I::fixed_cycles);
    i.put("peak_fraction", "1", 1, 0.05, 1, log, "fraction of the tensor-core peak", &I::peak_fraction);
    i.put("bandwidth_fraction", "1", 1, 0.2, 1, lin, "fraction of DRAM bandwidth", &I::bandwidth_fraction);
    using T = TopKParameters;
    GroupAdder t(specs, "top_k", [](CostParameters& p) -> T& { return p.sparse.top_k; });
    t.put("fixed_cycles", "cycles", 1, 500, 100000, log, "launch of the top-k selection", &T::fixed_cycles);
    t.put("score_cycles", "cycles", 1, 0.01, 10, log, "SM cycles per score", &T::score_cycles);
    t.put("chain_cycles", "cycles", 1, 0.001, 10, log, "latency per score within a row", &T::chain_cycles);
    using A = SparseAttentionParameters;
    constexpr std::string_view phases[] = {"prompt", "decode"};
    for (std::size_t phase = 0; phase < 2; ++phase) {
        GroupAdder a(specs, fmt::format("sparse_attention.{}", phases[phase]),
                     [phase](CostParameters& p) -> A& { return p.sparse.attention[phase]; });
        a.put("fixed_cycles", "cycles", 1, 500, 100000, log, "launch of attention over gathered keys", &A::fixed_cycles);
        if (phase == 0)
            a.put("sequence_cycles", "cycles", 1, 0, 60000, lin, "latency of gathering the keys of a sequence", &A::sequence_cycles);
        a.put("query_cycles", "cycles", 1, 0, 100000, lin, "SM cycles per query and block of heads", &A::query_cycles);
        a.put("peak_fraction", "1", 1, 0.05, 1, log, "fraction of the tensor-core peak", &A::peak_fraction);
        a.put("gathered_elements", "1/clock", 1, 1, 256, log, "key elements that an SM gathers per clock", &A::gathered_elements);
        a.put("bandwidth_fraction", "1", 1, 0.2, 1, lin, "fraction of DRAM bandwidth", &A::bandwidth_fraction);
    }
}

}  // namespace roofcast
