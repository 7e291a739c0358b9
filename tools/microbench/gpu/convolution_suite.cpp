/// Forward convolutions by cuDNN's graph API, channels first and last.

#include "gpu/cudnn_graph.hpp"
#include "gpu/operands.hpp"
#include "gpu/suites.hpp"
#include "gpu/verify.hpp"

namespace roofcast::microbench {

namespace {

enum Id : std::int64_t { input_id = 1, filter_id, output_id };

struct Types {
    cudnnDataType_t in, out, compute;
    Precision out_precision;  ///< int8 stands for int32
};

Types types_of(Precision p) {
    switch (p) {
        case Precision::fp16:
            return {CUDNN_DATA_HALF, CUDNN_DATA_HALF, CUDNN_DATA_FLOAT, p};
        case Precision::bf16:
            return {CUDNN_DATA_BFLOAT16, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT, p};
        case Precision::fp8:
            return {CUDNN_DATA_FP8_E4M3, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT, Precision::bf16};
        case Precision::int8:
            return {CUDNN_DATA_INT8, CUDNN_DATA_INT32, CUDNN_DATA_INT32, p};
        default:
            return {CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, p};
    }
}

/// A 4-dimensional tensor, contiguous in the layout asked for.
Descriptor image(const CudnnApi& api, std::int64_t id, cudnnDataType_t type, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
                 bool channels_last) {
    if (channels_last) return tensor(api, id, type, {n, c, h, w}, {c * h * w, 1, c * w, c});
    return tensor(api, id, type, {n, c, h, w}, {c * h * w, h * w, w, 1});
}

Descriptor operation(const CudnnApi& api, const Convolution& w, const Types& types) {
    const std::vector<std::int64_t> stride{w.stride, w.stride}, padding{w.padding, w.padding}, dilation{1, 1};
    const std::int64_t spatial = 2;
    Descriptor convolution(api, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, types.compute)
        .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
        .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, spatial)
        .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, stride)
        .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, padding)
        .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, padding)
        .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, dilation);
    convolution.finalize("describing the convolution");
    const Descriptor x = image(api, input_id, types.in, w.batch, w.in_channels, w.height, w.width, w.channels_last);
    const Descriptor f =
        image(api, filter_id, types.in, w.out_channels, w.in_channels / w.groups, w.kernel_size, w.kernel_size, w.channels_last);
    const Descriptor y = image(api, output_id, types.out, w.batch, w.out_channels, w.out_height(), w.out_width(), w.channels_last);
    const float one = 1, zero = 0;
    Descriptor forward(api, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    forward.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, f)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, one)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, zero);
    forward.finalize("the convolution");
    return forward;
}

std::vector<TensorSpec> tensors(const Convolution& w, Precision p, Precision out) {
    const double out_size = out == Precision::int8 ? 4 : element_size(out);
    const auto bytes = [](double size, std::int64_t elements) { return static_cast<std::size_t>(size * static_cast<double>(elements)); };
    return {{bytes(element_size(p), w.batch * w.in_channels * w.height * w.width), p},
            {bytes(element_size(p), w.out_channels * w.in_channels / w.groups * w.kernel_size * w.kernel_size), p},
            {bytes(out_size, w.batch * w.out_channels * w.out_height() * w.out_width()), out, false}};
}

}  // namespace

Outcome measure_convolution(const Device& device, const Case& c, const Convolution& w) {
    device.require(c.precision);
    const CudnnApi& api = cudnn_api();
    const Types types = types_of(c.precision);
    std::vector<Descriptor> operations;
    operations.push_back(operation(api, w, types));
    const Plan plan(api, operations, c.precision == Precision::fp32);
    const Operands operands(device, tensors(w, c.precision, types.out_precision), c.cache);
    const Launcher launch = [&](int i, cudaStream_t stream) {
        api.require(api.set_stream(api.handle, stream), "choosing a stream");
        plan.execute({{input_id, filter_id, output_id}, {operands.at(i, 0), operands.at(i, 1), operands.at(i, 2)}});
    };
    launch(0, device.stream());
    verify(
        device,
        [&](Sample* samples, int count, cudaStream_t stream) {
            enqueue_convolution_samples(w, c.precision, types.out_precision, operands.at(0, 0), operands.at(0, 1), operands.at(0, 2),
                                        samples, count, 1, stream);
        },
        product_tolerance(c.precision));
    return {timed(device, launch, operands.copies(), c.cache), {}, api.software() + " " + device.software()};
}

}  // namespace roofcast::microbench
