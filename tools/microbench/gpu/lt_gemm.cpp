#include "gpu/lt_gemm.hpp"

#include "host/case_error.hpp"

namespace roofcast::microbench {

namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20U;  // what frameworks give it on Hopper; split-K wants it

void require(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    const std::string code = std::to_string(static_cast<int>(status));
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH)
        throw CaseError(std::string("not supported by cuBLASLt: ") + what);
    if (status == CUBLAS_STATUS_ALLOC_FAILED) throw CaseError(std::string("out of memory: ") + what);
    throw CaseError(std::string(what) + ": cuBLASLt status " + code);
}

/// One and zero in the type that scales the GEMM.
struct Scalars {
    double fp64;
    float fp32;
    std::int32_t int32;
    [[nodiscard]] const void* as(cudaDataType_t type) const {
        if (type == CUDA_R_64F) return &fp64;
        return type == CUDA_R_32I ? static_cast<const void*>(&int32) : &fp32;
    }
};
constexpr Scalars one{1, 1, 1}, zero{0, 0, 0};

}  // namespace

LtApi::LtApi() : library({"libcublasLt.so." + std::to_string(CUDART_VERSION / 1000), "libcublasLt.so"}) {
    library.find("cublasLtCreate", create);
    library.find("cublasLtDestroy", destroy);
    library.find("cublasLtGetVersion", version);
    library.find("cublasLtMatmul", matmul);
    library.find("cublasLtMatmulAlgoGetHeuristic", heuristic);
    library.find("cublasLtMatmulDescCreate", create_operation);
    library.find("cublasLtMatmulDescDestroy", destroy_operation);
    library.find("cublasLtMatmulDescSetAttribute", set_operation);
    library.find("cublasLtMatrixLayoutCreate", create_layout);
    library.find("cublasLtMatrixLayoutDestroy", destroy_layout);
    library.find("cublasLtMatrixLayoutSetAttribute", set_layout);
    library.find("cublasLtMatmulPreferenceCreate", create_preference);
    library.find("cublasLtMatmulPreferenceDestroy", destroy_preference);
    library.find("cublasLtMatmulPreferenceSetAttribute", set_preference);
    require(create(&handle), "starting cuBLASLt");
}

LtApi::~LtApi() {
    destroy(handle);
}

std::string LtApi::software() const {
    const std::size_t v = version();
    return "cuBLASLt " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
}

const LtApi& lt_api() {
    static const LtApi api;
    return api;
}

LtTypes lt_types(Precision p) {
    switch (p) {
        case Precision::fp64:
            return {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, p};
        case Precision::fp32:
            return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, p};
        case Precision::tf32:
            return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, p};
        case Precision::fp16:
            return {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, p};
        case Precision::bf16:
            return {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, p};
        case Precision::fp8:
            return {CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, Precision::bf16};
        case Precision::int8:
            return {CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I, p};
    }
    throw CaseError("unknown precision");
}

LtGemm::LtGemm(const LtApi& api, const Gemm& g, Precision p)
    : api_(api), g_(g), types_(lt_types(p)), fast_accumulation_(p == Precision::fp8), workspace_(workspace_bytes) {
    describe_operation();
    // The library counts columns first: Cᵀ [n, m] = Bᵀ… · Aᵀ, so that weights come first, transposed.
    weights_ = layout(types_.in, g.k, g.n);
    activations_ = layout(types_.in, g.k, g.m);
    result_ = layout(types_.out, g.n, g.m);
    choose_algorithm();
}

LtGemm::~LtGemm() {
    for (const auto l : {weights_, activations_, result_}) {
        if (l != nullptr) api_.destroy_layout(l);
    }
    if (operation_ != nullptr) api_.destroy_operation(operation_);
}

void LtGemm::describe_operation() {
    require(api_.create_operation(&operation_, types_.compute, types_.scale), "describing the GEMM");
    const cublasOperation_t transposed = CUBLAS_OP_T;
    require(api_.set_operation(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed), "transposing the weights");
    if (fast_accumulation_) {  // as inference engines set it
        const std::int8_t fast = 1;
        require(api_.set_operation(operation_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast), "fast accumulation");
    }
    if (!g_.bias) return;
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    require(api_.set_operation(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue), "adding a bias");
    const cudaDataType_t type = types_.out;
    require(api_.set_operation(operation_, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type), "adding a bias");
}

cublasLtMatrixLayout_t LtGemm::layout(cudaDataType_t type, std::int64_t rows, std::int64_t cols) const {
    cublasLtMatrixLayout_t made = nullptr;
    require(api_.create_layout(&made, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols), rows),
            "describing a matrix");
    const auto batch = static_cast<std::int32_t>(g_.batch);
    const std::int64_t stride = rows * cols;
    require(api_.set_layout(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), "describing a batch");
    require(api_.set_layout(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride), "describing a batch");
    return made;
}

void LtGemm::choose_algorithm() {
    cublasLtMatmulPreference_t preference = nullptr;
    require(api_.create_preference(&preference), "describing preferences");
    api_.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes);
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status =
        api_.heuristic(api_.handle, operation_, weights_, activations_, result_, result_, preference, 1, &best, &found);
    api_.destroy_preference(preference);
    require(status, "no algorithm for this GEMM");
    if (found == 0) throw CaseError("not supported by cuBLASLt: no algorithm for this GEMM");
    algorithm_ = best.algo;
}

void LtGemm::enqueue(const void* a, const void* b, void* c, const void* bias, cudaStream_t stream) const {
    if (g_.bias) require(api_.set_operation(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias), "adding a bias");
    require(api_.matmul(api_.handle, operation_, one.as(types_.scale), b, weights_, a, activations_, zero.as(types_.scale), c, result_, c,
                        result_, &algorithm_, workspace_.data(), workspace_.bytes(), stream),
            "the GEMM");
}

}  // namespace roofcast::microbench
