#include <fmt/format.h>

#include <algorithm>

#include "io/data_folder.hpp"
#include "io/identifier.hpp"
#include "io/toml_reader.hpp"
#include "profile/architecture_facts.hpp"
#include "profile/machine.hpp"
#include "profile/minimal_profile.hpp"
#include "profile/prices.hpp"
#include "profile/profile_keys.hpp"
#include "roofcast/cost_parameters.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

namespace {

// In addition to those of minimal profiles.
constexpr Range physical_fp32_units{1, 4096}, physical_bandwidth_gb_s{0.1, 1e6}, physical_capacity_gb{1e-2, 1e5},
    physical_cache_mb{1e-3, 1e5}, physical_delivered_fraction{0.3, 1};
constexpr Range physical_sm_memory_kib{0.1, 1e6}, physical_watts{0.1, 1e5}, physical_usd{1e-6, 1e8}, physical_gpus_in_instance{1e-3, 1024};

std::string joined_notes(TableReader& top) {
    const toml::node* node = top.node("notes");
    if (node == nullptr || node->is_string()) return top.text_if("notes").value_or("");
    return fmt::format("{}", fmt::join(top.texts_if("notes"), "; "));
}

void read_identity(TableReader& top, GpuProfile& gpu, const std::filesystem::path& file) {
    gpu.file = file.string();
    gpu.name = top.text("name");
    gpu.id = required_identifier(top, "id", top.text_if("id").value_or(identifier_of(file.stem().string())));
    if (auto other = top.text_if("changed_from")) gpu.changed_from = required_identifier(top, "changed_from", std::move(*other));
    gpu.vendor = top.text_if("vendor").value_or("");
    gpu.aliases = top.texts_if("aliases");
    gpu.also_called = top.texts_if("also_called");
    gpu.architecture = architecture_id(top.text("architecture"));
    if (!gpu.architecture.empty()) gpu.architecture = required_identifier(top, "architecture", std::move(gpu.architecture));
    if (const auto text = top.text_if("compute_capability")) {
        gpu.compute_capability = parse_capability(*text);
        if (!gpu.compute_capability) throw top.error("compute_capability", "invalid compute capability", {}, "such as \"8.0\"");
    }
    constexpr std::int64_t first_year = 1990, last_year = 2100;
    gpu.release_year = static_cast<int>(top.count_if("release_year", first_year, last_year).value_or(0));
    gpu.form_factor = top.text_if("form_factor").value_or("");
    gpu.source = top.text_if("source").value_or("");
    gpu.notes = joined_notes(top);
}

/// The text at `<stem>_source`, which says where the value at `key` comes from. Each needs the other.
std::string source_of(TableReader& table, std::string_view stem, std::string_view key, bool given, std::string_view what) {
    const std::string source_key = fmt::format("{}_source", stem);
    std::string source = table.text_if(source_key).value_or("");
    if (given && source.empty()) throw table.missing(source_key, fmt::format("where {} was measured", key));
    if (!given && !source.empty())
        throw table.error(source_key, fmt::format("source of a {} that is not given", what), {}, fmt::format("{} as well", key));
    return source;
}

/// Consumer GPUs run above the boost clock of their data sheet; how far is measured, and needs a source.
void read_sustained_clock(TableReader& table, GpuProfile& gpu) {
    const auto clock = clock_if(table, "sustained_clock_mhz");
    gpu.sustained_clock_source = source_of(table, "sustained_clock", "sustained_clock_mhz", clock.has_value(), "clock");
    if (!clock) return;
    if (gpu.boost_clock <= 0 * hertz) throw table.missing("boost_clock_mhz", "the clock that sustained_clock_mhz is compared with");
    constexpr double most_headroom = 1.5;
    const double boost = gpu.boost_clock.in(mhz);
    if (*clock < gpu.boost_clock || *clock > most_headroom * gpu.boost_clock)
        throw table.error("sustained_clock_mhz", "sustained clock out of range", fmt::format("{:g}", clock->in(mhz)),
                          fmt::format("from boost_clock_mhz ({:g}) to {:g} of it", boost, most_headroom),
                          "GPUs that fall below their boost clock are described by tdp_watts and thermally_limited");
    gpu.sustained_clock = *clock;
}

/// What the GPU draws without work is read off its own sensor, and needs a source.
void read_power(TableReader table, GpuProfile& gpu) {
    gpu.tdp = table.number_if("tdp_watts", physical_watts).value_or(0) * watt;
    gpu.thermally_limited = table.flag_if("thermally_limited").value_or(false);
    gpu.idle = table.number_if("idle_watts", physical_watts).value_or(0) * watt;
    gpu.idle_source = source_of(table, "idle", "idle_watts", gpu.idle > Watts{}, "power");
    if (gpu.tdp > Watts{} && gpu.idle >= gpu.tdp)
        throw table.error("idle_watts", "idle power out of range", fmt::format("{:g}", gpu.idle.in(watt)),
                          fmt::format("less than tdp_watts ({:g})", gpu.tdp.in(watt)));
    table.finish();
}

std::optional<FlopsPerSecond> peak_at(TableReader& table, const std::string& key) {
    const auto value = table.number_if(key, physical_tflops);
    return value ? std::optional(*value * tflops) : std::nullopt;
}

/// What needs no facts of the architecture, and tells which GPUs a minimal profile is like.
void read_sms_and_clocks(TableReader& table, GpuProfile& gpu) {
    const auto frequency = [&table](std::string_view key) { return clock_if(table, key).value_or(Hertz{}); };
    constexpr std::int64_t most_sms = 100'000;
    gpu.sm_count = table.count_if("sm_count", 1, most_sms).value_or(0);
    gpu.vector_peak[index(Precision::fp32)] = peak_at(table, vector_key(Precision::fp32));
    gpu.base_clock = frequency("base_clock_mhz");
    gpu.boost_clock = frequency("boost_clock_mhz");
    gpu.peak_clock = frequency("peak_clock_mhz");
    gpu.tensor_clock = frequency("tensor_clock_mhz");
    if (gpu.boost_clock > 0 * hertz && gpu.base_clock > gpu.boost_clock)
        throw table.error("base_clock_mhz", "the base clock exceeds the boost clock", fmt::format("{:g} MHz", gpu.base_clock.in(mhz)),
                          fmt::format("at most boost_clock_mhz, which is {:g} MHz", gpu.boost_clock.in(mhz)));
    read_sustained_clock(table, gpu);
}

void read_peaks(TableReader& table, GpuProfile& gpu) {
    gpu.fp32_units_per_sm = table.number_if("fp32_units_per_sm", physical_fp32_units).value_or(gpu.facts.fp32_units_per_sm);
    gpu.process_nm = table.number_if("process_nm", physical_process_nm).value_or(gpu.facts.process_nm);
    for (const Precision p : all_precisions) {
        const bool has_simt = gpu.facts.vector_ratio[index(p)] > 0;
        const bool has_tensor_cores = gpu.facts.tensor_ratio[index(p)] > 0 || gpu.facts.wide_tensor_ratio[index(p)] > 0;
        gpu.vector_peak[index(p)] = peak_at(table, vector_key(p));
        gpu.tensor_peak[index(p)] = peak_at(table, tensor_key(p));
        const std::string what = gpu.compute_capability ? fmt::format("compute capability {}", written(*gpu.compute_capability))
                                                        : fmt::format("the architecture {}", gpu.architecture);
        if (gpu.vector_peak[index(p)] && !has_simt)
            throw table.error(vector_key(p), fmt::format("{} has no {} arithmetic on its CUDA cores", what, name(p)), {},
                              "the key left out", "remove the key, or add the ratio to " + gpu.facts.file);
        if (gpu.tensor_peak[index(p)] && !has_tensor_cores)
            throw table.error(tensor_key(p), fmt::format("{} has no {} tensor cores", what, name(p)), {}, "the key left out",
                              "remove the key, or add the ratio to " + gpu.facts.file);
    }
    gpu.fp16_accumulate_peak = peak_at(table, "fp16_tensor_fp16_accumulate_tflops");
    gpu.fp8_accumulate_peak = peak_at(table, "fp8_tensor_fp16_accumulate_tflops");
    table.finish();
}

/// One size that may be given in decimal or in binary megabytes.
Bytes cache_size(TableReader& table, std::string_view decimal_key, std::string_view binary_key) {
    const auto decimal = table.number_if(decimal_key, physical_cache_mb);
    const auto binary = table.number_if(binary_key, physical_cache_mb);
    if (decimal && binary) throw table.error(decimal_key, fmt::format("given twice: also as {}", binary_key));
    return decimal ? *decimal * mb : binary.value_or(0) * mib;
}

void read_memory(TableReader& top, GpuProfile& gpu) {
    TableReader table = top.table("memory");
    const auto once = [&](std::string_view key, std::string_view minimal_key, Range range) {
        const auto inside = table.number_if(key, range);
        const auto minimal = top.number_if(minimal_key, range);
        if (inside && minimal) throw top.error(minimal_key, fmt::format("given twice: also as memory.{}", key));
        return inside ? inside : minimal;
    };
    if (const auto capacity = once("capacity_gb", "memory_gb", physical_capacity_gb)) gpu.capacity = *capacity * gib;
    const auto bandwidth = once("bandwidth_gb_s", "memory_bandwidth_gbps", physical_bandwidth_gb_s);
    if (!bandwidth) {
        if (const auto slip = top.misspelt("memory_bandwidth_gbps")) throw *slip;
        throw table.missing("bandwidth_gb_s", {}, "or memory_bandwidth_gbps at the top of a minimal profile");
    }
    gpu.bandwidth = *bandwidth * gb_per_s;
    gpu.memory_type = table.text_if("type").value_or("");
    const auto delivered = table.number_if("delivered_fraction", physical_delivered_fraction);
    gpu.delivered_fraction = delivered.value_or(1);
    gpu.delivered_source = source_of(table, "delivered", "delivered_fraction", delivered.has_value(), "share");
    gpu.inline_ecc = table.flag_if("inline_ecc").value_or(false);
    if (gpu.inline_ecc && gpu.memory_type.starts_with("HBM"))
        throw table.error("inline_ecc", fmt::format("{} stores ECC bits outside data memory", gpu.memory_type), "true",
                          "false, or the key left out");
    gpu.l2 = cache_size(table, "l2_mb", "l2_mib");
    gpu.shared_memory_per_sm = table.number_if("shared_memory_per_sm_kib", physical_sm_memory_kib).value_or(0) * kib;
    gpu.registers_per_sm = table.number_if("registers_per_sm_kib", physical_sm_memory_kib).value_or(0) * kib;
    table.finish();
}

void read_gpu(TableReader& top, GpuProfile& gpu) {
    TableReader interconnect = top.table("interconnect");
    if (const auto rate = interconnect.number_if("nvlink_gb_s", physical_bandwidth_gb_s)) gpu.nvlink = *rate * gb_per_s;
    gpu.nvlink_switch = interconnect.flag_if("nvlink_switch").value_or(false);
    constexpr std::int64_t most_lanes = 256, usual_lanes = 16, fewest_joined = 2, most_joined = 1024;
    gpu.nvlink_gpus = interconnect.count_if("nvlink_gpus", fewest_joined, most_joined);
    if (gpu.nvlink_gpus && (!gpu.nvlink || gpu.nvlink_switch))
        throw interconnect.error("nvlink_gpus", "applies to NVLink bridges, which connect only a few GPUs", {},
                                 "nvlink_gb_s as well, and no nvlink_switch");
    read_machine(interconnect, gpu);
    gpu.pcie_generation = static_cast<int>(interconnect.count_if("pcie_generation", 1, newest_pcie).value_or(0));
    gpu.pcie_lanes = static_cast<int>(interconnect.count_if("pcie_lanes", 1, most_lanes).value_or(usual_lanes));
    interconnect.finish();
    read_power(top.table("power"), gpu);
}

/// One `[[price]]`: what is sold together, and who sells it, may be said.
Price read_price(TableReader& table, const PriceList& list) {
    Price price{.kind = table.text("kind"),
                .provider = table.text_if("provider").value_or(""),
                .instance = table.text_if("instance").value_or(""),
                .usd = table.number("usd", physical_usd) * usd,
                .date = table.text_if("date").value_or(""),
                .source = table.text("source"),
                .gpus_in_instance = table.number_if("gpus_in_instance", physical_gpus_in_instance)};
    if (price.kind != "on_demand_hour" && price.kind != "spot_hour" && price.kind != "purchase")
        throw table.error("kind", "unknown kind of price", {}, "on_demand_hour, spot_hour or purchase",
                          did_you_mean(price.kind, {"on_demand_hour", "spot_hour", "purchase"}));
    if (price.kind == "purchase") price.provider_kind = ProviderKind::retail;
    if (!price.provider_kind) price.provider_kind = list.kind_of(price.provider, price.instance);
    if (const auto text = table.text_if("provider_kind")) {
        price.provider_kind = parse_provider_kind(*text);
        const std::vector<std::string> kinds{"hyperscaler", "specialized", "community", "retail"};
        if (!price.provider_kind)
            throw table.error("provider_kind", "unknown kind of provider", {}, fmt::format("{}", fmt::join(kinds, ", ")),
                              did_you_mean(*text, kinds));
    }
    table.finish();
    return price;
}

/// The profile's own prices take the place of those of prices.csv: whoever types one means it.
void read_prices(TableReader& top, GpuProfile& gpu, const PriceList& list) {
    for (TableReader& table : top.tables("price")) gpu.prices.push_back(read_price(table, list));
    auto listed = list.of_gpu.find(gpu.id);
    if (listed == list.of_gpu.end()) listed = list.of_gpu.find(gpu.changed_from);
    if (gpu.prices.empty() && listed != list.of_gpu.end()) gpu.prices = listed->second;
}

void read_explanations(TableReader table, GpuProfile& gpu) {
    for (const auto& key : table.keys()) gpu.explained.push_back({key, table.text(key)});
}

std::filesystem::path facts_folder(const std::filesystem::path& file, const std::filesystem::path& gpus_folder) {
    std::error_code ec;
    if (!gpus_folder.empty()) return gpus_folder;
    if (std::filesystem::is_regular_file(architecture_file(file.parent_path(), default_architecture), ec)) return file.parent_path();
    return data_folder(std::nullopt) / "gpus";
}

void find_facts(TableReader& top, GpuProfile& gpu, const std::filesystem::path& folder, FactsByCapability& read) {
    const auto known = known_architectures(folder);
    if (gpu.architecture.empty()) throw top.error("architecture", "empty", "\"\"", fmt::format("one of {}", fmt::join(known, ", ")));
    gpu.architecture = known_architecture(gpu.architecture, known);
    try {
        auto place = read.find(gpu.compute_capability);
        if (place == read.end())
            place = read.emplace(gpu.compute_capability, load_architecture_facts(folder, gpu.architecture, gpu.compute_capability)).first;
        gpu.facts = place->second;
    } catch (const Error& e) {
        if (e.detail().key != "compute_capability") throw;
        throw top.error("compute_capability", e.detail().what, e.detail().found, e.detail().expected, e.detail().suggestion);
    }
    if (std::find(known.begin(), known.end(), gpu.architecture) == known.end()) {
        std::string reason = fmt::format("{} has no file in gpus/arch", gpu.architecture);
        const auto hint = did_you_mean(gpu.architecture, known);
        reason += "; " + (hint.empty() ? fmt::format("known are {}", fmt::join(known, ", ")) : hint);
        assume(gpu, "architecture", "current data-centre GPU", reason);
    }
    if (gpu.vendor.empty()) gpu.vendor = gpu.facts.vendor;
}

}  // namespace

