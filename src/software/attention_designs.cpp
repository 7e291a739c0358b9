#include "software/attention_designs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/identifier.hpp"
#include "roofcast/error.hpp"
#include "software/tables.hpp"

namespace roofcast {

namespace {

using D = AttentionDesign;

constexpr std::array<std::string_view, 6> split_names{"none", "fastest", "full_waves", "even_chunks", "even_steps", "free_sms"};
constexpr Range fraction{0, 1}, physical_cycles{0, 1e6}, physical_scale{0, 100, true};
constexpr std::int64_t tallest_block = 1024, widest_head = 4096;

template <class T>
struct DesignKey {
    std::string_view name;
    T D::*member;
    Range range = non_negative;
};

constexpr DesignKey<bool> flags[] = {{"decodes_by_keys", &D::decodes_by_keys}, {"decodes_by_queries", &D::decodes_by_queries},
                                     {"fitted_start", &D::fitted_start},       {"interleaves_sets", &D::interleaves_sets},
                                     {"windows_apart", &D::windows_apart},     {"joins_prompts", &D::joins_prompts},
                                     {"regroups_heads", &D::regroups_heads},   {"has_sinks", &D::has_sinks},
                                     {"even_starts", &D::even_starts},         {"start_grows_with_width", &D::start_grows_with_width}};

constexpr DesignKey<double> numbers[] = {{"imbalance", &D::imbalance, fraction},
                                         {"start_alone", &D::start_alone, fraction},
                                         {"block_cycles", &D::block_cycles, physical_cycles},
                                         {"split_block_cycles", &D::split_block_cycles, physical_cycles},
                                         {"split_block_scale", &D::split_block_scale, physical_scale},
                                         {"combine_scale", &D::combine_scale, physical_scale},
                                         {"merge_row_cycles", &D::merge_row_cycles, physical_cycles},
                                         {"row_bytes_per_sm_clock", &D::row_bytes_per_sm_clock, positive},
                                         {"bias_instructions", &D::bias_instructions, physical_cycles},
                                         {"softmax_cycles", &D::softmax_cycles, physical_cycles},
                                         {"softmax_overlap", &D::softmax_overlap, fraction},
                                         {"tensor_core_rate", &D::tensor_core_rate, positive_fraction},
                                         {"masked_score_cycles", &D::masked_score_cycles, physical_cycles},
                                         {"conversion_instructions", &D::conversion_instructions, physical_cycles},
                                         {"simt_units", &D::simt_units, positive},
                                         {"simt_rate", &D::simt_rate, physical_scale},
                                         {"scan_cycles", &D::scan_cycles, physical_cycles}};

constexpr DesignKey<std::int64_t> counts[] = {{"query_rows", &D::query_rows, {1, tallest_block}},
                                              {"key_step", &D::key_step, {1, tallest_block}},
                                              {"most_scanned", &D::most_scanned, {1, 1e6}}};

KeySplit read_split(TableReader table) {
    KeySplit split;
    const std::string text = table.text("algorithm");
    const auto* const found = std::find(split_names.begin(), split_names.end(), text);
    if (found == split_names.end()) {
        const std::vector<std::string> known(split_names.begin(), split_names.end());
        throw table.error("algorithm", "unknown split-KV algorithm", text, fmt::format("{}", fmt::join(known, ", ")),
                          did_you_mean(text, known));
    }
    constexpr std::int64_t most_blocks = 32;
    split.algorithm = static_cast<SplitAlgorithm>(found - split_names.begin());
    split.keys = table.count_if("keys").value_or(split.keys);
    split.blocks_per_sm = table.count_if("blocks_per_sm", 1, most_blocks).value_or(split.blocks_per_sm);
    split.most_parts = table.count_if("most_parts").value_or(split.most_parts);
    table.finish();
    return split;
}

/// Ascending heights of blocks, of which there is one at least.
std::vector<std::int64_t> read_rows(TableReader& table, std::string_view key) {
    std::vector<std::int64_t> rows = table.counts_if(key, 1, tallest_block);
    if (rows.empty() || !std::is_sorted(rows.begin(), rows.end()))
        throw table.error(key, "not a list of block heights", fmt::format("[{}]", fmt::join(rows, ", ")), "one or more, ascending");
    return rows;
}

std::vector<PackedRows> read_packed_rows(TableReader& table) {
    std::vector<PackedRows> packed;
    for (TableReader& entry : table.tables("packed_rows")) {
        PackedRows rows;
        rows.widest_head = entry.count_if("widest_head", 1, widest_head).value_or(rows.widest_head);
        rows.rows = read_rows(entry, "rows");
        entry.finish();
        packed.push_back(std::move(rows));
    }
    return packed;
}

AttentionStart read_start(TableReader table) {
    AttentionStart start;
    start.prompt_cycles = table.number_if("prompt_cycles", physical_cycles).value_or(0);
    start.decode_cycles = table.number_if("decode_cycles", physical_cycles).value_or(0);
    start.causal_cycles = table.number_if("causal_cycles", physical_cycles).value_or(0);
    start.wide_cycles = table.number_if("wide_cycles", physical_cycles).value_or(0);
    start.narrow_head = table.count_if("narrow_head", 1, widest_head).value_or(start.narrow_head);
    table.finish();
    return start;
}

AttentionDesign read_design(TableReader& table) {
    AttentionDesign design;
    for (const auto& key : flags) design.*key.member = table.flag_if(key.name).value_or(design.*key.member);
    for (const auto& key : numbers) design.*key.member = table.number_if(key.name, key.range).value_or(design.*key.member);
    for (const auto& key : counts) {
        const auto least = static_cast<std::int64_t>(key.range.lower), most = static_cast<std::int64_t>(key.range.upper);
        design.*key.member = table.count_if(key.name, least, most).value_or(design.*key.member);
    }
    if (const auto start = table.number_if("far_start_us", non_negative)) design.far_start = *start * us;
    design.packed_rows = read_packed_rows(table);
    if (table.has("prompt_split")) design.prompt_split = read_split(table.table("prompt_split"));
    if (table.has("decode_split")) design.decode_split = read_split(table.table("decode_split"));
    if (table.has("start")) design.start = read_start(table.table("start"));
    if (table.has("shared_row_tiles")) {
        design.shared_row_tiles = read_rows(table, "shared_row_tiles");
        if (design.row_bytes_per_sm_clock <= 0)
            throw table.missing("row_bytes_per_sm_clock", "the rate at which rows of shared_row_tiles are loaded");
    }
    if (design.prompt_split.algorithm == SplitAlgorithm::fastest)
        throw table.error("prompt_split", "only decoding can use the algorithm fastest", "fastest", "another algorithm");
    return design;
}

}  // namespace

std::vector<NamedAttention> read_attention_designs(TableReader& library, const std::string& source) {
    std::vector<NamedAttention> designs;
    for (TableReader& table : library.tables("attention")) {
        NamedAttention named;
        named.name = required_identifier(table, "name", table.text("name"));
        named.source = table.text_if("source").value_or(source);
        named.kernels.design = read_design(table);
        if (const auto uncached = table.text_if("uncached"))
            named.kernels.uncached = named_attention(table, "uncached", *uncached, designs).kernels.design;
        table.finish();
        if (std::any_of(designs.begin(), designs.end(), [&](const NamedAttention& known) { return known.name == named.name; }))
            throw table.error("name", "two attention designs have the same name", named.name);
        designs.push_back(std::move(named));
    }
    return designs;
}

const NamedAttention& named_attention(const TableReader& table, std::string_view key, const std::string& name, AttentionDesigns known) {
    const auto found = std::find_if(known.begin(), known.end(), [&name](const NamedAttention& design) { return design.name == name; });
    if (found != known.end()) return *found;
    std::vector<std::string> names;
    for (const NamedAttention& design : known) names.push_back(design.name);
    throw table.error(key, "unknown attention design", name, "the name of a table [[attention]] of software/libraries",
                      did_you_mean(name, names));
}

}  // namespace roofcast
