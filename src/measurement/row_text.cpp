#include "measurement/row_text.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace roofcast {

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

std::string place_text(const Origin& origin) {
    return fmt::format("{}:{}", std::filesystem::path(origin.file).filename().string(), origin.line);
}

}  // namespace roofcast
