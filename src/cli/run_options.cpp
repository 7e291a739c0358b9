#include "cli/run_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "prediction/degrees.hpp"
#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

std::vector<std::string> precision_names() {
    std::vector<std::string> names;
    for (const Precision p : all_precisions) names.emplace_back(name(p));
    return names;
}

/// Other names that execution modes go by.
std::string usual_name(const std::string& text) {
    constexpr std::pair<std::string_view, Execution> others[] = {
        {"trt", Execution::tensorrt},           {"trtexec", Execution::tensorrt},  {"graph", Execution::cuda_graph},
        {"graphs", Execution::cuda_graph},      {"inductor", Execution::compiled}, {"compile", Execution::compiled},
        {"torch.compile", Execution::compiled}, {"pytorch", Execution::eager},     {"fastertransformer", Execution::fused}};
    for (const auto& [other, execution] : others) {
        if (text == other) return std::string(name(execution));
    }
    return text;
}

/// An option that was given must be at least 1; zero would silently mean the default.
std::int64_t given(const std::optional<std::int64_t>& value, const char* option, std::int64_t absent) {
    if (value && (*value < 1 || *value > largest_run_count))
        throw Error({.what = "out of range",
                     .key = option,
                     .found = std::to_string(*value),
                     .expected = fmt::format("a whole number from 1 to {}", largest_run_count)});
    return value.value_or(absent);
}

/// Degrees of parallelism: products of three stay exact.
std::int64_t given_degree(const std::optional<std::int64_t>& value, const char* option) {
    constexpr std::int64_t most = std::int64_t{1} << 20;
    if (value && *value > most)
        throw Error({.what = "out of range",
                     .key = option,
                     .found = std::to_string(*value),
                     .expected = fmt::format("a whole number from 1 to {}", most)});
    return given(value, option, 1);
}

/// What memory is planned in without a GPU: the model's own 16-bit format.
Precision planned_precision(const Workload& workload) {
    return workload.default_precision == Precision::bf16 ? Precision::bf16 : Precision::fp16;
}

Parallelism parallelism(const RunOptions& options, const Workload& workload) {
    Parallelism p{.tensor = given_degree(options.tensor, "--tp"),
                  .pipeline = given_degree(options.pipeline, "--pp"),
                  .data = given_degree(options.data, "--dp"),
                  .expert = given_degree(options.expert, "--ep"),
                  .attention_data = given_degree(options.attention_data, "--attention-dp")};
    if (!options.gpus) return p;
    const std::int64_t gpus = given(options.gpus, "--gpus", 1);
    const bool degrees_given = options.tensor || options.pipeline || options.data;
    const bool language = workload.family == "llm" || workload.family == "vlm";
    if (!degrees_given) (language ? p.tensor : p.data) = gpus;
    if (const DecoderLlm* llm = language_model(workload);
        !degrees_given && llm != nullptr && !splits_heads(*llm, std::max<std::int64_t>(1, gpus / p.attention_data)))
        throw Error(
            {.what = fmt::format("{} has {} attention heads{}, and {} GPUs cannot split them evenly", workload.id, llm->heads,
                                 llm->kv_heads < llm->heads && !llm->mla ? fmt::format(" and {} KV heads", llm->kv_heads) : "", gpus),
             .key = "--gpus",
             .found = std::to_string(gpus),
             .suggestion = gpus <= llm->layers ? fmt::format("use --pp {} (pipeline) or --dp {} (copies)", gpus, gpus)
                                               : std::string("use --dp (copies)")});
    if (p.gpus() != gpus) {
        throw Error({.what = "--tp times --pp times --dp is not --gpus",
                     .key = "--gpus",
                     .found = fmt::format("{} (tp {} × pp {} × dp {} = {})", gpus, p.tensor, p.pipeline, p.data, p.gpus()),
                     .suggestion = "leave out --gpus, or give degrees whose product it is"});
    }
    return p;
}

/// Refuses whole numbers that the parser would cut down to the largest of their type.
std::string within_type(const std::string& text) {
    const std::size_t digits = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
    if (text.find_first_not_of("0123456789", digits) != std::string::npos || text.size() - digits < 19) return {};
    return fmt::format("out of range; found {}; expected a whole number from 1 to {}", text, largest_run_count);
}

}  // namespace

Execution required_execution(const std::string& text) {
    if (const auto e = parse_execution(text)) return *e;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < execution_count; ++i) names.emplace_back(name(static_cast<Execution>(i)));
    throw Error({.what = "unknown execution mode",
                 .key = "--execution",
                 .found = text,
                 .expected = fmt::format("{}", fmt::join(names, ", ")),
                 .suggestion = did_you_mean(usual_name(text), names)});
}

WeightFormat required_weights(const std::string& text) {
    if (const auto format = parse_weight_format(text)) return *format;
    std::vector<std::string> names = weight_format_names();
    names.emplace_back("exl2-B-bpw (B bits, at most 8)");
    throw Error({.what = "unknown weight format",
                 .key = "--weights",
                 .found = text,
                 .expected = fmt::format("{}", fmt::join(names, ", ")),
                 .suggestion = did_you_mean(text, names)});
}

