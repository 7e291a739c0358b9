/// Attention blocks of models' layers from the columns of kernel rows.

#include <fmt/format.h>

#include <algorithm>

#include "measurement/rows.hpp"

namespace roofcast {

namespace {

/// "dsa_generation_module": the kind of layer, and whether it decodes.
AttentionBlock named_block(const Row& row) {
    const std::string function = row.required_text(MeasuredColumn::function);
    for (std::size_t kind = 0; kind < attention_block_names.size(); ++kind) {
        for (const bool decodes : {false, true}) {
            if (function == fmt::format("{}_{}_module", attention_block_names[kind], decodes ? "generation" : "context"))
                return {.kind = static_cast<AttentionBlockKind>(kind), .decodes = decodes};
        }
    }
    throw Unusable{fmt::format("unknown function of an attention block: {} with _context_module or _generation_module is expected",
                               fmt::join(attention_block_names, ", "))};
}

}  // namespace

bool is_block(std::string_view op) {
    return op == "mla_module" || op == "sparse_attention_module";
}

ModelRow parse_block_row(const Row& row) {
    const KernelRow timed = parse_timed_row(row);
    MeasuredBlock block{
        .block = named_block(row), .op_name = timed.op_name, .function = timed.function, .launch_included = timed.launch_included};
    block.block.heads = row.count(MeasuredColumn::heads);
    block.block.query_len = row.count(MeasuredColumn::query_len);
    block.block.kv_len = row.count(MeasuredColumn::kv_len);
    ModelRow result;
    result.gpu = timed.gpu;
    result.model = row.required_text(MeasuredColumn::architecture);
    result.precision = timed.precision;
    result.weights = timed.weights;
    result.kv_precision = row.precision_if(MeasuredColumn::kv_precision).value_or(activation_precision(timed.precision));
    result.batch = row.count(MeasuredColumn::batch);
    require_plausible({result.batch, block.block.heads, block.block.query_len, block.block.kv_len});
    if (block.block.query_len > block.block.kv_len) throw Unusable{"causal attention has more queries than keys"};
    result.execution = Execution::cuda_graph;
    result.metric = Metric::latency_ms;
    result.value = timed.latency.in(ms);
    result.origin = timed.origin;
    result.block = std::move(block);
    return result;
}

}  // namespace roofcast
