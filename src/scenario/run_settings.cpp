#include "roofcast/run_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "prediction/degrees.hpp"
#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

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

/// A setting that was given must be at least 1; zero would silently mean the default.
std::int64_t given(const std::optional<std::int64_t>& value, const char* field, std::int64_t absent) {
    if (value && (*value < 1 || *value > largest_run_count))
        throw Error({.what = "out of range",
                     .key = field,
                     .found = std::to_string(*value),
                     .expected = fmt::format("a whole number from 1 to {}", largest_run_count)});
    return value.value_or(absent);
}

/// Degrees of parallelism: products of three stay exact.
std::int64_t given_degree(const std::optional<std::int64_t>& value, const char* field) {
    constexpr std::int64_t most = std::int64_t{1} << 20;
    if (value && *value > most)
        throw Error({.what = "out of range",
                     .key = field,
                     .found = std::to_string(*value),
                     .expected = fmt::format("a whole number from 1 to {}", most)});
    return given(value, field, 1);
}

/// What memory is planned in without a GPU: the model's own 16-bit format.
Precision planned_precision(const Workload& workload) {
    return workload.default_precision == Precision::bf16 ? Precision::bf16 : Precision::fp16;
}

Parallelism parallelism(const RunSettings& options, const Workload& workload) {
    Parallelism p{.tensor = given_degree(options.tensor, "parallel.tensor"),
                  .pipeline = given_degree(options.pipeline, "parallel.pipeline"),
                  .data = given_degree(options.data, "parallel.data"),
                  .expert = given_degree(options.expert, "parallel.expert"),
                  .attention_data = given_degree(options.attention_data, "parallel.attention_data")};
    if (!options.gpus) return p;
    const std::int64_t gpus = given(options.gpus, "parallel.gpus", 1);
    const bool degrees_given = options.tensor || options.pipeline || options.data;
    const bool language = workload.family == "llm" || workload.family == "vlm";
    if (!degrees_given) (language ? p.tensor : p.data) = gpus;
    if (const DecoderLlm* llm = language_model(workload);
        !degrees_given && llm != nullptr && !splits_heads(*llm, std::max<std::int64_t>(1, gpus / p.attention_data)))
        throw Error(
            {.what = fmt::format("{} has {} attention heads{}, and {} GPUs cannot split them evenly", workload.id, llm->heads,
                                 llm->kv_heads < llm->heads && !llm->mla ? fmt::format(" and {} KV heads", llm->kv_heads) : "", gpus),
             .key = "parallel.gpus",
             .found = std::to_string(gpus),
             .suggestion = gpus <= llm->layers
                               ? fmt::format("use `parallel.pipeline` {} (pipeline) or `parallel.data` {} (copies)", gpus, gpus)
                               : std::string("use `parallel.data` (copies)")});
    if (p.gpus() != gpus) {
        throw Error({.what = "`parallel.tensor` times `parallel.pipeline` times `parallel.data` is not `parallel.gpus`",
                     .key = "parallel.gpus",
                     .found = fmt::format("{} (tp {} × pp {} × dp {} = {})", gpus, p.tensor, p.pipeline, p.data, p.gpus()),
                     .suggestion = "leave out `parallel.gpus`, or give degrees whose product it is"});
    }
    return p;
}

}  // namespace

std::vector<std::pair<std::string, std::int64_t>> given_dimensions(const std::vector<std::string>& texts) {
    std::vector<std::pair<std::string, std::int64_t>> dimensions;
    for (const std::string& text : texts) {
        const std::size_t equals = text.rfind('=');
        const std::string number = equals == std::string::npos ? std::string() : text.substr(equals + 1);
        constexpr std::size_t most_digits = 9;
        const bool whole = !number.empty() && number.size() <= most_digits && number.find_first_not_of("0123456789") == std::string::npos;
        if (!whole || equals == 0)
            throw Error({.what = "this is no size of a dimension",
                         .key = "dimensions",
                         .found = text,
                         .expected = "NAME=N, such as sequence_length=128"});
        const std::string name = text.substr(0, equals);
        if (std::any_of(dimensions.begin(), dimensions.end(), [&](const auto& known) { return known.first == name; }))
            throw Error({.what = "the dimension is given twice", .key = "dimensions", .found = name});
        dimensions.emplace_back(name, std::stoll(number));
    }
    return dimensions;
}

Execution required_execution(const std::string& text) {
    if (const auto e = parse_execution(text)) return *e;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < execution_count; ++i) names.emplace_back(name(static_cast<Execution>(i)));
    throw Error({.what = "unknown execution mode",
                 .key = "execution",
                 .found = text,
                 .expected = fmt::format("{}", fmt::join(names, ", ")),
                 .suggestion = did_you_mean(usual_name(text), names)});
}

