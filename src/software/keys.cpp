#include "software/keys.hpp"

#include <fmt/format.h>

#include "software/tables.hpp"

namespace roofcast {

namespace {

using S = SoftwareStack;

constexpr double base_us = us.in(s), base_ms = ms.in(s), base_ns = ns.in(s), base_mb = mb.in(byte);
constexpr Range any_fraction{0, 1};
constexpr Range tile_rows{0, 256};

constexpr KeyNeed framework_kernels{[](const S& x) { return x.lowering.kernels == KernelSet::framework; },
                                    "has no effect unless operators are launched kernel by kernel", "kernels = \"framework\" as well"};
constexpr KeyNeed mixed_precision{[](const S& x) { return x.lowering.mixed_precision; }, "has no effect without mixed precision",
                                  "mixed_precision = true as well"};
constexpr KeyNeed copied_keys{[](const S& x) { return x.lowering.repeats_keys || x.lowering.concatenates_cache; },
                              "has no effect when no keys are copied", "concatenates_cache or repeats_keys as well"};
constexpr KeyNeed separate_attention{[](const S& x) { return !x.lowering.fused_attention; }, "has no effect when all attention is fused",
                                     "fused_attention = false as well"};
constexpr KeyNeed padded_gemms{[](const S& x) { return x.least_tile_rows > 0; }, "has no effect when GEMMs are not padded",
                               "least_tile_rows as well"};

const SoftwareKey keys[] = {
    // Host
    {{"kernels", "",
      "framework: several kernels an operator; engine: one; generated: a compiler joins element-wise operators; fused: epilogues too",
      true},
     SpecialKey{[](TableReader& t, S& x) { x.lowering.kernels = read_kernel_set(t); },
                [](const S& x) { return fmt::format("\"{}\"", name(x.lowering.kernels)); }}},
    {{"host_us_per_kernel", "us", "CPU time to launch one kernel", true}, &S::host_per_kernel, non_negative, base_us},
    {{"host_us_per_convolution", "us", "further CPU time to launch a convolution, for which the library looks up an algorithm"},
     &S::host_per_convolution,
     non_negative,
     base_us},
    {{"host_us_per_pass", "us", "CPU time per pass that nothing hides: Python, scheduler, graph launch", true},
     &S::host_per_pass,
     non_negative,
     base_us},
    {{"device_gap_us", "us", "time between two dependent kernels on the GPU, beyond the kernel's own latency", true},
     &S::device_gap,
     non_negative,
     base_us},
    {{"send_gap_us", "us", "further time of each transfer between pipeline stages"}, &S::send_gap, non_negative, base_us},
    {{"host_ns_per_window_mask", "ns", "CPU time for each element of the masks of shifted windows; 0: the GPU keeps them"},
     &Lowering::window_mask_time,
     non_negative,
     base_ns},
    {{"reads_back_sizes", "", "models read sizes of maps and empty masks back from the GPU, and the CPU waits"},
     &Lowering::reads_back_sizes},
    {{"state_on_host", "", "the state that a recurrent model carries from pass to pass goes through host memory"},
     &Lowering::state_on_host},
    {{"suppression_kernels", "1", "kernels for each class and image of non-maximum suppression, where scripts run it class by class"},
     &Lowering::suppression_kernels,
     non_negative,
     1,
     framework_kernels},
    {{"half_padded", "",
      "half of each measured sequence is padding; runs of removed_tokens were stripped of it, which takes host_us_per_pass more"},
     SpecialKey{[](TableReader& t, S& x) { x.half_padded = read_half_padded(t); }, [](const S& x) { return text_of(x.half_padded); }}},
    {{"decoders", "", "matmul_rate and host_us_per_pass of decoders, where they differ from those of other models"},
     SpecialKey{[](TableReader& t, S& x) { x.decoders = read_decoder_settings(t); }, [](const S& x) { return text_of(x.decoders); }}},
    // Memory and first run
    {{"memory_overhead_mb", "MB", "memory of context, workspaces and allocator", true}, &S::memory_overhead, non_negative, base_mb},
    {{"cold_context_ms", "ms", "first run only: context and libraries", true}, &S::cold_context, non_negative, base_ms},
    {{"cold_ms_per_kernel", "ms", "first run only: loading or compiling each kernel, those of repeated layers once", true},
     &S::cold_per_kernel,
     non_negative,
     base_ms},
    {{"scheduler", "",
      "of steps of many requests: batching (mixed or prompts_first), chunked prompts, max_tokens and max_sequences of a step, admission "
      "(prompt or output)"},
     SpecialKey{[](TableReader& t, S& x) { x.scheduler = read_scheduler(t); }, [](const S& x) { return text_of(x.scheduler); }}},
    {{"streams", "",
      "streams that independent operators run on, unless the user sets them: shared experts run in parallel with routed ones"},
     SpecialKey{[](TableReader& t, S& x) { x.streams = static_cast<int>(t.count_if("streams", 1, 16).value_or(1)); },
                [](const S& x) { return std::to_string(x.streams); }}},
    {{"prompt_host_us_per_kernel", "us", "CPU time to launch a kernel of passes over prompts, which no captured graph replays"},
     &S::prompt_host_per_kernel,
     non_negative,
     base_us},
    {{"request_us_per_token", "us", "time of a request outside of steps for each token of its prompt: text to tokens"},
     &S::prompt_token_time,
     non_negative,
     base_us},
    {{"request_ms", "ms", "time of a request outside of steps, before its first token: text, tokens, network"},
     &S::request_time,
     non_negative,
     base_ms},
    {{"cache_of_free", "", "the KV cache fraction applies to the memory that weights and activations leave, not to all memory"},
     &S::cache_of_free},
    // Formats
    {{"channels_last", "", "convolutions run channels last (NHWC)"}, &Lowering::channels_last},
    {{"mixed_precision", "", "16-bit runs keep learned factors, and sums that layers add to, in fp32 (automatic mixed precision)"},
     &Lowering::mixed_precision},
    {{"fp32_norms", "", "normalizations compute in fp32 too"}, &Lowering::fp32_norms, non_negative, 1, mixed_precision},
    {{"casts_weights", "", "a kernel narrows the weights before each GEMM of a 16-bit run, and in frameworks a linear layer's bias"},
     &S::casts_weights,
     non_negative,
     1,
     mixed_precision},
    {{"fp32_activations", "", "16-bit runs keep activations in fp32 and convert inputs and outputs of GEMMs"}, &S::fp32_activations},
    {{"narrow_activations", "", "int8 runs pass 8-bit activations from layer to layer"}, &Lowering::narrow_activations},
    {{"tf32_gemms", "", "TF32 applies to GEMMs, not only to convolutions"}, &Lowering::tf32_gemms},
    {{"fp16_accumulation", "", "fp16 GEMMs accumulate in 16 bits, twice as fast on GeForce GPUs"}, &S::fp16_accumulation},
    {{"fastest_precision", "", "a layer in 8 bits runs in fp16 where that is faster"}, &S::fastest_precision},
    // GEMMs
    {{"matmul_rate", "1", "fraction of the vendor libraries' rate that GEMMs and attention reach"}, &S::matmul_rate, positive_fraction},
    {{"warp_mma", "", "GEMMs use single-warp MMA (mma.sync), which does not reach the peak of WGMMA hardware"}, &S::warp_mma},
    {{"least_tile_rows", "rows", "least rows of a GEMM tile on WGMMA hardware: smaller GEMMs are padded, without split-K; 0: any"},
     &S::least_tile_rows,
     tile_rows},
    {{"least_tile_rate", "1", "fraction of their rate that 16-bit GEMMs padded to these rows reach"},
     &S::least_tile_rate,
     positive_fraction,
     1,
     padded_gemms},
    {{"fp8_tile", "rows", "side of the only tile of fp8 GEMMs that quantize their activations; 0: the library's tiles"},
     SpecialKey{[](TableReader& t, S& x) { x.fp8_tile = read_tile(t, "fp8_tile", 256); },
                [](const S& x) { return x.fp8_tile > 0 ? fmt::format("{}", x.fp8_tile) : ""; }}},
    {{"waits_for_8bit_gemms", "", "the CPU launches nothing until a dense 8-bit GEMM has finished"}, &S::waits_for_8bit_gemms},
    {{"gemv_bytes_per_sm_clock", "B", "most weights that an SM streams per clock in GEMVs of up to 8 rows; absent: no such kernels"},
     &S::gemv_bytes_per_sm_clock,
     positive},
    {{"unpacks_on_simt", "", "GEMMs of up to 4 rows with narrow weights run as GEMVs on CUDA cores"}, &Caller::unpacks_on_simt},
    {{"unpacks_from_rows", "rows", "GEMMs of this many rows or more have their weights unpacked to 16 bits by a kernel before; 0: none"},
     &S::unpacks_from_rows},
    {{"extra_kernels_4bit", "1", "further kernels launched to unpack the weights of each GEMM below 8 bits"}, &S::extra_kernels_4bit},
    {{"extra_kernels_8bit", "1", "further kernels launched for each GEMM with 8-bit weights"}, &S::extra_kernels_8bit},
    {{"unpacked_4bit_per_sm_clock", "1", "most weights below 8 bits that an SM unpacks per clock in 16-bit GEMMs; absent: no limit"},
     &S::unpacked_4bit_per_sm_clock,
     positive},
    {{"unpacked_8bit_per_sm_clock", "1", "most 8-bit weights that an SM unpacks per clock in 16-bit GEMMs; absent: no limit"},
     &S::unpacked_8bit_per_sm_clock,
     positive},
    {{"adds_in_norms", "", "sums of the residual stream and the norms behind them are one kernel"}, &Lowering::adds_in_norms},
    {{"fuses_quantization", "", "kernels quantize what they write, where the checkpoint brings the scales of activations"},
     &Lowering::fuses_quantization},
    {{"reduces_in_norms", "",
      "the all-reduce before such a norm is part of its kernel, on GPUs of this major compute capability and later; 0: never"},
     SpecialKey{
         [](TableReader& t, S& x) { x.lowering.reduces_in_norms = static_cast<int>(t.count_if("reduces_in_norms", 0, 99).value_or(0)); },
         [](const S& x) { return std::to_string(x.lowering.reduces_in_norms); }}},
    {{"separate_bias", "", "a kernel of its own adds the bias of a convolution"}, &Lowering::separate_bias},
    {{"separate_projections", "", "vision transformers multiply queries, keys and values one after the other"},
     &Lowering::separate_projections},
    {{"logits_of_prompt", "", "prefill computes logits of every prompt token, not only of the last"}, &Lowering::logits_of_prompt},
    {{"head_by_sequences", "", "prefill computes the logits of each sequence by a GEMM of its own, which reads all its weights"},
     &Lowering::head_by_sequences},
    // Experts
    {{"grouped_experts", "", "frameworks run a layer's experts as grouped GEMMs, not one after the other"}, &Lowering::grouped_experts},
    {{"gathers_tokens", "", "attention data parallel: tokens reach experts by all-gather and reduce-scatter, not by all-to-all"},
     &Lowering::gathers_tokens},
    {{"spreads_dense", "", "attention data parallel: dense MLPs, shared experts and the LM head are split over all its GPUs, too"},
     &Lowering::spreads_dense},
    {{"warp_mma_experts", "", "8-bit GEMMs of routed experts use single-warp MMA"}, &S::warp_mma_experts},
    {{"expert_rate", "1", "fraction of matmul_rate that grouped 8-bit GEMMs of routed experts reach"}, &S::expert_rate, positive_fraction},
    {{"expert_launch_us", "us", "launch of an expert's own kernel in GEMMs with 4-bit weights; 0: experts share one"},
     &S::expert_launch,
     non_negative,
     base_us},
    // Attention
    {{"fused_attention", "", "attention runs as one fused kernel (FlashAttention)"}, &Lowering::fused_attention},
    {{"fused_wide_attention", "", "fp32 and TF32 attention is fused too (default: as fused_attention)"},
     SpecialKey{read_fused_wide_attention,
                [](const S& x) { return std::string(x.lowering.fused_wide_attention == x.lowering.fused_attention ? "" : "false"); }}},
    {{"fused_encoder_tokens", "tokens", "encoder attention of up to this many tokens is fused even so, in 16 bits or fewer"},
     &Lowering::fused_encoder_tokens,
     non_negative,
     1,
     separate_attention},
    {{"window_kernels", "",
      "windowed attention (Swin) is fused, in heads of 32 and up to 256 tokens, and the norm before it cuts the windows"},
     &Lowering::window_kernels},
    {{"head_blocks", "", "attention without a KV cache, up to 512 tokens and 64 wide, runs one block a head (Xavier to Ada)"},
     &Caller::head_blocks},
    {{"fp32_library_attention", "", "attention without a fused kernel is separate kernels in fp32, in 16-bit runs too"},
     &Lowering::fp32_library_attention,
     non_negative,
     1,
     framework_kernels},
    {{"fp32_scores", "", "attention without a fused kernel keeps scores in fp32 around the softmax"}, &Lowering::fp32_scores},
    {{"copies_heads", "", "attention without a fused kernel transposes heads to the outer dimension and back"}, &Lowering::copies_heads},
    {{"separate_mask", "", "attention without a fused kernel masks scores by a kernel of its own"}, &Lowering::separate_mask},
    {{"odd_rows_on_simt", "", "separate attention GEMMs over an odd number of tokens compute in fp32 without tensor cores"},
     &Lowering::odd_rows_on_simt},
    {{"concatenates_cache", "", "passes that lengthen the KV cache write all of it anew"}, &Lowering::concatenates_cache},
    {{"repeats_keys", "", "keys and values that query heads share are copied out to each of them before attention"},
     &Lowering::repeats_keys},
    {{"copy_instructions", "1", "integer instructions for each element that either of these writes"},
     &Lowering::copy_instructions,
     non_negative,
     1,
     copied_keys},
    {{"quantized_copy_instructions", "1", "the same where weights are stored in fewer bits than GEMMs compute in; absent: the same"},
     &Lowering::quantized_copy_instructions,
     non_negative,
     1,
     copied_keys},
    {{"split_ungrouped", "", "attention of one query splits keys over blocks also where no query heads share them"},
     &Caller::splits_ungrouped},
    {{"sharing_groups", "",
      "[least, most] query heads that a decoding kernel takes together, []: none; absent: no SIMT kernel, any together"},
     SpecialKey{[](TableReader& t, S& x) { x.caller.sharing_groups = read_group_sizes(t); },
                [](const S& x) { return text_of(x.caller.sharing_groups); }}},
    {{"converts_cache", "", "attention converts a narrower KV cache; false: it computes on it as stored"}, &Caller::converts_cache},
    {{"general_sinks", "", "attention with sinks runs in a general kernel where FlashAttention-2 is the library"}, &Caller::general_sinks},
    {{"joint_attention", "", "one attention kernel takes prompts and decoding sequences of a step"}, &S::joint_attention},
    {{"decode_attention_rate", "1", "fraction of the rate of split-KV kernels that attention of one query a sequence reaches"},
     &S::decode_attention_rate,
     positive_fraction},
    {{"grouped_decode_attention", "", "the same (rate) where least_group query heads or more share a KV head"},
     SpecialKey{[](TableReader& t, S& x) { x.grouped_decode_attention = read_grouped_decoding(t); },
                [](const S& x) { return text_of(x.grouped_decode_attention); }}},
    // Scheduling and several GPUs
    {{"prefill_chunk_tokens", "tokens", "prompts run in chunks of this many tokens of all sequences; 0: whole prompts"}, &S::prefill_chunk},
    {{"long_contexts", "", "prefill_chunk_tokens and decode_attention_rate where prompt and output exceed beyond_tokens"},
     SpecialKey{[](TableReader& t, S& x) { x.long_contexts = read_long_contexts(t); },
                [](const S& x) { return text_of(x.long_contexts); }}},
    {{"splits_layers", "", "several GPUs hold consecutive layers by default; false: each holds a part of every layer"}, &S::splits_layers},
    {{"pipeline_chunk_tokens", "tokens", "tokens of a prompt that travel through pipeline stages together; 0: the whole prompt"},
     &S::pipeline_chunk},
    {{"pipeline_overlap", "1", "fraction of the ideal gain from pipeline stages working at the same time"},
     &S::pipeline_overlap,
     any_fraction},
    // Other kernels
    {{"softmax_in_registers", "", "frameworks' softmax keeps rows of up to 9,216 elements in registers; false: it reads them three times"},
     &Caller::softmax_in_registers,
     non_negative,
     1,
     framework_kernels},
    {{"quantizing", "",
      "how activations are quantized: tensor, narrow (element by element), rows (a block each) or elementwise (several kernels)"},
     SpecialKey{[](TableReader& t, S& x) { x.caller.quantizing = read_quantizing(t); },
                [](const S& x) { return fmt::format("\"{}\"", name(x.caller.quantizing)); }}},
    {{"streaming_rate", "1", "fraction of the rate of well-written kernels that other kernels reach"},
     &S::streaming_rate,
     positive_fraction},
    {{"element_instructions", "1", "SIMT instructions for each element that its streaming kernels write; 0: hidden behind the bytes"},
     &S::element_instructions},
};

}  // namespace

std::vector<SoftwareKeyInfo> software_keys() {
    static const SoftwareStack without;
    std::vector<SoftwareKeyInfo> infos;
    for (const SoftwareKey& key : keys) {
        infos.push_back(key.info);
        infos.back().fallback = key.info.required ? std::string() : value_text(key, without);
    }
    return infos;
}

std::vector<std::pair<std::string_view, std::string>> stated_keys(const SoftwareStack& stack) {
    static const SoftwareStack without;
    std::vector<std::pair<std::string_view, std::string>> stated;
    for (const SoftwareKey& key : keys) {
        std::string text = value_text(key, stack);
        if (!text.empty() && (key.info.required || text != value_text(key, without))) stated.emplace_back(key.info.name, std::move(text));
    }
    return stated;
}

void read_software_keys(TableReader& table, SoftwareStack& stack) {
    static const SoftwareStack without;
    for (const SoftwareKey& key : keys) read_key(table, key, stack);
    for (const SoftwareKey& key : keys) {
        if (!key.need || key.need->met(stack) || value_text(key, stack) == value_text(key, without)) continue;
        throw table.error(key.info.name, std::string(key.need->refusal), {}, std::string(key.need->suggestion));
    }
    stack.source = table.text("source");
}

}  // namespace roofcast
