#include "cli/run_options.hpp"

#include <fmt/format.h>

namespace roofcast::cli {

namespace {

/// Refuses whole numbers that the parser would cut down to the largest of their type.
std::string within_type(const std::string& text) {
    const std::size_t digits = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
    if (text.find_first_not_of("0123456789", digits) != std::string::npos || text.size() - digits < 19) return {};
    return fmt::format("out of range; found {}; expected a whole number from 1 to {}", text, largest_run_count);
}

}  // namespace

void require_software(const RunOptions& options, const SoftwareStacks& software, Notes& notes) {
    require_software(options, software);
    if (options.software.empty()) return;
    const Engine* engine = software.engine(required_execution(options.execution), options.software);
    if (engine == nullptr || !engine->versions || engine->versions->hold(options.software)) return;
    notes.add(fmt::format("--software {}: no data for this version; using {} ({} to {})", options.software, engine->stack.name,
                          engine->versions->first, engine->versions->last));
}

void add_run_options(CLI::App& command, RunOptions& o) {
    const auto count = [&command](const char* name, std::optional<std::int64_t>& value, const char* meaning) {
        command.add_option(name, value, meaning)->check(CLI::Validator(within_type, ""));
    };
    command.add_option("-p,--precision", o.precision,
                       "Precision of GEMMs: fp32, tf32, fp16, bf16, fp8, int8, int4 or fp4 (default: the model's, or the nearest that the "
                       "GPU has)");
    command.add_option("--weights", o.weights,
                       "Storage format of the weights: fp8, int8, int4, awq-int4, q4_k_m or another (default: the precision)");
    command.add_option("--kv", o.kv, "Precision of the KV cache (default: that of the activations)");
    count("-b,--batch", o.batch, "Sequences or images in one batch (default: 1)");
    count("--prompt", o.prompt, "Prompt tokens in each sequence (default: 512; encoders: the model's)");
    count("--generate", o.generate, "Output tokens of each sequence (default: 128)");
    count("--image-size", o.image_size, "Height and width of each image in pixels (default: the model's)");
    command.add_option("--dim", o.dimensions, "Size of a symbolic dimension of an ONNX net: NAME=N (repeatable)")->allow_extra_args(false);
    count("--steps", o.steps, "Denoising steps of a diffusion model (default: the model's)");
    count("--images", o.images, "Images in each sequence of a vision-language model (default: 1)");
    count("--gpus", o.gpus, "GPUs in total. Without --tp, --pp and --dp: tensor parallel for language models, copies for others");
    count("--tp", o.tensor, "Tensor-parallel degree (default: 1)");
    count("--pp", o.pipeline, "Pipeline-parallel degree (default: 1)");
    count("--dp", o.data, "Data-parallel copies (default: 1)");
    count("--ep", o.expert, "Expert-parallel degree (default: 1)");
    count("--attention-dp", o.attention_data,
          "Data-parallel groups of attention among the --tp GPUs, which share the experts (default: 1)");
    command.add_option("--execution", o.execution, "Execution mode: eager, cuda_graph, compiled, tensorrt or fused")->capture_default_str();
    command.add_option("--software,--engine", o.software,
                       "Engine, with or without its version: vllm, \"vllm 0.24\", llama.cpp. See `roofcast software list` (default: none "
                       "in particular)");
    command.add_option("--layout", o.layout, "Memory layout of images: nhwc (channels last) or nchw (default: the execution mode's)")
        ->check(CLI::IsMember({"nhwc", "nchw"}));
    command.add_option("--streams", o.streams, "CUDA streams for independent operators (default: the engine's, else 1)")
        ->capture_default_str()
        ->check(CLI::Range(1, static_cast<int>(most_streams)));
    add_technique_options(command, o.techniques);
}

void add_host_option(CLI::App& command, RunOptions& o) {
    command.add_option("--host-time", o.host_time, "CPU launch overhead relative to that of the machines that engines were measured on")
        ->capture_default_str();
}

void add_pcie_option(CLI::App& command, RunOptions& o) {
    command.add_option("--pcie", o.pcie,
                       "PCIe topology: host (GPUs share the host bridge) or switch (each link at full rate) (default: the GPU profile's)");
}

}  // namespace roofcast::cli
