#include "calibration/stages.hpp"

#include <algorithm>

#include "kernels/collective/all_reduce.hpp"

namespace roofcast {

namespace {

template <class Operator>
const Operator* op_of(const Sample& s) {
    return s.kernel == nullptr ? nullptr : std::get_if<Operator>(&s.kernel->op);
}

template <class... Operators>
bool is_one_of(const Sample& s, const GpuProfile&) {
    return (... || (op_of<Operators>(s) != nullptr));
}

template <MathUnit unit>
bool is_gemm_on(const Sample& s, const GpuProfile& gpu) {
    const Gemm* g = op_of<Gemm>(s);
    return g != nullptr && !g->unpacks_weights() && gpu.math_unit(g->precision) == unit;
}

bool is_weight_only_gemm(const Sample& s, const GpuProfile&) {
    const Gemm* g = op_of<Gemm>(s);
    return g != nullptr && g->unpacks_weights();
}

template <CacheFormat format>
bool is_attention_on(const Sample& s, const GpuProfile&) {
    const Attention* a = op_of<Attention>(s);
    return a != nullptr && cache_format(*a, s.kernel->caller) == format;
}

bool is_collective_of_vendor(const Sample& s, const GpuProfile&) {
    return op_of<Collective>(s) != nullptr && s.kernel->library == nullptr;
}

/// Not of messages that the engine leaves to NCCL.
bool is_all_reduce_of_engine(const Sample& s, const GpuProfile& gpu) {
    const Collective* op = op_of<Collective>(s);
    return op != nullptr && s.kernel->library != nullptr && chosen_all_reduce(*op, *s.kernel->library, gpu) != nullptr;
}

/// Whether a sample is a recurrent layer over prompts, or an update of its state.
template <class Recurrent, bool update>
bool is_recurrent(const Sample& s, const GpuProfile&) {
    const Recurrent* op = op_of<Recurrent>(s);
    return op != nullptr && op->update == update;
}

template <HyperConnectionKind kind>
bool is_hyper_connection(const Sample& s, const GpuProfile&) {
    const HyperConnection* op = op_of<HyperConnection>(s);
    return op != nullptr && op->kind == kind;
}

constexpr std::string_view machine_stage = "machine";

bool is_model(const Sample& s, const GpuProfile&) {
    return s.model != nullptr;
}

}  // namespace

std::span<const Stage> stages() {
    // Whole models do not tell streaming and row-wise kernels from the software around them: these keep their values without kernel rows.
    // DRAM energy cannot be distinguished from the energy of arithmetic by times alone: it keeps its cited value.
    // Convolutions do not tell energies either: on these they err by more than power moves them.
    static const std::vector<Stage> all{
        {"streaming", {"streaming."}, {}, is_one_of<Elementwise, Embedding, Reduce, Move>},
        {"row_wise", {"row_wise."}, {"streaming.l2_residency"}, is_one_of<RowWise>},
        {"gemm.simt", {"gemm.simt.", "power.simt_"}, {}, is_gemm_on<MathUnit::simt>},
        {"gemm.tensor16", {"gemm.tensor16.", "power.tensor16_"}, {}, is_gemm_on<MathUnit::tensor16>},
        {"gemm.tensor8", {"gemm.tensor8.", "power.tensor8_", "quantization.tensor8."}, {}, is_gemm_on<MathUnit::tensor8>},
        {"gemm.integer8", {"gemm.integer8.", "power.integer8_", "quantization.integer8."}, {}, is_gemm_on<MathUnit::integer8>},
        {"gemm.tensor4", {"gemm.tensor4.", "power.tensor4_", "quantization.tensor4."}, {}, is_gemm_on<MathUnit::tensor4>},
        {"weight_only", {"weight_only."}, {"gemm."}, is_weight_only_gemm},
        {"convolution", {"convolution."}, {}, is_one_of<Conv2d>},
        {"attention.plain", {"attention.plain."}, {"power.tensor16_", "power.simt_"}, is_attention_on<CacheFormat::plain>},
        {"attention.narrow", {"attention.narrow."}, {"power.tensor16_", "power.simt_"}, is_attention_on<CacheFormat::narrow>},
        {"moe", {"moe."}, {"gemm."}, is_one_of<Moe>},
        {"collective", {"collective."}, {}, is_collective_of_vendor},
        {"all_reduce", {"all_reduce."}, {}, is_all_reduce_of_engine, false, "collective"},
        {"copy", {"copy."}, {}, is_one_of<Copy>},
        {"quantize", {"quantize."}, {"streaming."}, is_one_of<Quantize>},
        {"causal_convolution.prompt", {"causal_convolution.prompt."}, {}, is_recurrent<CausalConvolution, false>, false, "recurrent"},
        {"causal_convolution.update", {"causal_convolution.update."}, {}, is_recurrent<CausalConvolution, true>, false, "recurrent"},
        {"recurrence.prompt", {"recurrence.prompt."}, {"streaming."}, is_recurrent<Recurrence, false>, false, "recurrent"},
        {"recurrence.update", {"recurrence.update."}, {}, is_recurrent<Recurrence, true>, false, "recurrent"},
        {"hyper_connection.pre", {"hyper_connection.pre."}, {}, is_hyper_connection<HyperConnectionKind::pre>, false, "recurrent"},
        {"hyper_connection.post", {"hyper_connection.post."}, {}, is_hyper_connection<HyperConnectionKind::post>, false, "recurrent"},
        {machine_stage, {"time_factor.models"}, {}, is_model, true},
        {"models", {}, {"gemm.", "convolution.", "attention.", "power.simt_", "power.tensor", "power.integer8_"}, is_model, true},
    };
    return all;
}

bool is_of_machine(const Stage& stage) {
    return stage.name == machine_stage;
}

std::size_t factor_of(const Stage& stage) {
    const std::string_view own = stage.factor.empty() ? stage.name : stage.factor;
    return parameter_index("time_factor." + std::string(is_of_machine(stage) ? "models" : own));
}

bool is_of_models(std::string_view stage_name) {
    const auto all = stages();
    return std::any_of(all.begin(), all.end(), [&](const Stage& stage) { return stage.of_models && stage.name == stage_name; });
}

std::vector<std::string> stage_names() {
    std::vector<std::string> names;
    for (const Stage& stage : stages()) names.emplace_back(stage.name);
    return names;
}

}  // namespace roofcast