WeightFormat required_weights(const std::string& text) {
    if (const auto format = parse_weight_format(text)) return *format;
    std::vector<std::string> names = weight_format_names();
    names.emplace_back("exl2-B-bpw (B bits, at most 8)");
    std::string meant = did_you_mean(text, names);
    // Fifty names hide the one that was meant.
    std::string expected =
        meant.empty() ? fmt::format("{}", fmt::join(names, ", ")) : fmt::format("one of {} formats, such as fp8 or q4_k_m", names.size());
    throw Error({.what = "unknown weight format",
                 .key = "weights",
                 .found = text,
                 .expected = std::move(expected),
                 .suggestion = std::move(meant)});
}

PcieTopology required_pcie(const std::string& text) {
    if (const auto topology = parse_pcie_topology(text)) return *topology;
    throw Error({.what = "unknown PCIe topology",
                 .key = "pcie",
                 .found = text,
                 .expected = "host (GPUs share the host bridge) or switch (peer to peer through PCIe switches)",
                 .suggestion = did_you_mean(text, {pcie_topology_names.begin(), pcie_topology_names.end()})});
}

Precision required_precision(const std::string& text, const std::string& field) {
    if (const auto p = parse_precision(text)) return *p;
    throw Error({.what = "unknown precision",
                 .key = field,
                 .found = text,
                 .expected = fmt::format("{}", fmt::join(precision_names(), ", ")),
                 .suggestion = parse_weight_format(text) ? "`weights` takes storage formats" : did_you_mean(text, precision_names())});
}

std::string format_note(const Run& request) {
    if (request.precision != Precision::int4 || request.weights) return {};
    return "`precision` int4 makes GEMMs compute in int4; 4-bit weights that are computed in 16 bits are `weights` int4";
}

std::string precision_note(const Workload& workload, const GpuProfile& gpu, Precision taken) {
    const auto own = name(workload.default_precision);
    if (workload.native_weights && taken == multiplied_in(*workload.native_weights))
        return fmt::format("precision {}: engines compute the published weights of {} in it; `precision` sets another", name(taken),
                           workload.id);
    if (taken == workload.default_precision)
        return fmt::format("precision {}, the default of {}; `precision` sets another", own, workload.id);
    return fmt::format("precision {}: {} lacks {}, the default of {}; `precision` sets another", name(taken), gpu.id, own, workload.id);
}

void require_software(const RunSettings& options, const SoftwareStacks& software) {
    if (options.software.empty() || software.engine(required_execution(options.execution), options.software) != nullptr) return;
    std::vector<std::string> ways;
    for (std::size_t i = 0; i < execution_count; ++i) {
        const auto execution = static_cast<Execution>(i);
        if (software.engine(execution, options.software) != nullptr) ways.emplace_back(name(execution));
    }
    if (!ways.empty())
        throw Error({.what = fmt::format("this engine does not run in execution mode {}", options.execution),
                     .key = "software",
                     .found = options.software,
                     .suggestion = fmt::format("add `execution` {}", fmt::join(ways, " or "))});
    throw unknown_engine("software", options.software, software);
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

Run run_request(const RunSettings& o, const Workload& workload, const GpuProfile* gpu, const std::filesystem::path& models_folder) {
    refuse_useless({.prompt = o.prompt.has_value(),
                    .generate = o.generate.has_value(),
                    .kv_precision = !o.kv.empty(),
                    .image_size = o.image_size.has_value(),
                    .layout = !o.layout.empty(),
                    .steps = o.steps.has_value(),
                    .images = o.images.has_value(),
                    .dimensions = !o.dimensions.empty()},
                   workload);
    Run run;
    if (!o.precision.empty()) {
        run.precision = required_precision(o.precision, "precision");
    } else {
        const bool published = o.weights.empty();
        run.precision = gpu == nullptr ? planned_precision(workload)
                        : published    ? default_precision(workload, *gpu)
                                       : nearest_precision(*gpu, workload.default_precision);
    }
    if (!o.weights.empty()) run.weights = required_weights(o.weights);
    if (!o.kv.empty()) run.kv_precision = required_precision(o.kv, "kv_precision");
    run.batch = given(o.batch, "batch", 1);
    run.images = given(o.images, "images", 1);
    run.prompt_tokens = given(o.prompt, "prompt_tokens", 0);
    run.generate_tokens = given(o.generate, "generate_tokens", 0);
    run.image_size = given(o.image_size, "image_size", 0);
    run.steps = given(o.steps, "steps", 0);
    run.dimensions = given_dimensions(o.dimensions);
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

}  // namespace roofcast