PcieTopology required_pcie(const std::string& text) {
    if (const auto topology = parse_pcie_topology(text)) return *topology;
    throw Error({.what = "unknown PCIe topology",
                 .key = "--pcie",
                 .found = text,
                 .expected = "host (GPUs share the host bridge) or switch (peer to peer through PCIe switches)",
                 .suggestion = did_you_mean(text, {pcie_topology_names.begin(), pcie_topology_names.end()})});
}

Precision required_precision(const std::string& text, const std::string& option) {
    if (const auto p = parse_precision(text)) return *p;
    throw Error({.what = "unknown precision",
                 .key = option,
                 .found = text,
                 .expected = fmt::format("{}", fmt::join(precision_names(), ", ")),
                 .suggestion = did_you_mean(text, precision_names())});
}

std::string format_note(const Run& request) {
    if (request.precision != Precision::int4 || request.weights) return {};
    return "--precision int4 makes GEMMs compute in int4; 4-bit weights that are computed in 16 bits are --weights int4";
}

std::string precision_note(const Workload& workload, const GpuProfile& gpu, Precision taken) {
    const auto own = name(workload.default_precision);
    if (workload.native_weights && taken == multiplied_in(*workload.native_weights))
        return fmt::format("precision {}: engines compute the published weights of {} in it; --precision sets another", name(taken),
                           workload.id);
    if (taken == workload.default_precision)
        return fmt::format("precision {}, the default of {}; --precision sets another", own, workload.id);
    return fmt::format("precision {}: {} lacks {}, the default of {}; --precision sets another", name(taken), gpu.id, own, workload.id);
}

void require_software(const RunOptions& options, const SoftwareStacks& software) {
    if (options.software.empty() || software.engine(required_execution(options.execution), options.software) != nullptr) return;
    std::vector<std::string> ways;
    for (std::size_t i = 0; i < execution_count; ++i) {
        const auto execution = static_cast<Execution>(i);
        if (software.engine(execution, options.software) != nullptr) ways.emplace_back(name(execution));
    }
    if (!ways.empty())
        throw Error({.what = fmt::format("this engine does not run in execution mode {}", options.execution),
                     .key = "--software",
                     .found = options.software,
                     .suggestion = fmt::format("add --execution {}", fmt::join(ways, " or "))});
    throw unknown_engine("--software", options.software, software);
}

void require_software(const RunOptions& options, const SoftwareStacks& software, Notes& notes) {
    require_software(options, software);
    if (options.software.empty()) return;
    const Engine* engine = software.engine(required_execution(options.execution), options.software);
    if (engine == nullptr || !engine->versions || engine->versions->hold(options.software)) return;
    notes.add(fmt::format("--software {}: no data for this version; using {} ({} to {})", options.software, engine->stack.name,
                          engine->versions->first, engine->versions->last));
}

Error unknown_engine(const std::string& key, const std::string& found, const SoftwareStacks& software) {
    std::vector<std::string> names;
    for (const Engine& engine : software.engines) {
        names.push_back(engine.stack.name);
        names.insert(names.end(), engine.match.begin(), engine.match.end());
    }
    return Error({.what = "unknown engine",
                  .key = key,
                  .found = found,
                  .expected = "a name from `roofcast software list`, with or without a version (\"vllm 0.24\")",
                  .suggestion = did_you_mean(found, names)});
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

Run run_request(const RunOptions& o, const Workload& workload, const GpuProfile* gpu, const std::filesystem::path& models_folder) {
    refuse_useless({.prompt = o.prompt.has_value(),
                    .generate = o.generate.has_value(),
                    .kv_precision = !o.kv.empty(),
                    .image_size = o.image_size.has_value(),
                    .layout = !o.layout.empty(),
                    .steps = o.steps.has_value(),
                    .images = o.images.has_value()},
                   workload);
    Run run;
    if (!o.precision.empty()) {
        run.precision = required_precision(o.precision, "--precision");
    } else {
        const bool published = o.weights.empty();
        run.precision = gpu == nullptr ? planned_precision(workload)
                        : published    ? default_precision(workload, *gpu)
                                       : nearest_precision(*gpu, workload.default_precision);
    }
    if (!o.weights.empty()) run.weights = required_weights(o.weights);
    if (!o.kv.empty()) run.kv_precision = required_precision(o.kv, "--kv");
    run.batch = given(o.batch, "--batch", 1);
    run.images = given(o.images, "--images", 1);
    run.prompt_tokens = given(o.prompt, "--prompt", 0);
    run.generate_tokens = given(o.generate, "--generate", 0);
    run.image_size = given(o.image_size, "--image-size", 0);
    run.steps = given(o.steps, "--steps", 0);
    run.parallel = parallelism(o, workload);
    run.execution = required_execution(o.execution);
    run.streams = o.streams;
    run.host_time = o.host_time;
    run.software = o.software;
    if (!o.pcie.empty()) run.pcie = required_pcie(o.pcie);
    if (!o.layout.empty()) run.channels_last = o.layout == "nhwc";
    run.techniques = techniques(o.techniques, models_folder);
    return run;
}

}  // namespace roofcast::cli
