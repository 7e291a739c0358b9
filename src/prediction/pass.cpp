#include "prediction/pass.hpp"

#include <algorithm>

#include "prediction/shapes.hpp"

namespace roofcast {

bool is_traced(const SoftwareStacks& software, const RunRequest& request, const Workload& workload, std::string_view vendor) {
    if (!workload.own_script.traced || request.execution != Execution::eager) return false;
    // TorchScript leaves a framework its kernels; what succeeded it writes its own.
    return software.find(Execution::compiled, request.software, vendor).kernels == KernelSet::framework;
}

bool removes_padding(const SoftwareStack& stack, const RunRequest& request) {
    if (!stack.half_padded || request.shape.generate_tokens > 0) return false;
    const auto& removed = stack.half_padded->removed_tokens;
    return std::find(removed.begin(), removed.end(), request.shape.prompt_tokens) != removed.end();
}

namespace {

/// `stack` on a host that takes `factor` of the time.
void take_host_time(SoftwareStack& stack, double factor) {
    for (Seconds* time : {&stack.host_per_kernel, &stack.host_per_convolution, &stack.host_per_pass, &stack.window_mask_time})
        *time *= factor;
}

}  // namespace

SoftwareStack stack_of(const SoftwareStacks& software, const RunRequest& request, const Workload& workload, std::string_view vendor) {
    SoftwareStack stack = software.find(request.execution, request.software, vendor);
    if (is_traced(software, request, workload, vendor)) stack = software.find(Execution::compiled, request.software, vendor);
    if (stack.decoders && language_model(workload) != nullptr) {
        stack.matmul_rate = stack.decoders->matmul_rate;
        stack.host_per_pass = stack.decoders->host_per_pass;
    }
    if (removes_padding(stack, request)) stack.host_per_pass += stack.half_padded->host_per_pass;
    take_host_time(stack, request.host_time);
    if (stack.kernels != KernelSet::framework) return stack;
    stack.folds_norms = workload.own_script.folds_norms;
    if (workload.own_script.casts_model && stack.mixed_precision) {
        stack.mixed_precision = stack.casts_weights = stack.fp32_norms = stack.fp32_scores = false;
    }
    return stack;
}

SoftwareStack for_context(SoftwareStack stack, std::int64_t tokens) {
    if (!stack.long_contexts || tokens <= stack.long_contexts->beyond) return stack;
    stack.prefill_chunk = stack.long_contexts->prefill_chunk;
    stack.decode_attention_rate = stack.long_contexts->decode_attention_rate;
    return stack;
}

RunShape shape_under(const SoftwareStack& stack, const RunRequest& request) {
    RunShape shape = request.shape;
    shape.channels_last = request.channels_last.value_or(stack.channels_last);
    const bool wide = element_size(shape.precision) > 2 * byte;
    shape.fused_attention = wide ? stack.fused_wide_attention : stack.fused_attention;
    if (!wide) shape.fused_encoder_tokens = stack.fused_encoder_tokens;
    shape.window_kernels = stack.window_kernels;
    shape.sharing_groups = stack.sharing_groups;
    shape.converts_cache = stack.converts_cache;
    shape.general_sinks = stack.general_sinks;
    shape.head_blocks = stack.head_blocks;
    shape.tf32_products = stack.tf32_products;
    shape.odd_rows_on_lanes = stack.odd_rows_on_lanes;
    shape.fp32_library_attention = stack.fp32_library_attention;
    shape.fp32_scores = stack.fp32_scores;
    shape.framework = stack.kernels == KernelSet::framework;
    shape.compiled = stack.kernels == KernelSet::generated;
    shape.copies_heads = stack.copies_heads;
    shape.concatenates_cache = stack.concatenates_cache;
    shape.repeats_keys = stack.repeats_keys;
    shape.split_ungrouped = stack.split_ungrouped;
    const bool quantized = !shape.weights.label.empty() && shape.weights.bits < 8 * element_size(shape.precision).in(byte);
    shape.copy_instructions = quantized ? stack.quantized_copy_instructions.value_or(stack.copy_instructions) : stack.copy_instructions;
    shape.separate_mask = stack.separate_mask;
    shape.prefill_chunk = stack.prefill_chunk;
    shape.folds_norms = stack.folds_norms;
    shape.half_padded = stack.half_padded && !removes_padding(stack, request);
    shape.separate_bias = stack.separate_bias;
    shape.fp32_norms = stack.fp32_norms;
    shape.mixed_precision = stack.mixed_precision;
    shape.logits_of_prompt = stack.logits_of_prompt;
    shape.head_by_sequences = stack.head_by_sequences;
    shape.grouped_experts = stack.grouped_experts;
    shape.separate_projections = stack.separate_projections;
    shape.window_mask_time = stack.window_mask_time;
    shape.reads_back_sizes = stack.reads_back_sizes;
    shape.state_on_host = stack.state_on_host;
    shape.suppression_kernels = stack.suppression_kernels;
    shape.narrow_activations = stack.narrow_activations;
    return shape;
}

/// A prompt cut into m chunks passes p stages like a wave: m + p − 1 steps of 1/(m p) of the work each; engines reach a part of
/// that gain. One chunk gains nothing.
double pipelined_share(const RunShape& shape, const SoftwareStack& stack, std::int64_t tokens) {
    if (stack.pipeline_chunk == 0) return 1;
    const double stages = static_cast<double>(shape.parallel.pipeline);
    const double chunks = std::max(1.0, static_cast<double>(shape.batch * tokens) / static_cast<double>(stack.pipeline_chunk));
    const double ideal_speedup = chunks * stages / (chunks + stages - 1);
    return 1 / (1 + stack.pipeline_overlap * (ideal_speedup - 1));
}

}  // namespace roofcast
