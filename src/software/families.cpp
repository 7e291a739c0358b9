#include "software/families.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/identifier.hpp"
#include "roofcast/error.hpp"
#include "software/library_tiles.hpp"
#include "software/tables.hpp"

namespace roofcast {

namespace {

Precision read_precision(const TableReader& table, std::string_view key, const std::string& text) {
    if (const auto precision = parse_precision(text)) return *precision;
    throw table.error(key, "unknown precision", text, "a precision such as bf16 or fp8");
}

WeightFormat read_weights(const TableReader& table, const std::string& text) {
    if (const auto format = parse_weight_format(text)) return *format;
    throw table.error("weights", "unknown weight format", text, "formats of the column weight_precision");
}

RecurrentLayer read_layer(const TableReader& table, const std::string& text) {
    std::vector<std::string> known;
    for (std::size_t i = 0; i < recurrent_layer_count; ++i) {
        known.emplace_back(name(static_cast<RecurrentLayer>(i)));
        if (text == known.back()) return static_cast<RecurrentLayer>(i);
    }
    throw table.error("layers", "unknown recurrent layer", text, fmt::format("{}", fmt::join(known, ", ")), did_you_mean(text, known));
}

RecurrentKernels read_recurrent_kernels(TableReader& table) {
    constexpr std::int64_t most_tokens = 4096;
    RecurrentKernels kernels;
    kernels.block_tokens = table.count_if("block_tokens", 1, most_tokens).value_or(kernels.block_tokens);
    kernels.walks = table.flag_if("walks").value_or(false);
    kernels.keeps_verified = table.flag_if("keeps_verified").value_or(false);
    if (const auto text = table.text_if("state_read")) kernels.state_read = read_precision(table, "state_read", *text);
    if (const auto text = table.text_if("state_written")) kernels.state_written = read_precision(table, "state_written", *text);
    return kernels;
}

SparseKernels read_sparse_kernels(TableReader& table) {
    constexpr std::int64_t most_heads = 128;
    SparseKernels kernels;
    kernels.latent_heads = table.count_if("latent_heads", 1, most_heads).value_or(kernels.latent_heads);
    kernels.grouped_heads = table.count_if("grouped_heads", 1, most_heads).value_or(kernels.grouped_heads);
    kernels.pads_choice = table.flag_if("pads_choice").value_or(false);
    return kernels;
}

/// Parameters by name, in their units.
std::vector<std::pair<std::size_t, double>> read_values(TableReader table) {
    std::vector<std::pair<std::size_t, double>> values;
    for (const auto& key : table.keys()) {
        const auto& specs = parameter_specs();
        const auto spec = std::find_if(specs.begin(), specs.end(), [&](const ParameterSpec& s) { return s.name == key; });
        if (spec == specs.end()) throw table.error(key, "unknown parameter", {}, "a parameter of `roofcast gpu show`");
        values.emplace_back(static_cast<std::size_t>(spec - specs.begin()), table.number(key, {spec->lower, spec->upper}));
    }
    table.finish();
    return values;
}

/// Facts of a family's kernels, which replace those of default kernels.
KernelFacts read_kernel_facts(TableReader& table, AttentionDesigns designs) {
    KernelFacts facts;
    if (const auto name = table.text_if("attention")) facts.attention = named_attention(table, "attention", *name, designs).kernels;
    if (const auto queries = table.count_if("query_block", 16, 512)) facts.query_block = static_cast<int>(*queries);
    facts.quantizes_by_tensors = table.flag_if("quantizes_by_tensors").value_or(false);
    facts.recurrent = read_recurrent_kernels(table);
    facts.sparse = read_sparse_kernels(table);
    if (table.has("tiles")) facts.tiles = shaped_tiles(table, "tiles");
    return facts;
}

}  // namespace

std::shared_ptr<const KernelFamily> read_family(TableReader& table, const std::string& source, AttentionDesigns designs) {
    KernelFamily family;
    family.name = required_identifier(table, "name", table.text("name"));
    family.op = table.text("op");
    family.kernels = table.texts_if("kernels");
    family.engines = table.texts_if("engines");
    family.architectures = table.texts_if("architectures");
    for (const auto& text : table.texts_if("precisions")) family.precisions.push_back(read_precision(table, "precisions", text));
    for (const auto& text : table.texts_if("kv_precisions")) family.kv_precisions.push_back(read_precision(table, "kv_precisions", text));
    for (const auto& text : table.texts_if("weights")) family.weights.push_back(read_weights(table, text));
    family.cached = table.flag_if("cached");
    family.windowed = table.flag_if("windowed");
    family.prompts = table.flag_if("prompts");
    family.head_dims = table.counts_if("head_dims", 1);
    for (const auto& text : table.texts_if("layers")) family.layers.push_back(read_layer(table, text));
    family.verifies = table.flag_if("verifies");
    family.groups = read_group_sizes(table, "groups", 1);
    family.sharing_groups = read_group_sizes(table);
    family.converts_cache = table.flag_if("converts_cache").value_or(true);
    family.batched = table.flag_if("batched");
    family.gated = table.flag_if("gated");
    family.needs_fit = table.flag_if("needs_fit").value_or(true);
    family.rows_include_quantization = table.flag_if("rows_include_quantization").value_or(false);
    family.facts = read_kernel_facts(table, designs);
    family.values = read_values(table.table("values"));
    family.source = table.text_if("source").value_or(source);
    table.finish();
    return std::make_shared<const KernelFamily>(std::move(family));
}

KernelFamilies families_of(const KernelLibraries& libraries) {
    KernelFamilies families;
    for (const auto& library : libraries) {
        for (const auto& family : library->families) {
            const auto same = [&family](const auto& other) { return other->name == family->name; };
            if (std::any_of(families.begin(), families.end(), same))
                throw Error(
                    {.what = "two kernel families have the same name", .file = "software/libraries", .key = "name", .found = family->name});
            families.push_back(family);
        }
    }
    return families;
}

KernelFamilies named_families(TableReader& table, std::string_view key, const KernelFamilies& known) {
    KernelFamilies chosen;
    for (const std::string& name : table.texts_if(key)) {
        const auto found = std::find_if(known.begin(), known.end(), [&name](const auto& family) { return family->name == name; });
        if (found == known.end()) {
            std::vector<std::string> names;
            for (const auto& family : known) names.push_back(family->name);
            throw table.error(key, "unknown kernel family", name, "a family of software/libraries", did_you_mean(name, names));
        }
        chosen.push_back(*found);
    }
    return chosen;
}

}  // namespace roofcast
