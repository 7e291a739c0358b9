#include <fmt/format.h>

#include "profile/parameter_groups.hpp"

namespace roofcast {

namespace {

void add_convolutions(Specs& specs) {
    using C = CausalConvolutionParameters;
    constexpr std::string_view phases[] = {"prompt", "update"};
    for (std::size_t phase = 0; phase < 2; ++phase) {
        GroupAdder c(specs, fmt::format("causal_convolution.{}", phases[phase]),
                     [phase](CostParameters& p) -> C& { return p.recurrent.convolution[phase]; });
        c.put("fixed_cycles", "cycles", 1, 500, 40000, log, "launch of a causal convolution", &C::fixed_cycles);
        c.put("token_cycles", "cycles", 1, 0, 5000, lin, "latency per token within a thread block", &C::token_cycles);
        c.put("sequence_cycles", "cycles", 1, 0, 2000, lin, "SM cycles per channel and sequence", &C::sequence_cycles);
        c.put("element_cycles", "cycles", 1, 0.005, 8, log, "SM cycles per channel and token", &C::element_cycles);
        if (phase == 0)
            c.put("unaligned", "1", 1, 0, 2, lin,
                  "relative slowdown of walking kernels when a sequence's tokens are not a multiple of 16 bytes", &C::unaligned);
        c.put("bandwidth_fraction", "1", 1, 0.2, 1, lin, "fraction of DRAM bandwidth", &C::bandwidth_fraction);
    }
}

void add_recurrences(Specs& specs) {
    using R = ChunkedRecurrenceParameters;
    GroupAdder r(specs, "recurrence.prompt", [](CostParameters& p) -> R& { return p.recurrent.prompt; });
    r.put("fixed_cycles", "cycles", 1, 1000, 150000, log, "kernel launches of a recurrence over prompts", &R::fixed_cycles);
    r.put("fill_cycles", "cycles", 1, 0, 100000, lin, "latency of a full chunk beyond that of one token", &R::fill_cycles);
    r.put("sequence_cycles", "cycles", 1, 0, 60000, lin, "SM cycles per head and sequence", &R::sequence_cycles);
    r.put("chunk_cycles", "cycles", 1, 0, 80000, lin, "SM cycles per head and chunk", &R::chunk_cycles);
    r.put("token_cycles", "cycles", 1, 0, 3000, lin, "SM cycles per head and token", &R::token_cycles);
    r.put("block_cycles", "cycles", 1, 0, 80000, lin, "latency of a wave of heads, one SM each", &R::block_cycles);
    r.put("chain_cycles", "cycles", 1, 100, 20000, log, "latency of a wave of heads per chunk", &R::chain_cycles);
    r.put("passes", "1", 1, 1, 20, log, "memory passes of a token's q, k, v and output per head, intermediates included", &R::passes);
    r.put("working_set_fraction", "1", 1, 0.05, 1, log, "fraction of these bytes that are live in L2 at a time", &R::working_set_fraction);
    r.put("overlap", "1", 1, 0, 1, lin, "fraction of the non-bounding terms that the bounding one hides", &R::overlap);
    using U = RecurrentUpdateParameters;
    GroupAdder u(specs, "recurrence.update", [](CostParameters& p) -> U& { return p.recurrent.update; });
    u.put("fixed_cycles", "cycles", 1, 500, 60000, log, "launch of the state update of a recurrence", &U::fixed_cycles);
    u.put("token_cycles", "cycles", 1, 0, 20000, lin, "latency of each token after the first", &U::token_cycles);
    u.put("element_cycles", "cycles", 1, 0.01, 5, log, "SM cycles per state element read or written", &U::element_cycles);
    u.put("bandwidth_fraction", "1", 1, 0.2, 1, lin, "fraction of DRAM bandwidth", &U::bandwidth_fraction);
    u.put("working_set_fraction", "1", 1, 0.4, 1, lin, "fraction of the bytes read and written that are live in L2 at a time",
          &U::working_set_fraction);
}

void add_hyper_connections(Specs& specs) {
    using H = HyperConnectionParameters;
    constexpr std::string_view kinds[] = {"pre", "post"};
    for (std::size_t kind = 0; kind < 2; ++kind) {
        GroupAdder h(specs, fmt::format("hyper_connection.{}", kinds[kind]),
                     [kind](CostParameters& p) -> H& { return p.recurrent.hyper_connection[kind]; });
        h.put("fixed_cycles", "cycles", 1, 500, 60000, log, "kernel launches of the hyper-connections of one sublayer", &H::fixed_cycles);
        h.put("column_cycles", "cycles", 1, 0, 30, lin, "latency per element of the hidden size", &H::column_cycles);
        h.put("element_cycles", "cycles", 1, 0.005, 20, log, "SM cycles per element of a stream", &H::element_cycles);
        h.put("bandwidth_fraction", "1", 1, 0.1, 1, lin, "fraction of DRAM bandwidth at which streams, inputs and outputs move once",
              &H::bandwidth_fraction);
        h.put("working_set_fraction", "1", 1, 0.1, 1, log, "fraction of these bytes that are live in L2 at a time",
              &H::working_set_fraction);
    }
}

}  // namespace

void add_recurrent(Specs& specs) {
    add_convolutions(specs);
    add_recurrences(specs);
    add_hyper_connections(specs);
}

}  // namespace roofcast
