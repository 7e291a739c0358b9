#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>

#include "execution/software_tables.hpp"
#include "io/identifier.hpp"
#include "io/toml_reader.hpp"
#include "roofcast/execution.hpp"

namespace roofcast {

namespace {

constexpr std::array<std::string_view, execution_count> execution_names{"eager", "cuda_graph", "compiled", "tensorrt", "fused"};

void read_stack(TableReader& table, SoftwareStack& stack) {
    stack.kernels = read_kernel_set(table);
    stack.host_per_kernel = table.number("host_us_per_kernel", non_negative) * us;
    stack.host_per_convolution = table.number_if("host_us_per_convolution", non_negative).value_or(0) * us;
    stack.host_per_pass = table.number("host_us_per_pass", non_negative) * us;
    stack.device_gap = table.number("device_gap_us", non_negative) * us;
    stack.channels_last = table.flag_if("channels_last").value_or(true);
    stack.pcie_contention = table.number_if("pcie_contention", {0, 2});
    stack.fp32_scores = table.flag_if("fp32_scores").value_or(false);
    stack.prefill_chunk = table.count_if("prefill_chunk_tokens", 0).value_or(0);
    stack.copies_heads = table.flag_if("copies_heads").value_or(false);
    stack.concatenates_cache = table.flag_if("concatenates_cache").value_or(false);
    stack.repeats_keys = table.flag_if("repeats_keys").value_or(false);
    stack.split_ungrouped = table.flag_if("split_ungrouped").value_or(true);
    stack.copy_instructions = table.number_if("copy_instructions", non_negative).value_or(0);
    stack.quantized_copy_instructions = table.number_if("quantized_copy_instructions", non_negative);
    if (!stack.repeats_keys && !stack.concatenates_cache) {
        for (const std::string_view key : {"copy_instructions", "quantized_copy_instructions"}) {
            if (table.has(key))
                throw table.error(key, "means nothing where no keys are copied", {}, "concatenates_cache or repeats_keys beside it");
        }
    }
    stack.separate_mask = table.flag_if("separate_mask").value_or(false);
    stack.half_padded = read_half_padded(table);
    stack.separate_bias = table.flag_if("separate_bias").value_or(false);
    stack.fp32_norms = table.flag_if("fp32_norms").value_or(false);
    stack.mixed_precision = table.flag_if("mixed_precision").value_or(false);
    if (stack.fp32_norms && !stack.mixed_precision)
        throw table.error("fp32_norms", "means nothing without mixed precision", {}, "mixed_precision = true beside it");
    stack.logits_of_prompt = table.flag_if("logits_of_prompt").value_or(false);
    stack.head_by_sequences = table.flag_if("head_by_sequences").value_or(false);
    stack.grouped_experts = table.flag_if("grouped_experts").value_or(false);
    stack.separate_projections = table.flag_if("separate_projections").value_or(false);
    stack.window_mask_time = table.number_if("host_ns_per_window_mask", non_negative).value_or(0) * ns;
    stack.reads_back_sizes = table.flag_if("reads_back_sizes").value_or(false);
    stack.state_on_host = table.flag_if("state_on_host").value_or(false);
    stack.suppression_kernels = table.number_if("suppression_kernels", non_negative).value_or(0);
    if (stack.suppression_kernels > 0 && stack.kernels != KernelSet::framework)
        throw table.error("suppression_kernels", "means nothing where operators are not issued kernel by kernel", {},
                          "kernels = \"framework\" beside it");
    stack.fp32_library_attention = table.flag_if("fp32_library_attention").value_or(false);
    if (stack.fp32_library_attention && stack.kernels != KernelSet::framework)
        throw table.error("fp32_library_attention", "means nothing where no framework calls a library", {},
                          "kernels = \"framework\" beside it");
    stack.casts_weights = table.flag_if("casts_weights").value_or(false);
    if (stack.casts_weights && !stack.mixed_precision)
        throw table.error("casts_weights", "means nothing without mixed precision", {}, "mixed_precision = true beside it");
    stack.kernels_beside_4bit = table.number_if("kernels_beside_4bit", non_negative).value_or(0);
    stack.kernels_beside_8bit = table.number_if("kernels_beside_8bit", non_negative).value_or(0);
    stack.unpacks_from_rows = table.count_if("unpacks_from_rows", 0).value_or(0);
    stack.fp32_activations = table.flag_if("fp32_activations").value_or(false);
    constexpr std::int64_t tallest_tile = 256;
    stack.least_tile_rows = static_cast<int>(table.count_if("least_tile_rows", 0, tallest_tile).value_or(0));
    stack.least_tile_rate = table.number_if("least_tile_rate", share).value_or(1);
    if (stack.least_tile_rate < 1 && stack.least_tile_rows == 0)
        throw table.error("least_tile_rate", "means nothing where products are not padded", {}, "least_tile_rows beside it");
    stack.fp8_tile = read_tile(table, "fp8_tile", tallest_tile);
    stack.odd_rows_on_lanes = table.flag_if("odd_rows_on_lanes").value_or(false);
    stack.tf32_products = table.flag_if("tf32_products").value_or(true);
    stack.fused_attention = table.flag_if("fused_attention").value_or(true);
    stack.fused_wide_attention = table.flag_if("fused_wide_attention").value_or(stack.fused_attention);
    if (stack.fused_wide_attention && !stack.fused_attention)
        throw table.error("fused_wide_attention", "means nothing without fused attention", {}, "fused_attention = true beside it");
    stack.fused_encoder_tokens = table.count_if("fused_encoder_tokens", 0).value_or(0);
    if (stack.fused_encoder_tokens > 0 && stack.fused_attention)
        throw table.error("fused_encoder_tokens", "means nothing where all attention is fused", {}, "fused_attention = false beside it");
    stack.window_kernels = table.flag_if("window_kernels").value_or(false);
    stack.narrow_activations = table.flag_if("narrow_activations").value_or(false);
    stack.fp16_accumulation = table.flag_if("fp16_accumulation").value_or(false);
    stack.pipeline_chunk = table.count_if("pipeline_chunk_tokens", 0).value_or(0);
    stack.pipeline_overlap = table.number_if("pipeline_overlap", {0, 1}).value_or(1);
    stack.fastest_precision = table.flag_if("fastest_precision").value_or(false);
    stack.sharing_groups = read_group_sizes(table);
    stack.general_sinks = table.flag_if("general_sinks").value_or(false);
    stack.cache_of_free = table.flag_if("cache_of_free").value_or(false);
    stack.joint_attention = table.flag_if("joint_attention").value_or(false);
    stack.head_blocks = table.flag_if("head_blocks").value_or(false);
    stack.converts_cache = table.flag_if("converts_cache").value_or(true);
    stack.unpacks_on_lanes = table.flag_if("unpacks_on_lanes").value_or(false);
    stack.warp_matrix = table.flag_if("warp_matrix").value_or(false);
    stack.warp_matrix_experts = table.flag_if("warp_matrix_experts").value_or(false);
    stack.vector_bytes_per_sm_clock = table.number_if("vector_bytes_per_sm_clock", positive).value_or(0);
    stack.send_gap = table.number_if("send_gap_us", non_negative).value_or(0) * us;
    stack.all_reduce_library = table.text_if("all_reduce").value_or("");
    stack.waits_for_8bit_products = table.flag_if("waits_for_8bit_products").value_or(false);
    stack.unpacked_4bit_per_sm_clock = table.number_if("unpacked_4bit_per_sm_clock", positive).value_or(0);
    stack.unpacked_8bit_per_sm_clock = table.number_if("unpacked_8bit_per_sm_clock", positive).value_or(0);
    stack.matmul_rate = table.number_if("matmul_rate", share).value_or(1);
    stack.expert_launch = table.number_if("expert_launch_us", non_negative).value_or(0) * us;
    stack.expert_rate = table.number_if("expert_rate", share).value_or(1);
    stack.decode_attention_rate = table.number_if("decode_attention_rate", share).value_or(1);
    stack.grouped_decode_attention = read_grouped_decoding(table);
    stack.long_contexts = read_long_contexts(table);
    stack.decoders = read_decoder_habits(table);
    stack.streaming_rate = table.number_if("streaming_rate", share).value_or(1);
    stack.element_instructions = table.number_if("element_instructions", non_negative).value_or(0);
    stack.memory_overhead = table.number("memory_overhead_mb", non_negative) * mb;
    stack.cold_context = table.number("cold_context_ms", non_negative) * ms;
    stack.cold_per_kernel = table.number("cold_ms_per_kernel", non_negative) * ms;
    stack.source = table.text("source");
}

Execution read_execution(TableReader& table, std::string_view key, const std::string& text) {
    if (const auto e = parse_execution(text)) return *e;
    const std::vector<std::string> known(execution_names.begin(), execution_names.end());
    throw table.error(key, "unknown way of execution", text, fmt::format("{}", fmt::join(known, ", ")), did_you_mean(text, known));
}

/// What an engine has where its own table says nothing: what the one that it is `like` says, else its first way of execution.
toml::table defaults_of(TableReader& own, const toml::table& root, Execution first) {
    toml::table defaults = *root[name(first)].as_table();
    const auto like = own.text_if("like");
    if (!like) return defaults;
    std::vector<std::string> known;
    for (const auto& node : *root["engine"].as_array()) {
        const toml::table& engine = *node.as_table();
        if (engine.contains("like")) continue;
        known.push_back(engine["name"].value_or(std::string()));
        if (known.back() != *like) continue;
        for (const auto& [key, value] : engine) defaults.insert_or_assign(key, value);
        return defaults;
    }
    throw own.error("like", "is no engine that stands by itself", *like, fmt::format("{}", fmt::join(known, ", ")),
                    did_you_mean(*like, known));
}

/// `own` over what it has by default.
Engine read_engine(const toml::table& own, const toml::table& root, const std::string& file, std::size_t number) {
    TableReader names(own, file, fmt::format("engine[{}]", number));
    Engine engine;
    engine.match = names.texts_if("match");
    for (const auto& text : names.texts_if("execution")) engine.executions.push_back(read_execution(names, "execution", text));
    engine.vendor = names.text_if("vendor").value_or("");
    if (engine.match.empty()) throw names.missing("match", "first words of the software column");
    if (engine.executions.empty()) throw names.missing("execution", "ways of execution");
    const Execution first = engine.executions.front();
    const toml::table defaults = defaults_of(names, root, first);
    TableReader table(own, file, fmt::format("engine[{}]", number), &defaults);
    engine.stack.execution = first;
    engine.stack.name = required_identifier(table, "name", table.text("name"));
    for (const std::string_view key : {"match", "execution"}) static_cast<void>(table.texts_if(key));
    for (const std::string_view key : {"vendor", "like"}) static_cast<void>(table.text_if(key));
    read_stack(table, engine.stack);
    table.finish();
    return engine;
}

/// Gives engines the libraries that they name. A data folder without libraries leaves all to the vendor's.
void attach_libraries(std::vector<Engine>& engines, const KernelLibraries& libraries, const std::string& file) {
    if (libraries.empty()) return;
    for (Engine& engine : engines) {
        const std::string& wanted = engine.stack.all_reduce_library;
        if (wanted.empty()) continue;
        engine.stack.all_reduce = find_library(libraries, wanted);
        if (engine.stack.all_reduce) continue;
        std::vector<std::string> known;
        for (const auto& library : libraries) known.push_back(library->name);
        throw Error({.what = fmt::format("engine {} names an unknown library of kernels", engine.stack.name),
                     .file = file,
                     .key = "all_reduce",
                     .found = wanted,
                     .expected = fmt::format("{}", fmt::join(known, ", ")),
                     .suggestion = did_you_mean(wanted, known)});
    }
}

}  // namespace

bool begins_with_words(std::string_view software, std::string_view match) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    std::size_t at = 0;
    for (const char c : match) {
        if (c == '*') {
            at = std::min(software.find(' ', at), software.size());
        } else if (at == software.size() || lower(software[at++]) != lower(c)) {
            return false;
        }
    }
    return at == software.size() || std::strchr(" /:.", software[at]) != nullptr;
}

