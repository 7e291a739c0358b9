#include "prediction/sound.hpp"

#include <fmt/format.h>

#include <cmath>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

bool is_sound(double value) {
    return std::isfinite(value) && value >= 0;
}

[[noreturn]] void refuse(std::string key, double value, std::string_view unit) {
    throw Error({.what = "the given sizes, rates or factors lead to an impossible figure",
                 .key = std::move(key),
                 .found = fmt::format("{:.4g} {}", value, unit),
                 .expected = "a finite number of at least 0",
                 .suggestion = "use smaller sizes, or values within the range of the shipped files"});
}

}  // namespace

void require_sound(std::string_view figure, double value, std::string_view unit) {
    if (!is_sound(value)) refuse(std::string(figure), value, unit);
}

void require_sound(const Timeline& t, std::string_view pass) {
    for (const TimedOp& op : t.ops) {
        const auto require = [&](std::string_view figure, double value, std::string_view unit) {
            if (!is_sound(value)) refuse(fmt::format("{} of {} in {}", figure, op.node->name, pass), value, unit);
        };
        require("time", op.time.in(us), "us");
        require("DRAM traffic", op.kernel.dram_bytes.in(byte), "bytes");
        require("FLOPs", op.kernel.flops.in(flop), "FLOPs");
        require("energy", op.kernel.energy.in(joule), "J");
    }
    const auto require = [&](std::string_view figure, double value, std::string_view unit) {
        if (!is_sound(value)) refuse(fmt::format("{} of {}", figure, pass), value, unit);
    };
    require("latency", t.total.in(us), "us");
    require("CPU time", t.host.in(us), "us");
    require("GPU time", t.gpu_busy.in(us), "us");
    require("DRAM traffic", t.dram_bytes.in(byte), "bytes");
    require("FLOPs", t.flops.in(flop), "FLOPs");
    require("energy", t.dynamic_energy.in(joule), "J");
}

void require_sound(const MemoryEstimate& m) {
    require_sound("memory of weights", m.weights.in(byte), "bytes");
    require_sound("memory of the KV cache", m.kv_cache.in(byte), "bytes");
    require_sound("memory of activations", m.activations.in(byte), "bytes");
    require_sound("memory of the software", m.overhead.in(byte), "bytes");
}

void require_sound(const Prediction& p) {
    for (const Phase& phase : p.phases) require_sound(fmt::format("latency of {}", phase.name), phase.latency.in(us), "us");
    require_sound("latency", p.latency.in(us), "us");
    require_sound("throughput", p.items_per_second, "a second");
    const auto require = [](std::string_view figure, const std::optional<Seconds>& time) {
        if (time) require_sound(figure, time->in(us), "us");
    };
    require("time to first token", p.ttft);
    require("time per output token", p.tpot);
    require("time of a denoising step", p.step);
    require_sound("token throughput", p.tokens_per_second.value_or(0), "tokens a second");
    require_sound("time of the first run", p.cold_extra.in(us), "us");
    require_sound(p.memory);
}

}  // namespace roofcast
