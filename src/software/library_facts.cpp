#include "software/library_facts.hpp"

#include <algorithm>
#include <charconv>
#include <span>

#include "roofcast/gpu_profile.hpp"
#include "software/library_tiles.hpp"

namespace roofcast {

namespace {

/// One key of a table: reads it into a set of facts, and copies it to another.
struct FactKey {
    std::string_view name;
    void (*read)(TableReader&, std::string_view, LibraryFacts&, AttentionDesigns);
    void (*copy)(const LibraryFacts&, LibraryFacts&);
};

template <auto member>
void copied(const LibraryFacts& from, LibraryFacts& to) {
    to.*member = from.*member;
}

template <auto member>
void flag(TableReader& table, std::string_view key, LibraryFacts& facts, AttentionDesigns /*designs*/) {
    facts.*member = table.flag_if(key).value_or(facts.*member);
}

template <auto member>
void tiles(TableReader& table, std::string_view key, LibraryFacts& facts, AttentionDesigns /*designs*/) {
    facts.*member = shaped_tiles(table, key);
}

HeadBlocks read_head_blocks(TableReader table, AttentionDesigns designs) {
    HeadBlocks heads;
    heads.design = named_attention(table, "design", table.text("design"), designs).kernels.design;
    heads.most_tokens = table.count("most_tokens");
    heads.widest_head = table.count("widest_head");
    heads.cut_sequences = table.count_if("cut_sequences", 0).value_or(0);
    heads.cut_sequences_8bit = table.count_if("cut_sequences_8bit", 0).value_or(heads.cut_sequences);
    table.finish();
    return heads;
}

const FactKey library_keys[] = {
    {"expert_tiles", tiles<&LibraryFacts::expert_tiles>, copied<&LibraryFacts::expert_tiles>},
    {"fp8_tiles", tiles<&LibraryFacts::fp8_tiles>, copied<&LibraryFacts::fp8_tiles>},
    {"fp8_single_row_us",
     [](TableReader& t, std::string_view key, LibraryFacts& f, AttentionDesigns) { f.fp8_single_row = t.number(key, non_negative) * us; },
     copied<&LibraryFacts::fp8_single_row>},
    {"quantizes_by_tensors", flag<&LibraryFacts::quantizes_by_tensors>, copied<&LibraryFacts::quantizes_by_tensors>},
    {"batched_simt_tile",
     [](TableReader& t, std::string_view key, LibraryFacts& f, AttentionDesigns) { f.batched_simt_tile = tile_sides(t, key); },
     copied<&LibraryFacts::batched_simt_tile>},
    {"linear_simt_rows",
     [](TableReader& t, std::string_view key, LibraryFacts& f, AttentionDesigns) { f.linear_simt_rows = linear_simt_rows(t, key); },
     copied<&LibraryFacts::linear_simt_rows>},
    {"head_blocks",
     [](TableReader& t, std::string_view key, LibraryFacts& f, AttentionDesigns d) { f.head_blocks = read_head_blocks(t.table(key), d); },
     copied<&LibraryFacts::head_blocks>},
};

template <CacheFormat format>
void cached_attention(TableReader& table, std::string_view key, LibraryFacts& facts, AttentionDesigns designs) {
    facts.attention[index(format)] = named_attention(table, key, table.text(key), designs).kernels;
}

template <CacheFormat format>
void copied_attention(const LibraryFacts& from, LibraryFacts& to) {
    to.attention[index(format)] = from.attention[index(format)];
}

constexpr std::int64_t fewest_queries = 16, most_queries = 512;

const FactKey attention_keys[] = {
    {"plain", cached_attention<CacheFormat::plain>, copied_attention<CacheFormat::plain>},
    {"narrow", cached_attention<CacheFormat::narrow>, copied_attention<CacheFormat::narrow>},
    {"framework",
     [](TableReader& t, std::string_view key, LibraryFacts& f, AttentionDesigns d) {
         f.framework_attention = named_attention(t, key, t.text(key), d).kernels.design;
     },
     copied<&LibraryFacts::framework_attention>},
    {"general",
     [](TableReader& t, std::string_view key, LibraryFacts& f, AttentionDesigns d) {
         f.general_attention = named_attention(t, key, t.text(key), d).kernels.design;
     },
     copied<&LibraryFacts::general_attention>},
    {"general_widths",
     [](TableReader& t, std::string_view key, LibraryFacts& f, AttentionDesigns) {
         TableReader widths = t.table(key);
         for (const CacheFormat format : all_cache_formats) f.general_widths[index(format)] = widths.counts_if(name(format), 1);
         widths.finish();
     },
     copied<&LibraryFacts::general_widths>},
    {"query_block",
     [](TableReader& t, std::string_view key, LibraryFacts& f, AttentionDesigns) {
         f.query_block = t.count(key, fewest_queries, most_queries);
     },
     copied<&LibraryFacts::query_block>},
};

/// "10" or "10.3".
std::optional<CapabilityPattern> parse_pattern(std::string_view text) {
    const auto whole = [](std::string_view part) {
        int value = 0;
        const auto [end, status] = std::from_chars(part.data(), part.data() + part.size(), value);
        return status == std::errc{} && end == part.data() + part.size() && value >= 0 ? std::optional(value) : std::nullopt;
    };
    const std::size_t point = text.find('.');
    const auto major = whole(text.substr(0, point));
    if (!major) return std::nullopt;
    if (point == std::string_view::npos) return CapabilityPattern{*major};
    const auto minor = whole(text.substr(point + 1));
    return minor ? std::optional(CapabilityPattern{*major, minor}) : std::nullopt;
}

LibraryFactsTable read_facts(TableReader& table, AttentionDesigns designs, std::span<const FactKey> keys) {
    LibraryFactsTable facts;
    facts.architectures = table.texts_if("architectures");
    facts.capability = read_capabilities(table, "capability");
    for (const FactKey& key : keys) {
        if (!table.has(key.name)) continue;
        key.read(table, key.name, facts.values, designs);
        facts.stated.emplace_back(key.name);
    }
    return facts;
}

bool holds_on(const LibraryFactsTable& table, const GpuProfile& gpu) {
    const auto& names = table.architectures;
    if (!names.empty() && std::find(names.begin(), names.end(), gpu.architecture) == names.end()) return false;
    if (table.capability.empty()) return true;
    const auto own = gpu.compute_capability ? gpu.compute_capability : gpu.facts.default_capability;
    return own && std::any_of(table.capability.begin(), table.capability.end(), [&own](const CapabilityPattern& p) {
               return p.major == own->major && p.minor.value_or(own->minor) == own->minor;
           });
}

}  // namespace

std::vector<CapabilityPattern> read_capabilities(TableReader& table, std::string_view key) {
    std::vector<CapabilityPattern> capabilities;
    for (const std::string& text : table.texts_if(key)) {
        const auto pattern = parse_pattern(text);
        if (!pattern) throw table.error(key, "is no compute capability", text, "such as \"9\" for all 9.x, or \"10.3\"");
        capabilities.push_back(*pattern);
    }
    return capabilities;
}

LibraryFactsTable read_library_facts(TableReader& table, const std::string& source, AttentionDesigns designs) {
    LibraryFactsTable facts = read_facts(table, designs, library_keys);
    facts.source = table.text_if("source").value_or(source);
    table.finish();
    return facts;
}

LibraryFactsTable read_attention_choice(TableReader& table, AttentionDesigns designs) {
    LibraryFactsTable facts = read_facts(table, designs, attention_keys);
    facts.source = table.text("source");
    table.finish();
    return facts;
}

LibraryFacts facts_on(const GpuProfile& gpu, std::span<const LibraryFactsTable> tables) {
    LibraryFacts facts;
    const auto copy_stated = [&facts](const LibraryFactsTable& table, std::span<const FactKey> keys) {
        for (const FactKey& key : keys) {
            if (std::find(table.stated.begin(), table.stated.end(), key.name) != table.stated.end()) key.copy(table.values, facts);
        }
    };
    for (const LibraryFactsTable& table : tables) {
        if (!holds_on(table, gpu)) continue;
        copy_stated(table, library_keys);
        copy_stated(table, attention_keys);
    }
    return facts;
}

}  // namespace roofcast
