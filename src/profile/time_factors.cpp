#include "profile/parameter_groups.hpp"

namespace roofcast {

void add_time_factors(Specs& specs) {
    const std::size_t first = specs.size();
    const auto put = [&](const char* key, const char* meaning, auto slot) {
        add(specs, std::string("time_factor.") + key, "1", 1, 0.2, 10, log, meaning, slot);
    };
    put("models", "time of whole models on this machine over the predicted time",
        [](CostParameters& p) -> double& { return p.time_factor.models; });
    const auto put_kernels = [&](const char* key, const char* meaning, KernelClass kernels) {
        put(key, meaning, [kernels](CostParameters& p) -> double& { return p.time_factor.kernels[static_cast<std::size_t>(kernels)]; });
    };
    using K = KernelClass;
    put_kernels("streaming", "time of element-wise kernels, moves and gathers on this machine over the predicted time", K::streaming);
    put_kernels("row_wise", "the same of softmax and normalizations", K::row_wise);
    put_kernels("weight_only", "the same of 16-bit GEMMs with 8- or 4-bit weights", K::weight_only);
    put_kernels("convolution", "the same of convolutions", K::convolution);
    put_kernels("moe", "the same of experts", K::moe);
    put_kernels("collective", "the same of collectives", K::collective);
    put_kernels("copy", "the same of copies", K::copy);
    put_kernels("quantize", "the same of kernels that quantize a tensor", K::quantize);
    put_kernels("recurrent", "the same of kernels of recurrent layers and hyper-connections", K::recurrent);
    put_kernels("sparse", "the same of kernels of sparse attention and of its index", K::sparse);
    put_kernels("gemm.simt", "the same of GEMMs on CUDA cores", K::gemm_simt);
    put_kernels("gemm.tensor16", "the same of 16-bit GEMMs on tensor cores", K::gemm_tensor16);
    put_kernels("gemm.tensor8", "the same of 8-bit floating-point GEMMs on tensor cores", K::gemm_tensor8);
    put_kernels("gemm.integer8", "the same of 8-bit integer GEMMs on tensor cores", K::gemm_integer8);
    put_kernels("gemm.tensor4", "the same of 4-bit GEMMs on tensor cores", K::gemm_tensor4);
    put_kernels("attention.plain", "the same of attention on a cache in the compute format", K::attention_plain);
    put_kernels("attention.narrow", "the same of attention on a narrower cache", K::attention_narrow);
    for (std::size_t i = first; i < specs.size(); ++i) {
        specs[i].of_machine = true;
        for (const MathUnit unit : all_math_units) {
            if (specs[i].name == "time_factor.gemm." + std::string(name(unit))) specs[i].math_unit = unit;
        }
    }
}

}  // namespace roofcast
