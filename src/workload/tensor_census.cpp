#include "workload/tensor_census.hpp"

namespace roofcast {

void TensorCensus::add(const FileTensor& tensor) {
    parameters_ += tensor.weights;
    bytes_ += tensor.bytes;
    if (!tensor.role) {
        others_ += tensor.bytes;
        return;
    }
    Sum& sum = roles_[index(*tensor.role)];
    sum.weights += tensor.weights;
    sum.unpack_cycles += tensor.weights * tensor.unpack_cycles;
    sum.bytes += tensor.bytes;
}

double TensorCensus::mean_bits() const {
    double weights = 0, bits = 0;
    for (const Sum& sum : roles_) {
        weights += sum.weights;
        bits += 8 * sum.bytes.in(byte);
    }
    return weights > 0 ? bits / weights : 0;
}

TensorFormats TensorCensus::formats() const {
    TensorFormats formats;
    formats.others = others_;
    for (std::size_t i = 0; i < tensor_role_count; ++i) {
        const Sum& sum = roles_[i];
        if (sum.weights > 0) formats.roles[i] = {8 * sum.bytes.in(byte) / sum.weights, sum.unpack_cycles / sum.weights};
    }
    RoleFormat& head = formats.roles[index(TensorRole::head)];
    if (head.bits == 0) head = formats.of(TensorRole::embedding);
    return formats;
}

}  // namespace roofcast
