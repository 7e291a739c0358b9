#include "kernels/terms.hpp"
#include "kernels/work.hpp"

namespace roofcast {

KernelCost cost(const Elementwise& op, const Gpu& gpu, Cache cache) {
    return streaming_cost(work(op).bytes, work(op).vector, op.precision, gpu, cache);
}

KernelCost cost(const Embedding& op, const Gpu& gpu, Cache cache) {
    return streaming_cost(work(op).bytes, {}, op.precision, gpu, cache == Cache::produced ? Cache::cold : cache);
}

KernelCost cost(const Reduce& op, const Gpu& gpu, Cache cache) {
    return streaming_cost(work(op).bytes, work(op).vector, op.precision, gpu, cache);
}

KernelCost cost(const Move& op, const Gpu& gpu, Cache cache) {
    return streaming_cost(work(op).bytes, {}, op.precision, gpu, cache);
}

}  // namespace roofcast
