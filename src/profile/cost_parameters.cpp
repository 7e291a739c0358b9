#include "roofcast/cost_parameters.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "profile/parameter_groups.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// What kernels of one library share; `group` finds it among all parameters.
template <class Group>
void add_tiling(Specs& specs, const std::string& prefix, Group group) {
    GroupAdder g(specs, prefix, group);
    using T = TilingParameters;
    g.put("tile_half", "outputs", 1, 0, 20000, lin, "tile outputs at which a tile reaches half of the peak rate", &T::tile_half);
    g.put("l2_bytes_per_sm_clock", "bytes", 1, 8, 256, log,
          "L2 bytes that an SM reads per boost clock; on tensor cores for 4096 16-bit FLOPs per clock, growing with their root",
          &T::l2_bytes_per_sm_clock);
    g.put("tail", "1", 1, 0, 1, lin, "cost of a partial wave: 0 as much as a full wave, 1 in proportion to its tiles", &T::tail);
    g.put("k_step_cycles", "cycles", 1, 0, 150, lin,
          "latency of one k step of 32 elements, paid once; by kernels that unpack weights once per wave of three blocks an SM",
          &T::k_step_cycles);
}

/// What they do after the k loop of a tile.
template <class Group>
void add_tile_ends(Specs& specs, const std::string& prefix, Group group) {
    GroupAdder g(specs, prefix, group);
    using T = TilingParameters;
    g.put("epilogue_cycles", "cycles", 1, 0, 30000, lin,
          "write-back of a 128x128 tile; on tensor cores half of it shrinks with the number of SMs that write", &T::epilogue_cycles);
    g.put("split_k_cycles", "cycles", 1, 0, 25000, lin, "reduction of the split-K partial sums", &T::split_k_cycles);
}

/// Says of the specs from `first` on that they are of kernels on `unit` alone.
void limit_to(MathUnit unit, Specs& specs, std::size_t first) {
    for (std::size_t i = first; i < specs.size(); ++i) specs[i].math_unit = unit;
}

void add_gemm(Specs& specs, MathUnit unit) {
    const std::size_t first = specs.size();
    const std::string prefix = "gemm." + std::string(name(unit));
    GroupAdder g(specs, prefix, [unit](CostParameters& p) -> GemmParameters& { return p.gemm[index(unit)]; });
    using G = GemmParameters;
    // 16-bit main loops on tensor cores reach 0.95 and more of the peak on all GPUs that were measured. A fit that goes far below takes
    // the power limit of a GPU for a property of its architecture.
    g.put("peak_fraction", "1", 1, 0.3, 1, lin, "fraction of the data-sheet peak that an infinitely large tile reaches", &G::peak_fraction);
    if (unit == MathUnit::tensor16) specs.back().fitted_lower = 0.9;
    if (unit == MathUnit::simt) {
        g.put("batched_fraction", "1", 1, 0.3, 1, lin, "fraction of the data-sheet peak that batched GEMMs reach", &G::batched_fraction);
        g.put("strided_fraction", "1", 1, 0.02, 1, log, "fraction of DRAM bandwidth left when operands stored along k are re-read",
              &G::strided_fraction);
        specs.back().pooled = false;
        g.put("batched_strided_fraction", "1", 1, 0.05, 1, log, "fraction of DRAM bandwidth at which batched GEMMs read long rows of A",
              &G::batched_strided_fraction);
        specs.back().pooled = false;
    }
    g.put("bandwidth_fraction", "1", 1, 0.3, 1, lin, "fraction of DRAM bandwidth that GEMMs reach", &G::bandwidth_fraction);
    const auto tiling = [unit](CostParameters& p) -> TilingParameters& { return p.gemm[index(unit)].tiling; };
    const std::size_t tile_half = specs.size();
    add_tiling(specs, prefix, tiling);
    // Where a fit seeks among 20,000 outputs it misses the optimum: 16-bit GEMMs of the A100 at 4,419, 8.1 % off, for 0 and 7.5 %.
    if (unit == MathUnit::tensor16) specs[tile_half].fitted_upper = 5000;
    add_tile_ends(specs, prefix, tiling);
    g.put("overlap", "1", 1, 0, 1, lin, "fraction of the non-bounding terms that the bounding one hides", &G::overlap);
    g.put("fixed_cycles", "cycles", 1, 600, 12000, log, "kernel launch, prologue and drain", &G::fixed_cycles);
    // 2 us. Without that bound cuBLASLt's fp8 GEMMs on the H100 find 5,755, with which vLLM's on the H200 are 11.2 % off, within it 8.5.
    g.put("wave_cycles", "cycles", 1, 0, 4000, lin, "least time from the end of one wave of thread blocks to the start of the next",
          &G::wave_cycles);
    g.put("misaligned", "1", 1, 0, 0.95, lin, "fraction of the peak lost when rows along n or k are not multiples of 16 bytes",
          &G::misaligned);
    g.put("l2_residency", "1", 1, 0, 1, lin, "fraction of a small working set that a warm call finds in L2", &G::l2_residency);
    limit_to(unit, specs, first);
}

