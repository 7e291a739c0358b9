#pragma once
/// How compilers treat an operator.

namespace roofcast {

enum class Fusion {
    none,      ///< stands alone
    epilogue,  ///< folds into the GEMM or convolution before it, else joins a chain
    chain,     ///< joins neighbouring element-wise and row-wise nodes into one kernel
    folded     ///< vanishes at inference: batch norm into the convolution before it, copies between layouts into their readers; where a
               ///< compiler leaves GEMMs to a library, copies vanish, and the rest joins a chain
};

}  // namespace roofcast
