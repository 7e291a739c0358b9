#include "units/weight_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/toml_reader.hpp"
#include "units/weight_formats_text.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t most_block = 4096, most_model_layers = 1000, most_experts = 4096;

template <class Value, std::size_t Count>
Value named_value(const TableReader& table, std::string_view key, std::string_view text,
                  const std::pair<std::string_view, Value> (&names)[Count]) {
    std::vector<std::string> known;
    for (const auto& [name, value] : names) {
        if (text == name) return value;
        known.emplace_back(name);
    }
    throw table.error(key, "unknown name", std::string(text), fmt::format("{}", fmt::join(known, ", ")), did_you_mean(text, known));
}

MixTensor read_tensor(const TableReader& table, const std::string& text) {
    constexpr std::pair<std::string_view, MixTensor> names[] = {
        {"attn_q", MixTensor::attn_q},   {"attn_k", MixTensor::attn_k},     {"attn_v", MixTensor::attn_v},
        {"ffn_up", MixTensor::ffn_up},   {"ffn_down", MixTensor::ffn_down}, {"attn_output", MixTensor::attn_output},
        {"experts", MixTensor::experts}, {"output", MixTensor::output},     {"token_embd", MixTensor::token_embd}};
    return named_value(table, "tensors", text, names);
}

void read_layers(TableReader& table, MixRule& rule) {
    constexpr std::pair<std::string_view, MixLayers> names[] = {{"first_eighth", MixLayers::first_eighth},
                                                                {"first_sixteenth", MixLayers::first_sixteenth},
                                                                {"middle", MixLayers::middle},
                                                                {"more_bits", MixLayers::more_bits}};
    const toml::node* layers = table.node("layers");
    if (layers == nullptr) return;
    if (layers->is_string()) {
        rule.layers = named_value(table, "layers", table.text("layers"), names);
    } else {
        rule.layers = MixLayers::first;
        rule.first = table.count("layers", 1, most_model_layers);
    }
}

Precision read_stored_precision(TableReader& table) {
    const std::string text = table.text("precision");
    if (const auto precision = parse_precision(text)) return *precision;
    throw table.error("precision", "unknown precision", text, "int4, int8, fp8, fp4, fp16 or another");
}

/// The format that `key` names.
std::size_t read_format_name(TableReader& table, std::string_view key, const WeightTables& tables) {
    const std::string name = table.text(key);
    if (const StoredFormat* found = tables.format(name)) return static_cast<std::size_t>(found - tables.formats.data());
    std::vector<std::string> known;
    for (const StoredFormat& stored : tables.formats) known.push_back(stored.format.label);
    throw table.error(key, "unknown format", name, "the name of a [[format]] above", did_you_mean(name, known));
}

StoredFormat read_stored_format(TableReader table, const WeightTables& tables) {
    constexpr double most_bits = 64;
    StoredFormat stored;
    WeightFormat& format = stored.format;
    format.label = table.text("name");
    format.precision = read_stored_precision(table);
    format.every_table = table.flag_if("every_table").value_or(false);
    format.block_scales = table.flag_if("block_scales").value_or(false);
    if (const auto bits = table.number_if("bits", {0, most_bits, true})) {
        format.bits = *bits;
    } else {
        TableReader block = table.table("block");
        stored.block_weights = block.count("weights", 1, most_block);
        stored.block_bytes = block.count("bytes", 1, most_block);
        block.finish();
        format.bits = 8 * static_cast<double>(stored.block_bytes) / static_cast<double>(stored.block_weights);
    }
    stored.ggml_type = table.count_if("ggml_type", 0);
    if (table.has("short_rows")) stored.short_rows = read_format_name(table, "short_rows", tables);
    if (const auto unpacked = table.number_if("unpacked_per_sm_clock", positive)) format.unpack_cycles = 1 / *unpacked;
    static_cast<void>(table.text_if("source"));
    table.finish();
    return stored;
}

