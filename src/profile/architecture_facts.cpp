#include "profile/architecture_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "roofcast/cost_parameters.hpp"

namespace roofcast {

namespace {

std::array<double, precision_count> ratios(TableReader table) {
    std::array<double, precision_count> values{};
    for (const Precision p : all_precisions) values[index(p)] = table.number_if(name(p), positive).value_or(0);
    table.finish();
    return values;
}

std::array<bool, precision_count> precision_set(TableReader& table, std::string_view key) {
    std::array<bool, precision_count> set{};
    for (const auto& text : table.texts_if(key)) {
        const auto p = parse_precision(text);
        if (!p) throw table.error(key, "unknown precision", text, "names such as fp16");
        set[index(*p)] = true;
    }
    return set;
}

std::array<double, 2> positive_range(TableReader& table, std::string_view key) {
    const auto bounds = table.numbers_if(key, positive);
    if (bounds.size() != 2 || bounds[0] > bounds[1]) throw table.error(key, "wrong list", {}, "[lowest, highest]");
    return {bounds[0], bounds[1]};
}

std::vector<MemoryTypeBandwidth> memory_types(TableReader table) {
    std::vector<MemoryTypeBandwidth> types;
    for (const auto& type : table.keys()) {
        const auto [lowest, highest] = positive_range(table, type);
        types.push_back({type, lowest * gb_per_s, highest * gb_per_s});
    }
    return types;
}

std::vector<MemoryTypeIdlePower> idle_powers(TableReader table) {
    std::vector<MemoryTypeIdlePower> powers;
    for (const auto& type : table.keys()) powers.push_back({type, table.number(type, positive) * (watt / gb_per_s)});
    return powers;
}

std::vector<FormFactorMachine> machines(TableReader table) {
    constexpr std::int64_t most_in_a_machine = 1024;
    std::vector<FormFactorMachine> found;
    for (const auto& form_factor : table.keys()) found.push_back({form_factor, table.count(form_factor, 1, most_in_a_machine)});
    return found;
}

FarRows far_rows(TableReader table) {
    const FarRows rows{.fetch_cycles = table.number("fetch_cycles", positive),
                       .length = table.number("kib", positive) * kib,
                       .rows = table.number("rows", positive)};
    table.finish();
    return rows;
}

GpuRanges gpu_ranges(TableReader table) {
    const auto sms = positive_range(table, "sm_count"), clock = positive_range(table, "boost_clock_mhz"),
               power = positive_range(table, "watts_per_sm"), bandwidth = positive_range(table, "gb_s_per_sm");
    table.finish();
    return {.fewest_sms = sms[0],
            .most_sms = sms[1],
            .lowest_boost_clock = clock[0] * mhz,
            .highest_boost_clock = clock[1] * mhz,
            .least_power_per_sm = power[0] * watt,
            .most_power_per_sm = power[1] * watt,
            .least_bandwidth_per_sm = bandwidth[0] * gb_per_s,
            .most_bandwidth_per_sm = bandwidth[1] * gb_per_s};
}

/// Name of an architecture that has a file next to the table's own; empty when the key is absent.
std::string described_architecture(TableReader& table, std::string_view key) {
    const auto name = table.text_if(key);
    if (!name) return {};
    const std::filesystem::path folder = std::filesystem::path(table.file()).parent_path();
    const auto known = known_architectures(folder.parent_path());
    if (std::find(known.begin(), known.end(), *name) == known.end())
        throw table.error(key, "unknown architecture", {}, fmt::format("one of {}", fmt::join(known, ", ")));
    return *name;
}

ArchitectureFacts read_facts(TableReader& table) {
    ArchitectureFacts facts;
    facts.file = table.file();
    facts.source = table.text("source");
    facts.vendor = table.text("vendor");
    if (const auto text = table.text_if("default_capability")) {
        facts.default_capability = parse_capability(*text);
        if (!facts.default_capability) throw table.error("default_capability", "invalid compute capability", {}, "such as \"8.0\"");
    }
    facts.fp32_units_per_sm = table.number("fp32_units_per_sm", positive);
    facts.integer_units_per_sm = table.number_if("integer_units_per_sm", positive).value_or(0);
    facts.vector_ratio = ratios(table.table("vector_ratio"));
    facts.vector_ratio[index(Precision::fp32)] = 1;
    facts.tensor_flops_per_sm_clock = table.number_if("tensor_flops_per_sm_clock", positive).value_or(0);
    facts.tensor_ratio = ratios(table.table("tensor_ratio"));
    facts.wide_tensor_ratio = ratios(table.table("wide_tensor_ratio"));
    facts.half_rate_accumulate = precision_set(table, "half_rate_accumulate");
    facts.sparse_ratio = table.number_if("sparse_ratio", {1, 4}).value_or(1);
    if (table.has("gpu_ranges")) facts.gpu_ranges = gpu_ranges(table.table("gpu_ranges"));
    facts.boost_clock = table.number("boost_clock_mhz", positive) * mhz;
    facts.tensor_clock = table.number_if("tensor_clock_mhz", positive).value_or(facts.boost_clock.in(mhz)) * mhz;
    facts.base_clock_ratio = table.number("base_clock_ratio", {0, 1, true});
    facts.l2_per_sm = table.number("l2_kib_per_sm", positive) * kib;
    facts.shared_memory_per_sm = table.number("shared_memory_per_sm_kib", positive) * kib;
    facts.l1_per_sm = table.number_if("l1_kib_per_sm", positive).value_or(facts.shared_memory_per_sm.in(kib)) * kib;
    facts.shared_memory_per_clock = table.number_if("shared_memory_bytes_per_clock", positive).value_or(0) * byte;
    constexpr std::int64_t usual_threads = 2048, fewest_threads = 32, most_threads = 8192;
    facts.threads_per_sm = static_cast<double>(table.count_if("threads_per_sm", fewest_threads, most_threads).value_or(usual_threads));
    facts.registers_per_sm = table.number("registers_per_sm_kib", positive) * kib;
    facts.l2_partitions = static_cast<int>(table.count_if("l2_partitions", 1, 16).value_or(1));
    facts.warp_mma_fraction = table.number_if("warp_mma_fraction", {0, 1, true}).value_or(1);
    if (table.has("far_rows")) facts.far_rows = far_rows(table.table("far_rows"));
    facts.rows_in_turn = table.flag_if("rows_in_turn").value_or(false);
    facts.kernels_of = described_architecture(table, "kernels_of");
    facts.switch_reduction = table.number_if("switch_reduction", {0, 1}).value_or(0);
    facts.pcie_generation = static_cast<int>(table.count("pcie_generation", 1, newest_pcie));
    facts.process_nm = table.number("process_nm", physical_process_nm);
    facts.watts_per_fp32_tflops = table.number("watts_per_fp32_tflops", positive);
    facts.idle_fraction = table.number_if("idle_fraction", {0, 1});
    facts.usable_memory_fraction = table.number_if("usable_memory_fraction", {0, 1, true});
    facts.idle_powers = idle_powers(table.table("idle_watts_per_gb_s"));
    facts.memory_types = memory_types(table.table("bandwidth_gb_s"));
    facts.machines = machines(table.table("gpus_per_machine"));
    return facts;
}

/// Keys that `[typical]` may hold for all capabilities of an architecture.
constexpr std::string_view fact_keys[] = {"source",
                                          "vendor",
                                          "default_capability",
                                          "fp32_units_per_sm",
                                          "integer_units_per_sm",
                                          "vector_ratio",
                                          "tensor_flops_per_sm_clock",
                                          "tensor_ratio",
                                          "wide_tensor_ratio",
                                          "half_rate_accumulate",
                                          "sparse_ratio",
                                          "gpu_ranges",
                                          "boost_clock_mhz",
                                          "tensor_clock_mhz",
                                          "base_clock_ratio",
                                          "l2_kib_per_sm",
                                          "shared_memory_per_sm_kib",
                                          "l1_kib_per_sm",
                                          "shared_memory_bytes_per_clock",
                                          "threads_per_sm",
                                          "registers_per_sm_kib",
                                          "l2_partitions",
                                          "warp_mma_fraction",
                                          "far_rows",
                                          "rows_in_turn",
                                          "kernels_of",
                                          "switch_reduction",
                                          "pcie_generation",
                                          "process_nm",
                                          "watts_per_fp32_tflops",
                                          "idle_fraction",
                                          "usable_memory_fraction",
                                          "idle_watts_per_gb_s",
                                          "bandwidth_gb_s",
                                          "gpus_per_machine"};

const toml::table& typical_table(const toml::table& document, const std::filesystem::path& file) {
    const toml::table* typical = document["typical"].as_table();
    if (typical == nullptr) throw Error({.what = "the table [typical] is missing", .file = file.string(), .key = "typical"});
    return *typical;
}

/// Compute capabilities that have a table of their own.
std::vector<std::string> capabilities_of(const TableReader& typical) {
    std::vector<std::string> capabilities = typical.keys();
    std::erase_if(capabilities, [](const std::string& key) { return !parse_capability(key); });
    return capabilities;
}

/// The facts in `[typical]` of `file`: the table of one capability over what all have in common.
ArchitectureFacts facts_in(const std::filesystem::path& file, std::optional<ComputeCapability> capability) {
    const toml::table document = parse_toml_file(file);
    const toml::table& typical = typical_table(document, file);
    TableReader common(typical, file.string(), "typical");
    const std::vector<std::string> capabilities = capabilities_of(common);
    if (capabilities.empty()) {
        ArchitectureFacts facts = read_facts(common);
        common.finish();
        return facts;
    }
    const std::string wanted = capability ? written(*capability) : common.text("default_capability");
    if (std::find(capabilities.begin(), capabilities.end(), wanted) == capabilities.end()) {
        throw Error({.what = "the architecture has no chip with this compute capability",
                     .key = "compute_capability",
                     .found = wanted,
                     .expected = fmt::format("one of {}", fmt::join(capabilities, ", ")),
                     .suggestion = fmt::format("or add [typical.\"{}\"] to {}", wanted, file.string())});
    }
    for (const auto& key : capabilities) static_cast<void>(common.table(key));
    for (const std::string_view key : fact_keys) static_cast<void>(common.node(key));
    common.finish();
    TableReader reader(*typical.get(wanted)->as_table(), file.string(), fmt::format("typical.\"{}\"", wanted), &typical);
    ArchitectureFacts facts = read_facts(reader);
    reader.finish();
    return facts;
}

}  // namespace

void check_architecture_facts(const std::filesystem::path& file) {
    const toml::table document = parse_toml_file(file);
    for (const auto& key : capabilities_of(TableReader(typical_table(document, file), file.string(), "typical")))
        static_cast<void>(facts_in(file, parse_capability(key)));
    static_cast<void>(facts_in(file, std::nullopt));
}

ArchitectureFacts load_architecture_facts(const std::filesystem::path& gpus_folder, const std::string& architecture,
                                          std::optional<ComputeCapability> capability) {
    const std::filesystem::path fallback = architecture_file(gpus_folder, default_architecture);
    const std::filesystem::path file = architecture_file(gpus_folder, architecture);
    std::error_code ec;
    if (architecture.empty() || architecture.front() == '_' || !std::filesystem::is_regular_file(file, ec))
        return facts_in(fallback, std::nullopt);
    ArchitectureFacts facts = facts_in(file, capability);
    const ArchitectureFacts general = facts_in(fallback, std::nullopt);
    if (facts.memory_types.empty()) facts.memory_types = general.memory_types;
    if (facts.machines.empty()) facts.machines = general.machines;
    if (facts.idle_powers.empty()) facts.idle_powers = general.idle_powers;
    if (!facts.idle_fraction) facts.idle_fraction = general.idle_fraction;
    if (!facts.usable_memory_fraction) facts.usable_memory_fraction = general.usable_memory_fraction;
    return facts;
}

}  // namespace roofcast
