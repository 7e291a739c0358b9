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
    // Launch overhead
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
    {{"send_gap_us", "us", "further time per transfer between pipeline stages"}, &S::send_gap, non_negative, base_us},
    {{"host_ns_per_window_mask", "ns", "CPU time per mask element of shifted windows; 0: masks stay on the GPU"},
     &Lowering::window_mask_time,
     non_negative,
     base_ns},
    {{"reads_back_sizes", "", "the CPU reads map sizes and empty masks back from the GPU and waits"}, &Lowering::reads_back_sizes},
    {{"state_on_host", "", "recurrent state goes through CPU memory between passes"}, &Lowering::state_on_host},
    {{"suppression_kernels", "1", "kernels per class and image of non-maximum suppression in scripts that run it class by class"},
     &Lowering::suppression_kernels,
     non_negative,
     1,
     framework_kernels},
    {{"half_padded", "",
      "half of each measured sequence is padding; runs of removed_tokens removed it, with host_us_per_pass more CPU time"},
     SpecialKey{[](TableReader& t, S& x) { x.half_padded = read_half_padded(t); }, [](const S& x) { return text_of(x.half_padded); }}},
    {{"decoders", "", "matmul_rate and host_us_per_pass of decoders, if they differ from other models"},
     SpecialKey{[](TableReader& t, S& x) { x.decoders = read_decoder_settings(t); }, [](const S& x) { return text_of(x.decoders); }}},
    // Memory and first run
    {{"memory_overhead_mb", "MB", "memory of context, workspaces and allocator", true}, &S::memory_overhead, non_negative, base_mb},
    {{"cold_context_ms", "ms", "first run only: context and libraries", true}, &S::cold_context, non_negative, base_ms},
    {{"cold_ms_per_kernel", "ms", "first run only: loading or compiling each kernel, those of repeated layers once", true},
     &S::cold_per_kernel,
     non_negative,
     base_ms},
    {{"scheduler", "",
      "scheduler defaults: batching (mixed or prompts_first), chunked prompts, admission (prompt or output); sizes of a step are in "
      "[[memory]]"},
     SpecialKey{[](TableReader& t, S& x) { x.scheduler = read_scheduler(t); }, [](const S& x) { return text_of(x.scheduler); }}},
    {{"streams", "",
      "streams that independent operators run on, unless the user sets them: shared experts run in parallel with routed ones"},
     SpecialKey{[](TableReader& t, S& x) { x.streams = static_cast<int>(t.count_if("streams", 1, 16).value_or(1)); },
                [](const S& x) { return std::to_string(x.streams); }}},
    {{"prompt_host_us_per_kernel", "us", "CPU time to launch a kernel of prefill passes, which are not captured in a graph"},
     &S::prompt_host_per_kernel,
     non_negative,
     base_us},
    {{"request_us_per_token", "us", "time of a request outside scheduler steps per prompt token: tokenizer"},
     &S::prompt_token_time,
     non_negative,
     base_us},
    {{"request_ms", "ms", "time of a request outside scheduler steps before its first token: text, tokenizer, network"},
     &S::request_time,
     non_negative,
     base_ms},
    // Formats
    {{"channels_last", "", "convolutions run channels last (NHWC)"}, &Lowering::channels_last},
    {{"mixed_precision", "", "16-bit runs keep parameters and the residual stream in fp32 (automatic mixed precision)"},
     &Lowering::mixed_precision},
    {{"fp32_norms", "", "normalizations compute in fp32 too"}, &Lowering::fp32_norms, non_negative, 1, mixed_precision},
    {{"casts_weights", "", "a kernel casts the weights (and the bias in frameworks) before each GEMM of a 16-bit run"},
     &S::casts_weights,
     non_negative,
     1,
     mixed_precision},
    {{"fp32_activations", "", "16-bit runs keep activations in fp32 and convert inputs and outputs of GEMMs"}, &S::fp32_activations},
    {{"narrow_activations", "", "int8 runs pass 8-bit activations from layer to layer"}, &Lowering::narrow_activations},
    {{"tf32_gemms", "", "TF32 applies to GEMMs, not only to convolutions"}, &Lowering::tf32_gemms},
    {{"fp16_accumulation", "", "fp16 GEMMs accumulate in 16 bits, twice as fast on GeForce GPUs"}, &S::fp16_accumulation},
    {{"fastest_precision", "", "an 8-bit layer runs in fp16 if that is faster"}, &S::fastest_precision},
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
    {{"gemv_bytes_per_sm_clock", "B", "most weight bytes that an SM streams per clock in GEMVs of up to 8 rows; absent: no GEMV kernels"},
     &S::gemv_bytes_per_sm_clock,
     positive},
    {{"unpacks_on_simt", "", "GEMMs of up to 4 rows with narrow weights run as GEMVs on CUDA cores"}, &Caller::unpacks_on_simt},
    {{"unpacks_from_rows", "rows", "GEMMs of this many rows or more unpack their weights to 16 bits first; 0: none"},
     &S::unpacks_from_rows},
    {{"extra_kernels_4bit", "1", "further kernels launched to unpack the weights of each GEMM below 8 bits"}, &S::extra_kernels_4bit},
    {{"extra_kernels_8bit", "1", "further kernels launched for each GEMM with 8-bit weights"}, &S::extra_kernels_8bit},
    {{"unpacked_4bit_per_sm_clock", "1", "most weights below 8 bits that an SM unpacks per clock in 16-bit GEMMs; absent: no limit"},
     &S::unpacked_4bit_per_sm_clock,
     positive},
    {{"unpacked_8bit_per_sm_clock", "1", "most 8-bit weights that an SM unpacks per clock in 16-bit GEMMs; absent: no limit"},
     &S::unpacked_8bit_per_sm_clock,
     positive},
    {{"adds_in_norms", "", "the residual addition and the norm behind it are one kernel"}, &Lowering::adds_in_norms},
    {{"fuses_quantization", "", "kernels quantize their outputs if the checkpoint has the scales of activations"},
     &Lowering::fuses_quantization},
    {{"reduces_in_norms", "", "the all-reduce before such a norm is fused, from this major compute capability on; 0: never"},
     SpecialKey{
         [](TableReader& t, S& x) { x.lowering.reduces_in_norms = static_cast<int>(t.count_if("reduces_in_norms", 0, 99).value_or(0)); },
         [](const S& x) { return std::to_string(x.lowering.reduces_in_norms); }}},
    {{"separate_bias", "", "a separate kernel adds the bias of a convolution"}, &Lowering::separate_bias},
    {{"separate_projections", "", "vision transformers project queries, keys and values separately"}, &Lowering::separate_projections},
    {{"logits_of_prompt", "", "prefill computes logits of every prompt token, not only of the last"}, &Lowering::logits_of_prompt},
    {{"head_by_sequences", "", "prefill computes the logits of each sequence by a separate GEMM, which reads all its weights"},
     &Lowering::head_by_sequences},
    // Experts
    {{"grouped_experts", "", "frameworks run a layer's experts as grouped GEMMs, not one by one"}, &Lowering::grouped_experts},
    {{"gathers_tokens", "", "attention data parallelism: dispatch by all-gather and combine by reduce-scatter, not all-to-all"},
     &Lowering::gathers_tokens},
    {{"spreads_dense", "", "attention data parallelism: dense MLPs, shared experts and the LM head are split over all GPUs"},
     &Lowering::spreads_dense},
    {{"warp_mma_experts", "", "8-bit GEMMs of routed experts use single-warp MMA"}, &S::warp_mma_experts},
    {{"expert_rate", "1", "fraction of matmul_rate that grouped 8-bit GEMMs of routed experts reach"}, &S::expert_rate, positive_fraction},
    {{"expert_launch_us", "us", "launch of each expert's own kernel in 4-bit GEMMs; 0: one kernel for all experts"},
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
    {{"window_kernels", "", "windowed attention (Swin) is fused for heads of 32 and up to 256 tokens; the norm before it cuts the windows"},
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
    {{"separate_mask", "", "attention without a fused kernel masks scores in a separate kernel"}, &Lowering::separate_mask},
    {{"odd_rows_on_simt", "", "separate attention GEMMs over an odd number of tokens compute in fp32 without tensor cores"},
     &Lowering::odd_rows_on_simt},
    {{"concatenates_cache", "", "passes that extend the KV cache rewrite all of it"}, &Lowering::concatenates_cache},
    {{"repeats_keys", "", "shared keys and values are copied to each query head before attention"}, &Lowering::repeats_keys},
    {{"copy_instructions", "1", "integer instructions per element that either of these writes"},
     &Lowering::copy_instructions,
     non_negative,
     1,
     copied_keys},
    {{"quantized_copy_instructions", "1", "the same for weights in fewer bits than the compute format; absent: no difference"},
     &Lowering::quantized_copy_instructions,
     non_negative,
     1,
     copied_keys},
    {{"split_ungrouped", "", "decode attention uses split-KV even if no query heads share keys"}, &Caller::splits_ungrouped},
    {{"sharing_groups", "",
      "[least, most] query heads that a decode kernel processes together; []: none; absent: any number, no SIMT kernel"},
     SpecialKey{[](TableReader& t, S& x) { x.caller.sharing_groups = read_group_sizes(t); },
                [](const S& x) { return text_of(x.caller.sharing_groups); }}},
    {{"converts_cache", "", "attention converts a narrower KV cache; false: it computes on the stored format"}, &Caller::converts_cache},
    {{"general_sinks", "", "attention with sinks runs in a general kernel if the library is FlashAttention-2"}, &Caller::general_sinks},
    {{"joint_attention", "", "one attention kernel processes prompts and decoding sequences of a step"}, &S::joint_attention},
    {{"decode_attention_rate", "1", "fraction of the split-KV rate that decode attention reaches"},
     &S::decode_attention_rate,
     positive_fraction},
    {{"grouped_decode_attention", "", "rate of decode attention if least_group or more query heads share a KV head"},
     SpecialKey{[](TableReader& t, S& x) { x.grouped_decode_attention = read_grouped_decoding(t); },
                [](const S& x) { return text_of(x.grouped_decode_attention); }}},
    // Scheduling and several GPUs
    {{"prefill_chunk_tokens", "tokens", "prompts run in chunks of this many tokens of all sequences; 0: whole prompts"}, &S::prefill_chunk},
    {{"long_contexts", "", "prefill_chunk_tokens and decode_attention_rate if prompt and output exceed beyond_tokens"},
     SpecialKey{[](TableReader& t, S& x) { x.long_contexts = read_long_contexts(t); },
                [](const S& x) { return text_of(x.long_contexts); }}},
    {{"splits_layers", "", "several GPUs hold consecutive layers by default; false: each holds a part of every layer"}, &S::splits_layers},
    {{"pipeline_chunk_tokens", "tokens", "prompt tokens that pass through pipeline stages together; 0: the whole prompt"},
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
    {{"element_instructions", "1", "SIMT instructions per element that streaming kernels write; 0: hidden behind memory traffic"},
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