MixRule read_rule(TableReader table, const WeightTables& tables) {
    MixRule rule;
    for (const std::string& tensor : table.texts_if("tensors")) rule.tensors.push_back(read_tensor(table, tensor));
    rule.format = read_format_name(table, "format", tables);
    read_layers(table, rule);
    table.expect({"experts", "least_experts"});
    rule.experts = table.count_if("experts", 1, most_experts).value_or(0);
    rule.least_experts = table.count_if("least_experts", 1, most_experts).value_or(0);
    rule.least_group = table.count_if("least_group", 1, most_experts).value_or(0);
    rule.model_layers = table.count_if("model_layers", 1, most_model_layers).value_or(0);
    table.finish();
    return rule;
}

WeightMix read_mix(TableReader table, const WeightTables& tables) {
    WeightMix mix;
    mix.name = table.text("name");
    mix.aliases = table.texts_if("aliases");
    mix.format = read_format_name(table, "format", tables);
    mix.mean_bits = table.number("mean_bits", positive);
    mix.file_type = table.count("file_type", 0);
    static_cast<void>(table.text_if("source"));
    for (TableReader& rule : table.tables("rules")) mix.rules.push_back(read_rule(std::move(rule), tables));
    table.finish();
    return mix;
}

template <class Item, class Same>
const Item* first_of(const std::vector<Item>& items, Same same) {
    const auto found = std::find_if(items.begin(), items.end(), same);
    return found == items.end() ? nullptr : &*found;
}

}  // namespace

const StoredFormat* WeightTables::format(std::string_view name) const {
    return first_of(formats, [&](const StoredFormat& f) { return f.format.label == name; });
}

const StoredFormat* WeightTables::of_ggml_type(std::int64_t type) const {
    return first_of(formats, [&](const StoredFormat& f) { return f.ggml_type == type; });
}

const WeightMix* WeightTables::mix(std::string_view name_or_alias) const {
    return first_of(mixes, [&](const WeightMix& m) {
        return m.name == name_or_alias || std::find(m.aliases.begin(), m.aliases.end(), name_or_alias) != m.aliases.end();
    });
}

const WeightMix* WeightTables::of_file_type(std::int64_t type) const {
    return first_of(mixes, [&](const WeightMix& m) { return m.file_type == type; });
}

WeightTables read_weight_tables(std::string_view text, const std::string& file) {
    const toml::table root = parse_toml(text, file);
    TableReader reader(root, file);
    WeightTables tables;
    for (TableReader& table : reader.tables("format")) tables.formats.push_back(read_stored_format(std::move(table), tables));
    for (TableReader& table : reader.tables("mix")) tables.mixes.push_back(read_mix(std::move(table), tables));
    tables.short_output = read_format_name(reader, "short_output", tables);
    reader.finish();
    return tables;
}

const WeightTables& weight_tables() {
    static const WeightTables tables = read_weight_tables(weight_formats_text, "software/weight-formats.toml");
    return tables;
}

std::optional<WeightFormat> named_weight_format(const std::string& name) {
    const WeightTables& tables = weight_tables();
    if (const WeightMix* mix = tables.mix(name)) {
        WeightFormat format = tables.formats[mix->format].format;
        format.label = mix->name;
        format.bits = mix->mean_bits;
        format.mixed = true;
        return format;
    }
    const StoredFormat* stored = tables.format(name);
    return stored == nullptr ? std::nullopt : std::optional(stored->format);
}

std::vector<std::string> named_weight_formats() {
    const WeightTables& tables = weight_tables();
    std::vector<std::string> names;
    const auto add = [&names](const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const StoredFormat& stored : tables.formats) add(stored.format.label);
    for (const WeightMix& mix : tables.mixes) {
        add(mix.name);
        for (const std::string& alias : mix.aliases) add(alias);
    }
    return names;
}

}  // namespace roofcast
