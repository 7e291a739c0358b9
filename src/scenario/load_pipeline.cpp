#include <algorithm>

#include "io/toml_reader.hpp"
#include "roofcast/pipeline.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t most_units = 1'000'000;
constexpr std::size_t most_stages = 1000;
constexpr Range most_calls{0, 1e6, true}, most_milliseconds{0, 1e9, true};

Precision read_precision(TableReader& reader, const char* key, const std::string& text) {
    if (const auto p = parse_precision(text)) return *p;
    std::vector<std::string> names;
    for (const Precision p : all_precisions) names.emplace_back(name(p));
    throw reader.error(key, "unknown precision", text, "a precision such as fp16", did_you_mean(text, names));
}

void read_formats(TableReader& reader, PipelineStage& stage) {
    if (const auto text = reader.text_if("precision")) stage.precision = read_precision(reader, "precision", *text);
    if (const auto text = reader.text_if("kv_precision")) stage.request.kv_precision = read_precision(reader, "kv_precision", *text);
    if (const auto text = reader.text_if("weights")) {
        stage.request.weights = parse_weight_format(*text);
        if (!stage.request.weights) throw reader.error("weights", "unknown weight format", *text, "a format such as int8 or q4_k_m");
    }
    if (const auto text = reader.text_if("execution")) {
        const auto execution = parse_execution(*text);
        std::vector<std::string> names;
        for (std::size_t i = 0; i < execution_count; ++i) names.emplace_back(name(static_cast<Execution>(i)));
        if (!execution)
            throw reader.error("execution", "unknown execution mode", *text, "eager, cuda_graph, compiled, tensorrt or fused",
                               did_you_mean(*text, names));
        stage.request.execution = *execution;
    }
    stage.request.software = reader.text_if("software").value_or("");
}

void read_model(TableReader& reader, PipelineStage& stage) {
    stage.model = reader.text("model");
    stage.device = reader.text("device");
    read_formats(reader, stage);
    Run& run = stage.request;
    run.batch = reader.count_if("batch", 1, largest_run_count).value_or(1);
    run.prompt_tokens = reader.count_if("prompt_tokens", 1, largest_run_count).value_or(0);
    run.generate_tokens = reader.count_if("output_tokens", 1, largest_run_count).value_or(0);
    run.image_size = reader.count_if("image_size", 1, largest_run_count).value_or(0);
    run.parallel.tensor = reader.count_if("tensor_parallel", 1, most_units).value_or(1);
    if (const auto text = reader.text_if("pcie")) {
        run.pcie = parse_pcie_topology(*text);
        if (!run.pcie)
            throw reader.error("pcie", "unknown PCIe topology", *text, "host or switch",
                               did_you_mean(*text, {pcie_topology_names.begin(), pcie_topology_names.end()}));
    }
}

void read_known(TableReader& reader, PipelineStage& stage) {
    if (reader.has("model")) throw reader.error("latency_ms", "a stage has either a model or a known latency", {}, "one of the two");
    stage.known_latency = reader.number("latency_ms", most_milliseconds) * ms;
    stage.source = reader.text("source");
    stage.device = reader.text_if("device").value_or("");
    stage.concurrency = reader.count_if("concurrency", 1, most_units).value_or(1);
}

PipelineStage read_stage(TableReader& reader, const std::vector<PipelineStage>& before) {
    const auto named = [&before](const std::string& text) {
        return std::any_of(before.begin(), before.end(), [&](const PipelineStage& s) { return s.name == text; });
    };
    PipelineStage stage;
    stage.line = reader.line();
    stage.name = reader.text("name");
    if (stage.name.empty() || named(stage.name)) throw reader.error("name", "two stages have the same name", stage.name);
    stage.calls = reader.number_if("calls", most_calls).value_or(1);
    stage.unit = reader.count_if("unit", 1, most_units).value_or(1);
    if (const auto beside = reader.text_if("parallel_with")) {
        std::vector<std::string> names;
        for (const PipelineStage& s : before) names.push_back(s.name);
        if (!named(*beside))
            throw reader.error("parallel_with", "no earlier stage has this name", *beside, "the name of an earlier stage",
                               did_you_mean(*beside, names));
        stage.parallel_with = *beside;
    }
    if (reader.has("latency_ms")) {
        read_known(reader, stage);
    } else if (reader.has("model")) {
        read_model(reader, stage);
    } else {
        if (const auto slip = reader.misspelt("latency_ms")) throw *slip;
        throw reader.missing("model", "a model with its device, or latency_ms with its source");
    }
    reader.finish();
    return stage;
}

}  // namespace

std::string PipelineStage::resource() const {
    if (device.empty()) return name;
    return unit == 1 ? device : device + " #" + std::to_string(unit);
}

Pipeline load_pipeline(const std::filesystem::path& file) {
    const toml::table document = parse_toml_file(file);
    TableReader reader(document, file.string());
    Pipeline pipeline;
    pipeline.file = file.string();
    pipeline.name = reader.text_if("name").value_or(file.stem().string());
    for (TableReader& stage : reader.tables("stage")) pipeline.stages.push_back(read_stage(stage, pipeline.stages));
    reader.finish();
    if (pipeline.stages.empty() || pipeline.stages.size() > most_stages)
        throw Error({.what = "a pipeline has stages",
                     .file = pipeline.file,
                     .key = "stage",
                     .found = std::to_string(pipeline.stages.size()),
                     .expected = "1 to " + std::to_string(most_stages) + " tables [[stage]]"});
    return pipeline;
}

}  // namespace roofcast
