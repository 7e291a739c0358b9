/// Fused attention by cuDNN: softmax(scale · Q Kᵀ, masked) · V as the graph of operations that its flash-attention engine recognises.

#include <cmath>

#include "gpu/cudnn_graph.hpp"
#include "gpu/operands.hpp"
#include "gpu/suites.hpp"
#include "gpu/verify.hpp"

namespace roofcast::microbench {

namespace {

enum Id : std::int64_t { query_id = 1, key_id, value_id, output_id, scale_id, masked_id, first_virtual_id = 100 };

/// Probabilities are rounded to the storage type before they meet V.
constexpr Tolerance attention_tolerance{3e-2, 0x1.0p-7};

/// Builds the graph from its inputs to its output. Scores [batch, heads, query_len, kv_len] never reach memory.
class AttentionGraph {
public:
    AttentionGraph(const CudnnApi& api, const Attention& w, cudnnDataType_t type) : api_(api), w_(w), type_(type) {
        const Descriptor scores = between(scores_dims(), CUDNN_DATA_FLOAT), scaled = between(scores_dims(), CUDNN_DATA_FLOAT);
        product(stored(query_id, w.heads, w.query_len), transposed_keys(), scores);
        pointwise(CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, scores, &scalar(scale_id), scaled);
        const Descriptor seen = between(scores_dims(), CUDNN_DATA_FLOAT);
        if (w.causal) mask(scaled, seen);
        const Descriptor probabilities = between(scores_dims(), type);
        softmax(w.causal ? seen : scaled, probabilities);
        product(probabilities, stored(value_id, w.kv_heads, w.kv_len), stored(output_id, w.heads, w.query_len));
    }
    [[nodiscard]] const std::vector<Descriptor>& operations() const { return operations_; }

private:
    using Dims = std::vector<std::int64_t>;
    [[nodiscard]] Dims scores_dims() const { return {w_.batch, w_.heads, w_.query_len, w_.kv_len}; }
    [[nodiscard]] Dims rows_dims() const { return {w_.batch, w_.heads, w_.query_len, 1}; }

    /// A tensor [batch, length, heads, head_dim] in memory, seen as [batch, heads, length, head_dim].
    [[nodiscard]] Descriptor stored(std::int64_t id, std::int64_t heads, std::int64_t length) const {
        const std::int64_t d = w_.head_dim;
        return tensor(api_, id, type_, {w_.batch, heads, length, d}, {length * heads * d, d, heads * d, 1});
    }
    [[nodiscard]] Descriptor transposed_keys() const {
        const std::int64_t d = w_.head_dim, heads = w_.kv_heads;
        return tensor(api_, key_id, type_, {w_.batch, heads, d, w_.kv_len}, {w_.kv_len * heads * d, d, 1, heads * d});
    }
    [[nodiscard]] Descriptor between(const Dims& dims, cudnnDataType_t type) {
        const Dims strides{dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
        return tensor(api_, next_id_++, type, dims, strides, Holding::between_operations);
    }
    const Descriptor& scalar(std::int64_t id) {
        return scalars_.emplace_back(tensor(api_, id, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, Holding::host_scalar));
    }

    void product(const Descriptor& a, const Descriptor& b, const Descriptor& c) {
        Descriptor kind(api_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
        kind.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT).finalize("describing a GEMM");
        Descriptor operation(api_, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
        operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
            .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b)
            .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c)
            .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, kind)
            .finalize("a GEMM of attention");
        operations_.push_back(std::move(operation));
    }

    /// y = f(x, b), or f(x) without `b`. `axis` is that of an index; `choice` tells a selection which of x and b to take.
    void pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute, const Descriptor& x, const Descriptor* b, const Descriptor& y,
                   const Descriptor* choice = nullptr, std::int64_t axis = -1) {
        Descriptor kind(api_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
        kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
            .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, compute);
        if (axis >= 0) kind.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
        kind.finalize("describing an element-wise function");
        Descriptor operation(api_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
        operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind).set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
        if (b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
        if (choice != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *choice);
        operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y).finalize("an element-wise function of attention");
        operations_.push_back(std::move(operation));
    }