std::string_view name(Execution e) {
    return execution_names[index(e)];
}

std::optional<Execution> parse_execution(std::string_view text) {
    for (std::size_t i = 0; i < execution_count; ++i) {
        if (text == execution_names[i]) return static_cast<Execution>(i);
    }
    return std::nullopt;
}

const Engine* SoftwareStacks::engine(Execution execution, std::string_view software, std::string_view vendor) const {
    const Engine* found = nullptr;
    std::size_t longest = 0;
    for (const Engine& engine : engines) {
        if (std::find(engine.executions.begin(), engine.executions.end(), execution) == engine.executions.end()) continue;
        if (!engine.vendor.empty() && engine.vendor != vendor) continue;
        for (const std::string& match : engine.match) {
            const bool preferred = match.size() > longest || (match.size() == longest && !engine.vendor.empty());
            if (!preferred || !begins_with_words(software, match)) continue;
            longest = match.size();
            found = &engine;
        }
    }
    return found;
}

const SoftwareStack& SoftwareStacks::find(Execution execution, std::string_view software, std::string_view vendor) const {
    const Engine* named = engine(execution, software, vendor);
    return named == nullptr ? by_execution[index(execution)] : named->stack;
}

SoftwareStacks load_software(const std::filesystem::path& gpus_folder) {
    const auto file = gpus_folder / "software.toml";
    const toml::table root = parse_toml_file(file);
    TableReader reader(root, file.string());
    SoftwareStacks stacks;
    for (std::size_t i = 0; i < execution_count; ++i) {
        TableReader table = reader.table(execution_names[i]);
        stacks.by_execution[i].name = execution_names[i];
        stacks.by_execution[i].execution = static_cast<Execution>(i);
        read_stack(table, stacks.by_execution[i]);
        table.finish();
    }
    if (!reader.tables("engine").empty()) {
        for (const auto& node : *root["engine"].as_array())
            stacks.engines.push_back(read_engine(*node.as_table(), root, file.string(), stacks.engines.size()));
    }
    reader.finish();
    attach_libraries(stacks.engines, load_kernel_libraries(gpus_folder.parent_path() / "software" / "libraries"), file.string());
    return stacks;
}

Gpu with_software(Gpu gpu, const SoftwareStack& stack) {
    auto& peak = gpu.profile.tensor_peak[index(Precision::fp16)];
    const auto& faster = gpu.profile.fp16_accumulate_peak;
    if (stack.fp16_accumulation && peak && faster && *faster > *peak) peak = faster;
    if (gpu.profile.facts.warp_matrix_fraction < 1) gpu.profile.facts.least_tile_rows = stack.least_tile_rows;
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    if (stack.fp8_tile > 0)
        gpu.profile.facts.fp8_tiles = {{.most_m = any, .most_n = any, .rows = stack.fp8_tile, .columns = stack.fp8_tile}};
    auto& contention = gpu.parameters.values.collective.pcie_contention;
    contention = stack.pcie_contention.value_or(contention);
    return gpu;
}

}  // namespace roofcast
