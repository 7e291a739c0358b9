#include "profile/parameter_groups.hpp"

namespace roofcast {

void add_time_factors(Specs& specs) {
    const std::size_t first = specs.size();
    const auto put = [&](const char* key, const char* meaning, auto slot) {
        add(specs, std::string("time_factor.") + key, "1", 1, 0.2, 10, log, meaning, slot);
    };
    put("models", "measured over predicted time on this machine of whole models",
        [](CostParameters& p) -> double& { return p.time_factor.models; });
    const auto put_kernels = [&](const char* key, const char* meaning, KernelClass kernels) {
        put(key, meaning, [kernels](CostParameters& p) -> double& { return p.time_factor.kernels[static_cast<std::size_t>(kernels)]; });
    };
    using K = KernelClass;
    put_kernels("streaming", "measured over predicted time on this machine of element-wise kernels, moves and gathers", K::streaming);
    put_kernels("row_wise", "measured over predicted time on this machine of softmax and normalizations", K::row_wise);
    put_kernels("weight_only", "measured over predicted time on this machine of 16-bit GEMMs with 8- or 4-bit weights", K::weight_only);
    put_kernels("convolution", "measured over predicted time on this machine of convolutions", K::convolution);
    put_kernels("moe", "measured over predicted time on this machine of experts", K::moe);
    put_kernels("collective", "measured over predicted time on this machine of collectives", K::collective);
    put_kernels("copy", "measured over predicted time on this machine of copies", K::copy);
    put_kernels("quantize", "measured over predicted time on this machine of kernels that quantize a tensor", K::quantize);
    put_kernels("recurrent", "measured over predicted time on this machine of kernels of recurrent layers and hyper-connections",
                K::recurrent);
    put_kernels("sparse", "measured over predicted time on this machine of kernels of sparse attention and of its index", K::sparse);
    put_kernels("gemm.simt", "measured over predicted time on this machine of GEMMs on CUDA cores", K::gemm_simt);
    put_kernels("gemm.tensor16", "measured over predicted time on this machine of 16-bit GEMMs on tensor cores", K::gemm_tensor16);
    put_kernels("gemm.tensor8", "measured over predicted time on this machine of 8-bit floating-point GEMMs on tensor cores",
                K::gemm_tensor8);
    put_kernels("gemm.integer8", "measured over predicted time on this machine of 8-bit integer GEMMs on tensor cores", K::gemm_integer8);
    put_kernels("gemm.tensor4", "measured over predicted time on this machine of 4-bit GEMMs on tensor cores", K::gemm_tensor4);
    put_kernels("attention.plain", "measured over predicted time on this machine of attention on a cache in the compute format",
                K::attention_plain);
    put_kernels("attention.narrow", "measured over predicted time on this machine of attention on a narrower cache", K::attention_narrow);
    for (std::size_t i = first; i < specs.size(); ++i) {
        specs[i].of_machine = true;
        for (const MathUnit unit : all_math_units) {
            if (specs[i].name == "time_factor.gemm." + std::string(name(unit))) specs[i].math_unit = unit;
        }
    }
}

}  // namespace roofcast