/// The kernel that quantizes activations for GEMMs on `unit`.
void add_quantization(Specs& specs, MathUnit unit) {
    using Q = QuantizationParameters;
    const std::size_t first = specs.size();
    GroupAdder q(specs, "quantization." + std::string(name(unit)), [unit](CostParameters& p) -> Q& { return p.quantization[index(unit)]; });
    q.put("fixed_cycles", "cycles", 1, 0, 30000, lin, "launch of the kernel that quantizes activations", &Q::fixed_cycles);
    q.put("row_cycles", "cycles", 1, 0, 20000, lin, "SM cycles per row that it quantizes", &Q::row_cycles);
    q.put("bytes_per_sm_clock", "bytes", 1, 1, 64, log, "bytes that an SM reads and writes per clock while it quantizes",
          &Q::bytes_per_sm_clock);
    limit_to(unit, specs, first);
}

void add_weight_only(Specs& specs) {
    GroupAdder w(specs, "weight_only", &CostParameters::weight_only);
    // An instruction unpacks two weights at best. Fits of several GPUs, of which one has such rows, otherwise charge unpacking to the
    // tensor cores, as outputs of a tile, which does not carry over to GPUs with others.
    w.put("dequantization_operations", "operations", 1, 0, 64, lin, "SIMT operations to unpack one weight to the compute format",
          &WeightOnlyParameters::dequantization_operations);
    specs.back().fitted_lower = 0.5;
    const std::size_t tiling = specs.size();
    const auto unpacking = [](CostParameters& p) -> TilingParameters& { return p.weight_only.tiling; };
    add_tiling(specs, "weight_only", unpacking);
    add_tile_ends(specs, "weight_only", unpacking);
    specs[tiling].fitted_upper = 1000;  // outputs of a tile
}

void add_power(Specs& specs) {
    for (const MathUnit unit : all_math_units) {
        const bool simt = unit == MathUnit::simt;
        add(specs, fmt::format("power.{}_pj_per_flop_at_{}", name(unit), simt ? "7nm_1ghz" : "4096_5nm_1ghz"), "pJ/FLOP", pico, 0.05,
            simt ? 30 : 3, log,
            simt ? "dynamic energy of a FLOP on CUDA cores at 7 nm and a boost clock of 1 GHz; it grows with both"
                 : "dynamic energy of a FLOP in tensor cores of 4096 16-bit FLOPs an SM and clock, in a process of 5 nm, at a boost clock "
                   "of "
                   "1 GHz; it grows with the process, with the root of the clock, and as units get narrower",
            [unit](CostParameters& p) -> double& { return p.power.flop[index(unit)].value; });
        specs.back().carries_over = true;
        specs.back().math_unit = unit;
    }
    GroupAdder e(specs, "power", &CostParameters::power);
    e.put("dram_pj_per_byte", "pJ/byte", pico, 10, 300, log, "dynamic energy of a byte from or to DRAM", &PowerParameters::dram_byte);
    specs.back().carries_over = true;
}

