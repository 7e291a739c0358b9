#include "prediction/pass.hpp"

#include <algorithm>
#include <utility>

#include "prediction/shapes.hpp"

namespace roofcast {

bool is_traced(const SoftwareStacks& software, const Run& request, const Workload& workload, std::string_view vendor) {
    if (!workload.own_script.traced || request.execution != Execution::eager) return false;
    // TorchScript leaves a framework its kernels; what succeeded it writes its own.
    return software.find(Execution::compiled, request.software, vendor).lowering.framework();
}

bool removes_padding(const SoftwareStack& stack, const Run& request) {
    if (!stack.half_padded || request.generate_tokens > 0) return false;
    const auto& removed = stack.half_padded->removed_tokens;
    return std::find(removed.begin(), removed.end(), request.prompt_tokens) != removed.end();
}

namespace {

/// `stack` on a CPU that takes `factor` times as long.
void take_host_time(SoftwareStack& stack, double factor) {
    for (Seconds* time : {&stack.host_per_kernel, &stack.host_per_convolution, &stack.host_per_pass, &stack.lowering.window_mask_time})
        *time *= factor;
}

}  // namespace

const SoftwareStack& engine_of(const SoftwareStacks& software, const Run& request, const Workload& workload, std::string_view vendor) {
    const Execution execution = is_traced(software, request, workload, vendor) ? Execution::compiled : request.execution;
    return software.find(execution, request.software, vendor);
}

SoftwareStack stack_of(const SoftwareStacks& software, const Run& request, const Workload& workload, std::string_view vendor) {
    SoftwareStack stack = engine_of(software, request, workload, vendor);
    if (stack.decoders && language_model(workload) != nullptr) {
        stack.matmul_rate = stack.decoders->matmul_rate;
        stack.host_per_pass = stack.decoders->host_per_pass;
    }
    if (removes_padding(stack, request)) stack.host_per_pass += stack.half_padded->host_per_pass;
    take_host_time(stack, request.host_time);
    stack.streams = request.streams.value_or(stack.streams);
    Lowering& lowering = stack.lowering;
    lowering.channels_last = request.channels_last.value_or(lowering.channels_last);
    lowering.half_padded = stack.half_padded && !removes_padding(stack, request);
    if (!lowering.framework()) return stack;
    lowering.folds_norms = workload.own_script.folds_norms;
    if (workload.own_script.casts_model && lowering.mixed_precision)
        lowering.mixed_precision = stack.casts_weights = lowering.fp32_norms = lowering.fp32_scores = false;
    return stack;
}

Gpu gpu_of(const Gpu& device, const Run& request, const SoftwareStack& stack) {
    Gpu gpu = as_software_sees(device, stack);
    gpu.profile.pcie = request.pcie.value_or(device.profile.pcie);
    return gpu;
}

SoftwareStack for_context(SoftwareStack stack, std::int64_t tokens) {
    if (!stack.long_contexts || tokens <= stack.long_contexts->beyond) return stack;
    stack.prefill_chunk = stack.long_contexts->prefill_chunk;
    stack.decode_attention_rate = stack.long_contexts->decode_attention_rate;
    return stack;
}

/// A prompt cut into m chunks passes p stages like a wave: m + p − 1 steps of 1/(m p) of the work each; engines reach a part of
/// that gain. One chunk gains nothing.
double pipelined_fraction(const Run& run, const SoftwareStack& stack, std::int64_t tokens) {
    if (stack.pipeline_chunk == 0) return 1;
    const double stages = static_cast<double>(run.parallel.pipeline);
    const double chunks = std::max(1.0, static_cast<double>(run.batch * tokens) / static_cast<double>(stack.pipeline_chunk));
    const double ideal_speedup = chunks * stages / (chunks + stages - 1);
    return 1 / (1 + stack.pipeline_overlap * (ideal_speedup - 1));
}

}  // namespace roofcast
