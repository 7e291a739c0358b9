#include <fmt/format.h>

#include "profile/derive.hpp"
#include "profile/profile_keys.hpp"

namespace roofcast {

namespace {

constexpr double same_figures = 0.02;  ///< relative error of figures of a board that is known
constexpr double variants = 0.1;       ///< the same of clocks and power, which makers of boards change

/// Copies figures from a board to the profile of the same board, where the profile does not state them.
class BoardCopy {
public:
    BoardCopy(GpuProfile& gpu, const GpuProfile& board) : gpu_(gpu), reason_(fmt::format("as {} ({})", board.name, board.id)) {}

    template <class T>
    void quantity(const char* key, T& own, T boards, T unit, const char* unit_name, double relative_error) {
        if (own > T{} || boards <= T{}) return;
        own = boards;
        assume(gpu_, key, fmt::format("{:.4g} {}", own.in(unit), unit_name), reason_, relative_error);
    }
    void peak(const std::string& key, std::optional<FlopsPerSecond>& own, const std::optional<FlopsPerSecond>& boards, double scale,
              Precision p, bool stated) {
        if (own || !boards) return;
        own = scale * *boards;
        if (!stated) assume(gpu_, "compute." + key, in_tera(*own, p), reason_, same_figures);
    }
    void count(const char* key, std::int64_t& own, std::int64_t boards) {
        if (own > 0) return;
        own = boards;
        assume(gpu_, key, std::to_string(own), reason_, same_figures);
    }
    void text(const char* key, std::string& own, const std::string& boards) {
        if (!own.empty() || boards.empty()) return;
        own = boards;
        assume(gpu_, key, own, reason_);
    }
    void flag(const char* key, bool& own, bool boards) {
        if (own || !boards) return;
        own = true;
        assume(gpu_, key, "true", reason_);
    }
    [[nodiscard]] const std::string& reason() const { return reason_; }

private:
    GpuProfile& gpu_;
    std::string reason_;
};

void copy_peaks(GpuProfile& gpu, const SinglePeak& peak, const GpuProfile& board, double scale, BoardCopy& copy) {
    const Precision p = peak.reading.precision;
    const bool dense = !peak.reading.sparse && !peak.reading.fp16_accumulation;
    const bool on_tensor = board.facts.tensor_ratio[index(p)] > 0 && board.tensor_peak[index(p)];
    for (const Precision q : all_precisions) {
        copy.peak(vector_key(q), gpu.vector_peak[index(q)], board.vector_peak[index(q)], scale, q, q == p && dense && !on_tensor);
        copy.peak(tensor_key(q), gpu.tensor_peak[index(q)], board.tensor_peak[index(q)], scale, q, q == p && dense && on_tensor);
    }
    const bool accumulated = peak.reading.fp16_accumulation && !peak.reading.sparse;
    copy.peak("fp16_tensor_fp16_accumulate_tflops", gpu.fp16_accumulate_peak, board.fp16_accumulate_peak, scale, Precision::fp16,
              accumulated);
    copy.peak("fp8_tensor_fp16_accumulate_tflops", gpu.fp8_accumulate_peak, board.fp8_accumulate_peak, scale, Precision::fp8, false);
}

}  // namespace

void derive_from_board(GpuProfile& gpu, const SinglePeak& peak, const GpuProfile& board) {
    BoardCopy copy(gpu, board);
    const double scale = peak.value / *peak_of(board, peak.reading);
    copy_peaks(gpu, peak, board, scale, copy);
    const bool own_clocks = gpu.boost_clock > Hertz{};
    copy.count("compute.sm_count", gpu.sm_count, board.sm_count);
    copy.quantity("compute.boost_clock_mhz", gpu.boost_clock, scale * board.boost_clock, mhz, "MHz", same_figures);
    copy.quantity("compute.base_clock_mhz", gpu.base_clock, min(board.base_clock, gpu.boost_clock), mhz, "MHz", variants);
    if (!own_clocks) {
        if (board.peak_clock != board.boost_clock)
            copy.quantity("compute.peak_clock_mhz", gpu.peak_clock, scale * board.peak_clock, mhz, "MHz", same_figures);
        if (board.tensor_clock != board.boost_clock)
            copy.quantity("compute.tensor_clock_mhz", gpu.tensor_clock, scale * board.tensor_clock, mhz, "MHz", same_figures);
        copy.quantity("compute.sustained_clock_mhz", gpu.sustained_clock, scale * board.sustained_clock, mhz, "MHz", variants);
    }
    copy.text("form_factor", gpu.form_factor, board.form_factor);
    copy.text("memory.type", gpu.memory_type, board.memory_type);
    copy.quantity("memory.l2_mib", gpu.l2, board.l2, mib, "MiB", same_figures);
    copy.quantity("memory.shared_memory_per_sm_kib", gpu.shared_memory_per_sm, board.shared_memory_per_sm, kib, "KiB", same_figures);
    copy.quantity("memory.registers_per_sm_kib", gpu.registers_per_sm, board.registers_per_sm, kib, "KiB", same_figures);
    copy.flag("memory.inline_ecc", gpu.inline_ecc, board.inline_ecc);
    if (gpu.delivered_fraction == 1 && board.delivered_fraction < 1) {
        gpu.delivered_fraction = board.delivered_fraction;
        assume(gpu, "memory.delivered_fraction", fmt::format("{:g}", gpu.delivered_fraction), copy.reason(), same_figures);
    }
    if (gpu.pcie_generation == 0) {
        gpu.pcie_generation = board.pcie_generation;
        assume(gpu, "interconnect.pcie_generation", std::to_string(gpu.pcie_generation), copy.reason());
    }
    const bool own_power = gpu.tdp > Watts{};
    copy.quantity("power.tdp_watts", gpu.tdp, board.tdp, watt, "W", variants);
    if (!own_power && board.idle < gpu.tdp) copy.quantity("power.idle_watts", gpu.idle, board.idle, watt, "W", 0.5);
    copy.flag("power.thermally_limited", gpu.thermally_limited, board.thermally_limited);
}

}  // namespace roofcast