/// Kernels that compute on a cache of one format.
void add_attention(Specs& specs, CacheFormat format) {
    GroupAdder a(specs, "attention." + std::string(name(format)),
                 [format](CostParameters& p) -> AttentionParameters& { return p.attention[index(format)]; });
    using A = AttentionParameters;
    a.put("peak_fraction", "1", 1, 0.1, 1, lin, "fraction of the tensor-core peak reached within a block of queries", &A::peak_fraction);
    a.put("softmax_operations", "operations", 1, 0, 100, lin, "softmax operations per score on CUDA cores that the GEMMs do not hide",
          &A::softmax_operations);
    a.put("bandwidth_fraction", "1", 1, 0.2, 1, lin, "fraction of DRAM bandwidth reached when all SMs read the KV cache",
          &A::bandwidth_fraction);
    a.put("own_bytes_per_sm_clock", "bytes", 1, 1, 64, log,
          "KV cache bytes per clock that an SM can read beyond an equal part of DRAM bandwidth", &A::own_bytes_per_sm_clock);
    a.put("overlap", "1", 1, 0, 1, lin, "fraction of the non-bounding terms that the bounding one hides", &A::overlap);
    a.put("block_us", "us", micro, 0, 12, lin, "start, first loads and write-back of one wave of query blocks", &A::block);
    a.put("split_block_us", "us", micro, 0, 12, lin, "the same for split-KV blocks, which share the keys of a head", &A::split_block);
    a.put("fixed_cycles", "cycles", 1, 800, 60000, log, "kernel launch, with the small kernels that serving engines run around attention",
          &A::fixed_cycles);
    a.put("combine_cycles", "cycles", 1, 0, 40000, lin,
          "start of the kernel that combines split-KV partial results; again for every 16 parts", &A::combine_cycles);
    a.put("token_cycles", "cycles", 1, 0, 5000, lin,
          "SM cycles per block of 512 threads that appends keys and values of a token to the cache", &A::token_cycles);
    a.put("query_cycles", "cycles", 1, 0, 640, lin,
          "SM cycles to move Q and output of one token and head (128 wide) around attention in serving engines", &A::query_cycles);
    a.put("cache_cycles", "cycles", 1, 0, 1280, lin, "the same for K and V", &A::cache_cycles);
    a.put("l2_residency", "1", 1, 0, 1, lin, "fraction of a small KV cache that a repeated call finds in L2", &A::l2_residency);
    specs.back().pooled = false;
    a.put("wide_bytes_per_sm_clock", "bytes", 1, 4, 1000, log, "key and value bytes per SM and clock for heads 129 to 256 wide",
          &A::wide_bytes_per_sm_clock);
}

void add_convolution(Specs& specs) {
    using C = ConvolutionParameters;
    GroupAdder c(specs, "convolution", &CostParameters::convolution);
    c.put("implicit_fraction", "1", 1, 0.2, 1, lin, "fraction of the CUDA cores' peak that implicit GEMM reaches", &C::implicit_fraction);
    c.put("tensor_core_fraction", "1", 1, 0.2, 1, lin, "fraction of the GEMM's rate that implicit GEMM keeps on tensor cores",
          &C::tensor_core_fraction);
    c.put("winograd_fraction", "1", 1, 0.1, 1, lin, "fraction of the CUDA cores' peak that GEMMs of Winograd through memory reach",
          &C::winograd_fraction);
    c.put("fused_fraction", "1", 1, 0.1, 1, lin, "fraction of the CUDA cores' peak that fused Winograd reaches", &C::fused_fraction);
    c.put("transform_fraction", "1", 1, 0.1, 1, lin, "fraction of DRAM bandwidth in Winograd and layout transformations",
          &C::transform_fraction);
    c.put("depthwise_fraction", "1", 1, 0.05, 1, lin, "fraction of DRAM bandwidth in depthwise kernels", &C::depthwise_fraction);
    c.put("depthwise_rate", "1", 1, 0.01, 1, log, "fraction of the fp32 CUDA cores' peak in depthwise kernels for 16 bits, channels last",
          &C::depthwise_rate);
    c.put("epilogue_cycles", "cycles", 1, 0, 30000, lin, "write-back per wave of 128x128 tiles on CUDA cores", &C::epilogue_cycles);
}

void add_memory_bound(Specs& specs) {
    using S = StreamingParameters;
    GroupAdder s(specs, "streaming", &CostParameters::streaming);
    s.put("bandwidth_fraction", "1", 1, 0.3, 1, lin, "fraction of DRAM bandwidth for large tensors", &S::bandwidth_fraction);
    s.put("l2_bandwidth_ratio", "1", 1, 1, 10, log, "L2 over DRAM bandwidth", &S::l2_bandwidth_ratio);
    s.put("l2_residency", "1", 1, 0, 1, lin,
          "fraction of a small working set that is found in L2 when warm, and of what kernels before wrote", &S::l2_residency);
    s.put("fixed_us", "us", micro, 0.5, 4, log, "kernel start and drain", &S::fixed);
    s.put("dram_wait_us", "us", micro, 0, 1, lin, "further latency of the first data when they come from DRAM instead of L2",
          &S::dram_wait);
    using R = RowWiseParameters;
    GroupAdder r(specs, "row_wise", &CostParameters::row_wise);
    r.put("bandwidth_fraction", "1", 1, 0.2, 1, lin, "fraction of DRAM bandwidth for many rows", &R::bandwidth_fraction);
    r.put("fill", "1", 1, 1, 20, log, "total SMs divided by the SMs that saturate DRAM bandwidth", &R::fill);
    r.put("row_cycles", "cycles", 1, 20, 500, log, "SM cycles for 512 fp32 elements of a LayerNorm row; its sums take twice as long",
          &R::row_cycles);
    r.put("fixed_us", "us", micro, 0.5, 4, log, "kernel start, reductions and drain", &R::fixed);
}