    void reduce(cudnnReduceTensorOp_t how, const Descriptor& x, const Descriptor& y) {
        Descriptor kind(api_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
        kind.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, how)
            .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
            .finalize("describing a reduction");
        Descriptor operation(api_, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
        operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x)
            .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y)
            .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind)
            .finalize("a reduction of attention");
        operations_.push_back(std::move(operation));
    }

    /// Scores of keys after the query become a large negative number.
    void mask(const Descriptor& scores, const Descriptor& seen) {
        const Descriptor row = between(scores_dims(), CUDNN_DATA_INT32), column = between(scores_dims(), CUDNN_DATA_INT32);
        const Descriptor visible = between(scores_dims(), CUDNN_DATA_BOOLEAN);
        pointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, scores, nullptr, row, nullptr, 2);
        pointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, scores, nullptr, column, nullptr, 3);
        pointwise(CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, row, &column, visible);
        pointwise(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, scores, &scalar(masked_id), seen, &visible);
    }

    void softmax(const Descriptor& scores, const Descriptor& probabilities) {
        const Descriptor largest = between(rows_dims(), CUDNN_DATA_FLOAT), shifted = between(scores_dims(), CUDNN_DATA_FLOAT);
        const Descriptor weights = between(scores_dims(), CUDNN_DATA_FLOAT), sum = between(rows_dims(), CUDNN_DATA_FLOAT);
        reduce(CUDNN_REDUCE_TENSOR_MAX, scores, largest);
        pointwise(CUDNN_POINTWISE_SUB, CUDNN_DATA_FLOAT, scores, &largest, shifted);
        pointwise(CUDNN_POINTWISE_EXP, CUDNN_DATA_FLOAT, shifted, nullptr, weights);
        reduce(CUDNN_REDUCE_TENSOR_ADD, weights, sum);
        // The engine knows a softmax by its logarithm of the sum too, though nobody reads it here.
        const Descriptor logarithm = between(rows_dims(), CUDNN_DATA_FLOAT), statistics = between(rows_dims(), CUDNN_DATA_FLOAT);
        pointwise(CUDNN_POINTWISE_LOG, CUDNN_DATA_FLOAT, sum, nullptr, logarithm);
        pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, largest, &logarithm, statistics);
        pointwise(CUDNN_POINTWISE_DIV, CUDNN_DATA_FLOAT, weights, &sum, probabilities);
    }

    const CudnnApi& api_;
    Attention w_;
    cudnnDataType_t type_;
    std::int64_t next_id_ = first_virtual_id;
    std::vector<Descriptor> scalars_, operations_;
};

}  // namespace

Outcome measure_attention(const Device& device, const Case& c, const Attention& w) {
    device.require(c.precision);
    const CudnnApi& api = cudnn_api();
    const AttentionGraph graph(api, w, c.precision == Precision::fp16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16);
    const Plan plan(api, graph.operations(), false);
    const auto bytes = [&](std::int64_t heads, std::int64_t length) {
        return static_cast<std::size_t>(element_size(c.precision)) * static_cast<std::size_t>(w.batch * heads * length * w.head_dim);
    };
    const Operands operands(device,
                            {{bytes(w.heads, w.query_len), c.precision},
                             {bytes(w.kv_heads, w.kv_len), c.precision},
                             {bytes(w.kv_heads, w.kv_len), c.precision},
                             {bytes(w.heads, w.query_len), c.precision, false}},
                            c.cache);
    float scale = 1 / std::sqrt(static_cast<float>(w.head_dim)), masked = -1e9F;
    const Launcher launch = [&](int i, cudaStream_t stream) {
        api.require(api.set_stream(api.handle, stream), "choosing a stream");
        Binding binding{{query_id, key_id, value_id, output_id, scale_id},
                        {operands.at(i, 0), operands.at(i, 1), operands.at(i, 2), operands.at(i, 3), &scale}};
        if (w.causal) {
            binding.ids.push_back(masked_id);
            binding.addresses.push_back(&masked);
        }
        plan.execute(binding);
    };
    launch(0, device.stream());
    verify(
        device,
        [&](Sample* samples, int count, cudaStream_t stream) {
            enqueue_attention_samples(w, c.precision, operands.at(0, 0), operands.at(0, 1), operands.at(0, 2), operands.at(0, 3), samples,
                                      count, 1, stream);
        },
        attention_tolerance);
    return {timed(device, launch, operands.copies(), c.cache), {}, api.software() + " " + device.software()};
}

}  // namespace roofcast::microbench
