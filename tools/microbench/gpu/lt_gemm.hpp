#pragma once
/// GEMMs by cuBLASLt as frameworks call it: the heuristic's first choice, bias in the epilogue.

#include <cublasLt.h>

#include <string>

#include "gpu/buffer.hpp"
#include "gpu/library.hpp"
#include "host/cases.hpp"

namespace roofcast::microbench {

/// The functions of the library that are used, found when the program runs.
struct LtApi {
    Library library;
    decltype(&cublasLtCreate) create = nullptr;
    decltype(&cublasLtDestroy) destroy = nullptr;
    decltype(&cublasLtGetVersion) version = nullptr;
    decltype(&cublasLtMatmul) matmul = nullptr;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
    decltype(&cublasLtMatmulDescCreate) create_operation = nullptr;
    decltype(&cublasLtMatmulDescDestroy) destroy_operation = nullptr;
    decltype(&cublasLtMatmulDescSetAttribute) set_operation = nullptr;
    decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
    decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
    decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = nullptr;
    decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
    decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
    decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
    cublasLtHandle_t handle = nullptr;

    /// Throws CaseError when the library is not installed.
    LtApi();
    LtApi(const LtApi&) = delete;
    LtApi& operator=(const LtApi&) = delete;
    ~LtApi();
    [[nodiscard]] std::string software() const;
};

/// Loaded with the first case that needs it.
const LtApi& lt_api();

/// How a precision is stored and computed.
struct LtTypes {
    cudaDataType_t in, out, scale;
    cublasComputeType_t compute;
    Precision out_precision;  ///< of the result, for checking it; int8 stands for int32
};
LtTypes lt_types(Precision p);

class LtGemm {
public:
    /// Throws CaseError when the library offers no algorithm.
    LtGemm(const LtApi& api, const Gemm& g, Precision p);
    LtGemm(const LtGemm&) = delete;
    LtGemm& operator=(const LtGemm&) = delete;
    ~LtGemm();

    /// c [m, n] = a [m, k] · b [n, k]ᵀ, rows contiguous; `bias` [n] where the case has one.
    void enqueue(const void* a, const void* b, void* c, const void* bias, cudaStream_t stream) const;

private:
    void describe_operation();
    [[nodiscard]] cublasLtMatrixLayout_t layout(cudaDataType_t type, std::int64_t rows, std::int64_t cols) const;
    void choose_algorithm();

    const LtApi& api_;
    Gemm g_;
    LtTypes types_;
    bool fast_accumulation_;
    Buffer workspace_;
    cublasLtMatmulDesc_t operation_ = nullptr;
    cublasLtMatrixLayout_t weights_ = nullptr, activations_ = nullptr, result_ = nullptr;
    cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace roofcast::microbench