void add_moe(Specs& specs) {
    using M = MoeParameters;
    GroupAdder m(specs, "moe", &CostParameters::moe);
    m.put("peak_fraction", "1", 1, 0.2, 1, lin, "fraction of the GEMM's rate that grouped kernels keep", &M::peak_fraction);
    m.put("dram_fraction", "1", 1, 0.2, 1, lin, "fraction of DRAM bandwidth that grouped kernels reach", &M::dram_fraction);
    add_tiling(specs, "moe", [](CostParameters& p) -> TilingParameters& { return p.moe.tiling; });
    m.put("l2_residency", "1", 1, 0, 1, lin, "fraction of L2 that keeps expert weights between calls", &M::l2_residency);
    m.put("skew", "1", 1, 0, 1, lin, "fraction of the router's imbalance that shows in the time", &M::skew);
    m.put("row_passes", "1", 1, 0, 10, lin, "DRAM passes of an output row per token and expert around the GEMMs", &M::row_passes);
    m.put("local_passes", "1", 1, 0, 10, lin, "further DRAM passes of a row per expert that the rank holds", &M::local_passes);
    m.put("inner_passes", "1", 1, 0, 10, lin, "DRAM passes of the intermediate activations per token and expert", &M::inner_passes);
    m.put("wave_cycles", "cycles", 1, 0, 40000, lin, "least time from the end of one wave of a grouped GEMM to the start of the next",
          &M::wave_cycles);
    m.put("fixed_cycles", "cycles", 1, 2000, 200000, log, "routing, permutation and kernel launches", &M::fixed_cycles);
    m.put("sorting_cycles", "cycles", 1, 0, 100000, lin, "further launches when there are more experts than one kernel sorts",
          &M::sorting_cycles);
    m.put("absent_block_cycles", "cycles", 1, 0, 2000, lin, "SM cycles per thread block that only writes zeros for experts of other ranks",
          &M::absent_block_cycles);
    m.put("plain_load_cycles", "cycles", 1, 0, 4, lin, "SM cycles to load a 16-bit element from rows too misaligned for vector loads",
          &M::plain_load_cycles);
    m.put("narrow_load_cycles", "cycles", 1, 0, 4, lin, "the same for elements of 8 bits or fewer", &M::narrow_load_cycles);
}

Specs all_specs() {
    Specs specs;
    for (const MathUnit unit : all_math_units) add_gemm(specs, unit);
    for (const MathUnit unit : {MathUnit::tensor8, MathUnit::integer8, MathUnit::tensor4}) add_quantization(specs, unit);
    add_weight_only(specs);
    add_power(specs);
    for (const CacheFormat format : all_cache_formats) add_attention(specs, format);
    add_convolution(specs);
    add_memory_bound(specs);
    add_moe(specs);
    add_transfers(specs);
    add_quantize(specs);
    add_recurrent(specs);
    add_sparse(specs);
    add_time_factors(specs);
    return specs;
}

}  // namespace

const std::vector<ParameterSpec>& parameter_specs() {
    static const Specs specs = all_specs();
    return specs;
}

std::size_t parameter_index(std::string_view name) {
    const auto& specs = parameter_specs();
    for (std::size_t i = 0; i < specs.size(); ++i) {
        if (specs[i].name == name) return i;
    }
    std::vector<std::string> known;
    for (const auto& spec : specs) known.push_back(spec.name);
    throw Error({.what = "unknown parameter", .found = std::string(name), .suggestion = did_you_mean(name, known)});
}

std::string_view name(Provenance p) {
    constexpr std::array<std::string_view, 6> names{"assumed", "cited", "pooled_fit", "architecture_fit", "gpu_fit", "user_fit"};
    return names.at(static_cast<std::size_t>(p));
}

}  // namespace roofcast
