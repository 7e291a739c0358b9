#include "software/library_facts.hpp"

#include <algorithm>
#include <charconv>
#include <span>

#include "roofcast/gpu_profile.hpp"
#include "roofcast/software.hpp"
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

template <auto part, auto member>
void copied_part(const LibraryFacts& from, LibraryFacts& to) {
    to.*part.*member = from.*part.*member;
}

template <auto part, auto member>
void part_flag(TableReader& table, std::string_view key, LibraryFacts& facts, AttentionDesigns /*designs*/) {
    facts.*part.*member = table.flag_if(key).value_or(facts.*part.*member);
}

/// Range of rates: above 0, at most 1.
constexpr Range rate_fraction{0, 1, true};

template <auto part, auto member>
void part_fraction(TableReader& table, std::string_view key, LibraryFacts& facts, AttentionDesigns /*designs*/) {
    facts.*part.*member = table.number(key, rate_fraction);
}

/// A table that `read` makes a value of.
template <auto part, auto member, auto read>
void part_table(TableReader& table, std::string_view key, LibraryFacts& facts, AttentionDesigns /*designs*/) {
    TableReader own = table.table(key);
    facts.*part.*member = read(own);
    own.finish();
}

FewRowKernel read_few_rows(TableReader& table) {
    FewRowKernel kernel{.least_rows = table.count("least_rows"),
                        .most_rows = table.count("most_rows"),
                        .least_columns = table.count("least_columns"),
                        .short_k = table.count("short_k", 0),
                        .block_columns = table.count("block_columns"),
                        .block_threads = table.count("block_threads"),
                        .element_cycles = table.number("element_cycles", positive),
                        .start_cycles = table.number("start_cycles", non_negative),
                        .bandwidth_fraction = table.number("bandwidth_fraction", rate_fraction)};
    if (kernel.most_rows < kernel.least_rows) throw table.error("most_rows", "fewer than least_rows", {}, "as many or more");
    return kernel;
}

Tf32Kernels read_tf32(TableReader& table) {
    constexpr std::int64_t widest = 1024;
    return {.start_cycles = table.number("start_cycles", non_negative),
            .widest_tile = static_cast<int>(table.count("widest_tile", 1, widest))};
}

GatheringKernels read_gathering(TableReader& table) {
    constexpr std::int64_t most_bytes = 1024, most_outputs = 1024;
    return {.step = static_cast<double>(table.count("step_bytes", 4, most_bytes)) * byte,
            .wide_step = static_cast<double>(table.count("wide_step_bytes", 4, most_bytes)) * byte,
            .least_outputs = table.count("least_outputs", 1, most_outputs),
            .start_cycles = table.number("start_cycles", non_negative)};
}

ElementConversion read_conversion(TableReader& table) {
    return {.gathered_clocks = table.number("gathered_clocks", positive), .scattered_clocks = table.number("scattered_clocks", positive)};
}

GeneralDepthwise read_general_depthwise(TableReader& table) {
    return {.tap_instructions = table.number("tap_instructions", positive),
            .group_output_instructions = table.number("group_output_instructions", non_negative)};
}

FrameworkDepthwise read_framework_depthwise(TableReader& table) {
    return {.output_instructions = table.number("output_instructions", non_negative),
            .tap_instructions = table.number("tap_instructions", positive),
            .usual_tap_instructions = table.number("usual_tap_instructions", positive)};
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

constexpr auto gemms = &LibraryFacts::gemms;
constexpr auto convolutions = &LibraryFacts::convolutions;

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
    {"splits_misaligned", part_flag<gemms, &GemmKernels::splits_misaligned>, copied_part<gemms, &GemmKernels::splits_misaligned>},
    {"misaligned_tile",
     [](TableReader& t, std::string_view key, LibraryFacts& f, AttentionDesigns) {
         constexpr std::int64_t tallest = 256;
         f.gemms.misaligned_tile = static_cast<int>(t.count(key, 1, tallest));
     },
     copied_part<gemms, &GemmKernels::misaligned_tile>},
    {"misaligned_pair_rate",
     [](TableReader& t, std::string_view key, LibraryFacts& f, AttentionDesigns) {
         constexpr Range rate{1, 4};
         f.gemms.misaligned_pair_rate = t.number(key, rate);
     },
     copied_part<gemms, &GemmKernels::misaligned_pair_rate>},
    {"misaligned_row_on_simt", part_flag<gemms, &GemmKernels::misaligned_row_on_simt>,
     copied_part<gemms, &GemmKernels::misaligned_row_on_simt>},
    {"bias_without_split", part_flag<gemms, &GemmKernels::bias_without_split>, copied_part<gemms, &GemmKernels::bias_without_split>},
    {"few_row_kernel", part_table<gemms, &GemmKernels::few_rows, read_few_rows>, copied_part<gemms, &GemmKernels::few_rows>},
    {"tf32_kernels", part_table<gemms, &GemmKernels::tf32, read_tf32>, copied_part<gemms, &GemmKernels::tf32>},
    {"gathering", part_table<convolutions, &ConvolutionKernels::gathering, read_gathering>,
     copied_part<convolutions, &ConvolutionKernels::gathering>},
    {"large_filter_rate", part_fraction<convolutions, &ConvolutionKernels::large_filter_rate>,
     copied_part<convolutions, &ConvolutionKernels::large_filter_rate>},
    {"fp8_convolution_rate", part_fraction<convolutions, &ConvolutionKernels::fp8_rate>,
     copied_part<convolutions, &ConvolutionKernels::fp8_rate>},
    {"first_layer_kernel", part_flag<convolutions, &ConvolutionKernels::first_layer_kernel>,
     copied_part<convolutions, &ConvolutionKernels::first_layer_kernel>},
    {"pads_channels", part_flag<convolutions, &ConvolutionKernels::pads_channels>,
     copied_part<convolutions, &ConvolutionKernels::pads_channels>},
    {"group_conversion", part_table<convolutions, &ConvolutionKernels::group_conversion, read_conversion>,
     copied_part<convolutions, &ConvolutionKernels::group_conversion>},
    {"general_depthwise", part_table<convolutions, &ConvolutionKernels::general_depthwise, read_general_depthwise>,
     copied_part<convolutions, &ConvolutionKernels::general_depthwise>},
    {"framework_depthwise", part_table<convolutions, &ConvolutionKernels::framework_depthwise, read_framework_depthwise>,
     copied_part<convolutions, &ConvolutionKernels::framework_depthwise>},
    {"batch_norm_by_grid", part_flag<convolutions, &ConvolutionKernels::batch_norm_by_grid>,
     copied_part<convolutions, &ConvolutionKernels::batch_norm_by_grid>},
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
        if (table.node(key.name) == nullptr) continue;
        key.read(table, key.name, facts.values, designs);
        facts.stated.push_back(key.copy);
    }
    return facts;
}

bool holds_on(const LibraryFactsTable& table, const GpuProfile& gpu) {
    if (!takes_any(table.architectures, gpu.architecture)) return false;
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
        if (!pattern) throw table.error(key, "is not a compute capability", text, "such as \"9\" for all 9.x, or \"10.3\"");
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
    for (const LibraryFactsTable& table : tables) {
        if (!holds_on(table, gpu)) continue;
        for (const auto copy : table.stated) copy(table.values, facts);
    }
    return facts;
}

}  // namespace roofcast
