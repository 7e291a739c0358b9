#include "report/describe.hpp"

#include <fmt/format.h>

namespace roofcast {

namespace {

struct Shape {
    std::string operator()(const Gemm& op) const {
        const std::string weights = op.weight_bits < 8 * element_size(op.precision).in(byte) ? fmt::format(" w{}", op.weight_bits) : "";
        return (op.batch > 1 ? fmt::format("batch={} ", op.batch) : "") + fmt::format("m={} n={} k={}", op.m, op.n, op.k) + weights;
    }
    std::string operator()(const Attention& op) const {
        return fmt::format("batch={} heads={}/{} dim={} query={} kv={}{}{}{}", op.batch, op.heads, op.kv_heads, op.head_dim, op.query_len,
                           op.kv_len, op.causal ? " causal" : "", op.window > 0 ? fmt::format(" window={}", op.window) : "",
                           op.kv_precision == op.precision ? "" : fmt::format(" cache={}", name(op.kv_precision)));
    }
    std::string operator()(const Conv2d& op) const {
        return fmt::format("batch={} in={}x{}x{} out={} kernel={} stride={}{}", op.batch, op.in_channels, op.height, op.width,
                           op.out_channels, op.kernel_h, op.stride, op.groups > 1 ? fmt::format(" groups={}", op.groups) : "");
    }
    std::string operator()(const Elementwise& op) const { return fmt::format("elements={}", op.elements); }
    std::string operator()(const RowWise& op) const { return fmt::format("rows={} cols={}", op.rows, op.cols); }
    std::string operator()(const Quantize& op) const { return fmt::format("rows={} cols={}", op.rows, op.cols); }
    std::string operator()(const CausalConvolution& op) const {
        return fmt::format("batch={} query={} channels={}{}", op.batch, op.query_len, op.channels, op.update ? " update" : "");
    }
    std::string operator()(const Recurrence& op) const {
        return fmt::format("{} batch={} query={} heads={}/{} dim={}x{}{}", name(op.layer), op.batch, op.query_len, op.value_heads,
                           op.key_heads, op.key_dim, op.value_dim, op.update ? " update" : "");
    }
    std::string operator()(const HyperConnection& op) const {
        return fmt::format("tokens={} sites={} streams={} hidden={}", op.tokens, op.sites, op.streams, op.hidden);
    }
    std::string operator()(const IndexScores& op) const {
        return fmt::format("batch={} query={} keys={} heads={} dim={}", op.batch, op.query_len, op.keys, op.heads, op.dim);
    }
    std::string operator()(const TopK& op) const { return fmt::format("rows={} scores={:.0f} top_k={}", op.rows, op.scores, op.top_k); }
    std::string operator()(const SparseAttention& op) const {
        return fmt::format("batch={} query={} heads={}/{} dim={} keys={:.0f} of {}", op.batch, op.query_len, op.heads, op.kv_heads,
                           op.head_dim, op.keys, op.cached);
    }
    std::string operator()(const Moe& op) const {
        return fmt::format("tokens={} hidden={} intermediate={} experts={}/{} tp={} ep={}", op.tokens, op.hidden, op.intermediate, op.top_k,
                           op.experts, op.tensor_parallel, op.expert_parallel);
    }
    std::string operator()(const Collective& op) const { return fmt::format("gpus={} bytes={}", op.gpus, op.bytes.in(byte)); }
    std::string operator()(const Copy& op) const { return fmt::format("bytes={}", op.bytes.in(byte)); }
    template <class Other>
    std::string operator()(const Other&) const {
        return {};
    }
};

}  // namespace

std::string shape_text(const Op& op) {
    return std::visit(Shape{}, op);
}

std::string shape_text(const ModelRow& row) {
    std::string text = fmt::format("batch={}", row.batch);
    if (row.block) {
        const AttentionBlock& block = row.block->block;
        text += fmt::format(" heads={} query={} kv={} cache={}", block.heads, block.query_len, block.kv_len,
                            row.kv_precision ? name(*row.kv_precision) : "");
    }
    if (row.prompt_tokens) text += fmt::format(" prompt={}", *row.prompt_tokens);
    if (row.output_tokens) text += fmt::format(" output={}", *row.output_tokens);
    if (row.image_size) text += fmt::format(" image={}", *row.image_size);
    if (row.gpus > 1) text += fmt::format(" gpus={}", row.gpus);
    if (row.weights && !row.weights->label.empty()) text += " " + row.weights->label;
    return text;
}

std::string weights_text(const Run& run) {
    const std::string format(name(run.weight_format()));
    return run.expert_weights ? fmt::format("{}, experts {}", format, name(*run.expert_weights)) : format;
}

std::string parallel_text(const Parallelism& p) {
    if (p.gpus() == 1) return {};
    return fmt::format(", {} GPUs (tp {}, pp {}, dp {}{}{})", p.gpus(), p.tensor, p.pipeline, p.data,
                       p.expert > 1 ? fmt::format(", ep {}", p.expert) : "",
                       p.attention_data > 1 ? fmt::format(", attention dp {}", p.attention_data) : "");
}

nlohmann::ordered_json parallel_json(const Parallelism& p) {
    return {{"gpus", p.gpus()}, {"tensor", p.tensor}, {"pipeline", p.pipeline},
            {"data", p.data},   {"expert", p.expert}, {"attention_data", p.attention_data}};
}

std::string place_text(const Origin& origin) {
    return fmt::format("{}:{}", std::filesystem::path(origin.file).filename().string(), origin.line);
}

}  // namespace roofcast
