#include "profile/minimal_profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "profile/architecture_names.hpp"

namespace roofcast {

namespace {

std::optional<StatedFigures> stated_figures(TableReader& top, const GpuProfile& gpu) {
    const auto value = top.number_if("compute_tflops", physical_tflops);
    const auto text = top.text_if("compute_precision");
    const auto consumer = top.flag_if("consumer");
    if (!value) {
        if (text) throw top.error("compute_precision", "needs compute_tflops, which is missing");
        if (consumer) throw top.error("consumer", "needs compute_tflops, which is missing");
        return std::nullopt;
    }
    StatedFigures stated{.peak = *value * tflops,
                         .precision = std::nullopt,
                         .consumer = consumer,
                         .bandwidth = gpu.bandwidth,
                         .capacity = gpu.capacity,
                         .memory_type = gpu.memory_type,
                         .fp32 = gpu.vector_peak[index(Precision::fp32)],
                         .sm_count = gpu.sm_count,
                         .boost_clock = gpu.boost_clock,
                         .tdp = gpu.tdp};
    if (text) {
        stated.precision = parse_precision(*text);
        if (!stated.precision) throw top.error("compute_precision", "unknown precision", {}, "a name such as fp16");
    }
    return stated;
}

/// Whether the architecture has GPUs with as many SMs as `reading` implies, and as much bandwidth for each.
bool is_plausible(const StatedFigures& stated, const GpuProfile& gpu, const PeakReading& reading) {
    const ArchitectureFacts& facts = gpu.facts;
    if (!facts.gpu_ranges) return true;
    const std::size_t p = index(reading.precision);
    const double per_sm = facts.tensor_ratio[p] > 0 ? facts.tensor_flops_per_sm_clock * facts.tensor_ratio[p] * facts.tensor_clock.in(hertz)
                                                    : 2 * facts.fp32_units_per_sm * facts.vector_ratio[p] * facts.boost_clock.in(hertz);
    const double sms = stated.peak.value / per_sm;
    const BytesPerSecond each = stated.bandwidth / sms;
    return sms >= facts.gpu_ranges->fewest_sms && sms <= facts.gpu_ranges->most_sms && each >= facts.gpu_ranges->least_bandwidth_per_sm &&
           each <= facts.gpu_ranges->most_bandwidth_per_sm;
}

/// Without GPUs to compare with: the usual reading, on a GPU as the architecture has them, or fp32 where only that is plausible.
MinimalProfile by_architecture(const StatedFigures& stated, GpuProfile& gpu, bool gpus_known) {
    const ArchitectureFacts& facts = gpu.facts;
    PeakReading reading = usual_reading(facts, stated.precision);
    const PeakReading fp32 = usual_reading(facts, Precision::fp32);
    if (!stated.precision && !is_plausible(stated, gpu, reading) && is_plausible(stated, gpu, fp32)) reading = fp32;
    if (!stated.precision) {
        assume(gpu, "compute_precision", std::string(name(reading.precision)),
               fmt::format("{}compute_tflops is read as {}; set compute_precision to change that",
                           gpus_known ? fmt::format("no reading of it fits known {} GPUs, so ", gpu.architecture) : "", reading.name));
    }
    return {{stated.peak, reading, facts.tensor_flops_per_sm_clock > 0, stated.consumer.value_or(false)}, typical_gpu(gpu), std::nullopt};
}

MinimalProfile by_gpus(const StatedFigures& stated, GpuProfile& gpu, ReadPeak read) {
    const GpuProfile& known = read.same ? *read.same : read.like.gpus.front();
    const TypicalGpu typical = typical_gpu(read.like);
    gpu.facts = known.facts;
    const std::string why = read.same ? fmt::format("{} ({}) has that peak, memory and bandwidth", known.name, known.id)
                                      : "only this reading fits the bandwidth and memory of GPUs " + typical.of;
    if (!stated.precision)
        assume(gpu, "compute_precision", read.reading.name, fmt::format("{}; set compute_precision to change that", why));
    if (!gpu.compute_capability && known.compute_capability) {
        gpu.compute_capability = known.compute_capability;
        assume(gpu, "compute_capability", written(*gpu.compute_capability), why);
    }
    return {{stated.peak, read.reading, read.like.tensor_cores, read.like.half_rate}, typical, read.same};
}

}  // namespace

std::optional<Hertz> clock_if(TableReader& table, std::string_view key) {
    const auto value = table.number_if(key);
    if (!value) return std::nullopt;
    if (*value >= physical_clock_mhz.lower && *value <= physical_clock_mhz.upper) return *value * mhz;
    const bool in_ghz = *value >= physical_clock_mhz.lower / 1000 && *value < physical_clock_mhz.lower;
    throw table.error(key, "out of range", fmt::format("{:g} MHz", *value),
                      fmt::format("{:g} to {:g} MHz", physical_clock_mhz.lower, physical_clock_mhz.upper),
                      in_ghz ? fmt::format("{0:g} GHz is written {1:g}", *value, *value * 1000) : "");
}

std::optional<MinimalProfile> read_minimal_profile(TableReader& top, GpuProfile& gpu, const std::filesystem::path& gpus_folder) {
    const auto stated = stated_figures(top, gpu);
    if (!stated) return std::nullopt;
    top.finish();  // a misspelt key would be missed here
    std::vector<GpuProfile> gpus = known_gpus(gpus_folder, gpu.architecture);
    std::erase_if(gpus, [&](const GpuProfile& b) { return gpu.compute_capability && b.compute_capability != gpu.compute_capability; });
    const std::vector<GpuClass> classes = gpu_classes(std::move(gpus));
    const bool half_rate = gpu.facts.half_rate_accumulate[index(Precision::fp16)] ||
                           std::any_of(classes.begin(), classes.end(), [](const GpuClass& c) { return c.half_rate; });
    if (stated->consumer.value_or(false) && !half_rate)
        throw top.error("consumer", fmt::format("fp32 accumulation runs at full rate on all GPUs of {}", gpu.architecture), {},
                        "the key left out");
    try {
        if (auto read = read_peak(*stated, classes)) return by_gpus(*stated, gpu, std::move(*read));
    } catch (const Error& e) {
        throw top.error(e.detail().key, e.detail().what, e.detail().found, e.detail().expected, e.detail().suggestion);
    }
    return by_architecture(*stated, gpu, !classes.empty());
}

void derive(GpuProfile& gpu, const std::optional<MinimalProfile>& minimal) {
    if (minimal && minimal->same)
        derive_from_gpu(gpu, minimal->peak, *minimal->same);
    else if (minimal)
        derive_from_single_peak(gpu, minimal->peak, minimal->typical);
    derive_missing(gpu, minimal ? minimal->typical : typical_gpu(gpu));
}

}  // namespace roofcast
