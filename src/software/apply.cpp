#include <algorithm>
#include <limits>

#include "roofcast/software.hpp"

namespace roofcast {

namespace {

/// The caller of the stack's kernels.
Caller caller_of(const SoftwareStack& stack) {
    Caller caller = stack.caller;
    caller.framework = stack.lowering.framework();
    caller.own_convolutions = caller.framework && stack.lowering.separate_bias;
    caller.compiled = stack.lowering.kernels == KernelSet::generated;
    return caller;
}

/// What the family's kernels replace of those that run otherwise.
void put_facts(const KernelFamily& family, LibraryFacts& facts) {
    if (family.facts.attention) {
        facts.attention.fill(*family.facts.attention);
        facts.framework_attention.reset();
        facts.general_widths = {};
    }
    if (family.facts.query_block) facts.query_block = *family.facts.query_block;
    facts.quantizes_by_tensors = family.facts.quantizes_by_tensors;
    facts.recurrent = family.facts.recurrent;
    facts.sparse = family.facts.sparse;
    if (family.op == "gemm") facts.fp8_single_row = {};
    if (family.facts.tiles) (family.op == "moe" ? facts.expert_tiles : facts.fp8_tiles) = *family.facts.tiles;
}

/// nullptr: there is none.
const FamilyParameters* fit_of(const KernelFamily& family, const Gpu& gpu) {
    const auto& fits = gpu.parameters.families;
    const auto fit = std::find_if(fits.begin(), fits.end(), [&](const FamilyParameters& f) { return f.family == family.name; });
    return fit == fits.end() ? nullptr : &*fit;
}

/// `profile` with the family's facts, and the parameters of its fit, else those of `device`; called by `caller`.
Gpu with_facts(const GpuProfile& profile, const FamilyParameters* fit, const Gpu& device, const KernelFamily& family,
               const Caller& caller) {
    Gpu seen;
    seen.profile = profile;
    seen.caller = family.called_by(caller);
    put_facts(family, seen.profile.libraries);
    seen.parameters.values = fit != nullptr ? fit->values : device.parameters.values;
    if (fit == nullptr) {
        for (const auto& [parameter, value] : family.values) parameter_specs()[parameter].set(seen.parameters.values, value);
    }
    return seen;
}

bool is_called_directly(const KernelLibrary& library, std::string_view software) {
    const auto begins = [&](const std::string& words) { return begins_with_words(software, words); };
    return std::any_of(library.called_directly.begin(), library.called_directly.end(), begins);
}

/// What kernels compute with, and how the device is called: each family has a copy of the profile, whose texts take longest to copy.
void copy_without_texts(const GpuProfile& from, GpuProfile& to) {
    static_cast<GpuFigures&>(to) = from;
    static_cast<ArchitectureFigures&>(to.facts) = from.facts;
    to.id = from.id;
    to.name = from.name;
    to.vendor = from.vendor;
    to.architecture = from.architecture;
}

}  // namespace

bool has_parameters(const KernelFamily& family, const Gpu& gpu) {
    return !family.needs_fit || fit_of(family, gpu) != nullptr;
}

bool KernelFamily::runs_on(const GpuProfile& gpu) const {
    return takes_any(architectures, gpu.architecture);
}

Caller KernelFamily::called_by(Caller caller) const {
    if (op != "attention") return caller;
    caller.converts_cache = converts_cache;
    caller.sharing_groups = sharing_groups;
    caller.head_blocks = false;
    return caller;
}

Gpu as_family_sees(const Gpu& gpu, const KernelFamily& family) {
    const FamilyParameters* fit = fit_of(family, gpu);
    Gpu seen = with_facts(gpu.profile, fit, gpu, family, gpu.caller);
    seen.parameters.intervals = fit != nullptr && !fit->intervals.empty() ? fit->intervals : gpu.parameters.intervals;
    return seen;
}

GpuProfile with_libraries(GpuProfile gpu, const SoftwareStacks& software) {
    if (software.library_facts) gpu.libraries = facts_on(gpu, *software.library_facts);
    return gpu;
}

Caller SoftwareStacks::caller(std::string_view software, std::string_view vendor) const {
    for (std::size_t mode = 0; mode < execution_count; ++mode) {
        if (const Engine* found = engine(static_cast<Execution>(mode), software, vendor)) return caller_of(found->stack);
    }
    const auto calls = [&](const auto& library) { return is_called_directly(*library, software); };
    return {.vendor_library = std::any_of(libraries.begin(), libraries.end(), calls)};
}

Gpu as_software_sees(const Gpu& device, const SoftwareStack& stack) {
    Gpu gpu;
    copy_without_texts(device.profile, gpu.profile);
    gpu.parameters.values = device.parameters.values;
    gpu.caller = caller_of(stack);
    auto& peak = gpu.profile.tensor_peak[index(Precision::fp16)];
    const auto& faster = gpu.profile.fp16_accumulate_peak;
    if (stack.fp16_accumulation && peak && faster && *faster > *peak) peak = faster;
    if (stack.library_facts) {
        gpu.profile.libraries = facts_on(gpu.profile, *stack.library_facts);
    } else {
        gpu.profile.libraries = device.profile.libraries;
    }
    if (gpu.profile.facts.warp_mma_fraction < 1) gpu.profile.libraries.least_tile_rows = stack.least_tile_rows;
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    if (stack.fp8_tile > 0)
        gpu.profile.libraries.fp8_tiles = {{.most_m = any, .most_n = any, .rows = stack.fp8_tile, .columns = stack.fp8_tile}};
    for (const auto& family : stack.families) {
        if (!family->runs_on(gpu.profile) || !has_parameters(*family, device)) continue;
        gpu.families.push_back(
            {family, std::make_shared<const Gpu>(with_facts(gpu.profile, fit_of(*family, device), device, *family, gpu.caller))});
    }
    return gpu;
}

}  // namespace roofcast
