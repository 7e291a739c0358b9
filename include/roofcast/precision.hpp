#pragma once
/// Number formats, and the classes of arithmetic units that work on them.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/tensor_formats.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

enum class Precision { fp64, fp32, tf32, fp16, bf16, fp8, int8, int4, fp4 };
inline constexpr std::size_t precision_count = 9;
inline constexpr std::array<Precision, precision_count> all_precisions{Precision::fp64, Precision::fp32, Precision::tf32,
                                                                       Precision::fp16, Precision::bf16, Precision::fp8,
                                                                       Precision::int8, Precision::int4, Precision::fp4};

/// Index into per-precision tables.
constexpr std::size_t index(Precision p) {
    return static_cast<std::size_t>(p);
}

/// "fp16", "bf16", …
std::string_view name(Precision p);

/// Parses "fp16", "FP16", "half", "float32", …; nullopt when unknown.
std::optional<Precision> parse_precision(std::string_view text);

/// Bytes of one element as stored: fp32 and tf32 4, fp16 and bf16 2, fp8 and int8 1, int4 and fp4 one half.
constexpr Bytes element_size(Precision p) {
    switch (p) {
        case Precision::fp64:
            return 8 * byte;
        case Precision::fp32:
        case Precision::tf32:
            return 4 * byte;
        case Precision::fp16:
        case Precision::bf16:
            return 2 * byte;
        case Precision::fp8:
        case Precision::int8:
            return 1 * byte;
        case Precision::int4:
        case Precision::fp4:
            return 0.5 * byte;
    }
    return 0 * byte;
}

/// The format that activations keep between GEMMs when these run in `p`: 16 bits for the 8- and 4-bit formats, fp16 beside
/// integers, which predate bf16 on many GPUs.
constexpr Precision activation_precision(Precision p) {
    switch (p) {
        case Precision::int8:
        case Precision::int4:
            return Precision::fp16;
        case Precision::fp8:
        case Precision::fp4:
            return Precision::bf16;
        default:
            return p;
    }
}

/// How weights are stored: format and mean bits per weight, scales and zero points included.
struct WeightFormat {
    Precision precision = Precision::fp16;
    double bits = 16;
    std::string label{};             ///< as the user named it: "int4", "q4_k_m"; empty when it is the compute precision's own
    bool every_table = false;        ///< embeddings and LM head too, as llama.cpp does; else they stay in the compute precision
    bool block_scales = false;       ///< one scale for each 128 x 128 weights, and one for 128 of a token's activations
    bool activation_scales = false;  ///< the checkpoint brings those of activations, which the kernel before each GEMM then quantizes
    double unpack_cycles = 0;        ///< of `RoleFormat`
    bool mixed = false;              ///< the label names a mix of formats, which `tensors` resolves for a model; `bits` are a mean
    std::optional<TensorFormats> tensors{};  ///< absent: all weights are stored alike
    friend bool operator==(const WeightFormat&, const WeightFormat&) = default;
};

/// Its label, else its precision's name.
std::string name(const WeightFormat& format);

/// The format of weights that are stored just as they are computed with.
WeightFormat native_weights(Precision p);

/// What engines multiply such weights in, on GPUs that can, when they are published so: activations are quantized to the same 8-bit floats
/// or NVFP4. nullopt: weights are unpacked to 16 bits.
std::optional<Precision> multiplied_in(const WeightFormat& format);

/// Parses a precision, or a format or mix of software/weight-formats.toml: int4 (16-bit scale and zero point per group of 128: 4.25 bits),
/// awq-int4, q4_k_m (4.85), q8_0 (8.5), mxfp4 (4.25), fp8_block (8), …; nullopt when unknown.
std::optional<WeightFormat> parse_weight_format(std::string_view text);

/// Names that `parse_weight_format` knows, less spellings of precisions and ExLlamaV2's, which hold a number ("exl2-2.5-bpw").
std::vector<std::string> weight_format_names();

/// The class of arithmetic unit that a GEMM runs on: CUDA cores, or tensor cores by the width of their inputs. 8-bit integers are
/// apart from 8-bit floats: other instructions, energy, epilogues and libraries.
enum class MathUnit { simt, tensor16, tensor8, integer8, tensor4 };
inline constexpr std::size_t math_unit_count = 5;
inline constexpr std::array<MathUnit, math_unit_count> all_math_units{MathUnit::simt, MathUnit::tensor16, MathUnit::tensor8,
                                                                      MathUnit::integer8, MathUnit::tensor4};
constexpr std::size_t index(MathUnit u) {
    return static_cast<std::size_t>(u);
}
std::string_view name(MathUnit u);

/// Format of the KV cache relative to the precision of attention. Libraries have separate kernels for caches that they convert.
enum class CacheFormat { plain, narrow };
inline constexpr std::size_t cache_format_count = 2;
inline constexpr std::array<CacheFormat, cache_format_count> all_cache_formats{CacheFormat::plain, CacheFormat::narrow};
constexpr std::size_t index(CacheFormat f) {
    return static_cast<std::size_t>(f);
}
std::string_view name(CacheFormat f);  ///< "plain", "narrow"

}  // namespace roofcast