GpuProfile load_gpu_profile(const std::filesystem::path& file, const std::filesystem::path& gpus_folder) {
    const std::filesystem::path folder = facts_folder(file, gpus_folder);
    return load_gpu_profile(file, folder, load_price_list(folder));
}

GpuProfile load_gpu_profile(const std::filesystem::path& file, const std::filesystem::path& gpus_folder, const PriceList& prices) {
    FactsByCapability facts;
    return load_gpu_profile(file, gpus_folder, prices, facts);
}

GpuProfile load_gpu_profile(const std::filesystem::path& file, const std::filesystem::path& gpus_folder, const PriceList& prices,
                            FactsByCapability& facts) {
    const toml::table document = parse_toml_file(file);
    TableReader top(document, file.string());
    GpuProfile gpu;
    read_identity(top, gpu, file);
    find_facts(top, gpu, gpus_folder, facts);
    read_memory(top, gpu);
    read_gpu(top, gpu);
    read_prices(top, gpu, prices);
    read_explanations(top.table("explained"), gpu);
    TableReader compute = top.table("compute");
    read_sms_and_clocks(compute, gpu);
    const auto minimal = read_minimal_profile(top, gpu, gpus_folder);
    read_peaks(compute, gpu);
    top.finish();
    if (!gpu.compute_capability && gpu.facts.default_capability) {
        gpu.compute_capability = gpu.facts.default_capability;
        assume(gpu, "compute_capability", written(*gpu.compute_capability), "not stated; the first of " + gpu.architecture);
    }
    try {
        derive(gpu, minimal);
    } catch (const Error& e) {
        throw top.error(e.detail().key, e.detail().what, e.detail().found, e.detail().expected, e.detail().suggestion);
    }
    return gpu;
}

}  // namespace roofcast
