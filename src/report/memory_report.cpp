#include "report/memory_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "document/field.hpp"
#include "io/number_text.hpp"

namespace roofcast {

namespace {

std::string_view meaning(FractionOf fraction) {
    switch (fraction) {
        case FractionOf::total:
            return "of all memory, for weights, activations and KV cache";
        case FractionOf::free_at_load:
            return "of memory free before loading, for weights and KV cache";
        case FractionOf::left:
            return "of memory that weights and activations leave, for the KV cache";
        case FractionOf::none:
            break;
    }
    return "";
}

Table parts(const NamedMemory& named) {
    const EngineMemoryReport& m = named.memory;
    Table table{.title = fmt::format("{} on {}{}, {}: memory of one GPU", named.model_name,
                                     named.gpus > 1 ? fmt::format("{} × ", named.gpus) : "", named.gpu_name, named.software),
                .columns = {{"part", "part"}, {"gib", "GiB"}, {"percent", "% of GPU"}}};
    const auto add = [&](std::string part, Bytes size) {
        const auto hundredths = [](double value) { return std::round(100 * value) / 100; };  // as logs print them
        table.rows.push_back({std::move(part), hundredths(size.in(gib)), std::round(1000 * (size / m.gpu_memory)) / 10});
    };
    add(m.padding > Bytes{} ? fmt::format("weights, {:.2f} of padding", m.padding.in(gib)) : "weights", m.weights);
    add("activation peak", m.activations);
    add("framework", m.framework);
    add("KV cache", m.cache);
    if (m.graphs > Bytes{}) add("CUDA graphs", m.graphs);
    add("left over", m.gpu_memory - m.weights - m.activations - m.framework - m.cache - m.graphs);
    return table;
}

std::string origin(bool given) {
    return given ? "" : " (default)";
}

std::vector<std::string> lines(const NamedMemory& named) {
    const EngineMemoryReport& m = named.memory;
    std::vector<std::string> lines;
    if (!m.fits()) {
        lines.push_back(fmt::format("does not fit: not even one sequence of {} tokens", with_commas(m.context)));
        if (m.largest_context > 0) lines.push_back(fmt::format("largest context: {} tokens", with_commas(m.largest_context)));
        return lines;
    }
    if (m.fraction_of == FractionOf::total) {
        for (std::string& line : log_lines(m)) lines.push_back(std::move(line));
    } else {
        lines.push_back(fmt::format("KV cache: {} tokens", with_commas(m.cache_tokens)));
    }
    lines.push_back(fmt::format("sequences of {} tokens: {}", with_commas(m.context), with_commas(m.sequences)));
    lines.push_back(fmt::format("largest context: {} tokens", with_commas(m.largest_context)));
    return lines;
}

std::vector<std::string> settings(const NamedMemory& named) {
    const EngineMemoryReport& m = named.memory;
    std::vector<std::string> lines;
    if (m.fraction_of != FractionOf::none)
        lines.push_back(fmt::format("fraction {:.4g}{} {}", m.fraction, origin(named.given.fraction.has_value()), meaning(m.fraction_of)));
    lines.push_back(fmt::format("steps of {} tokens{}, {} sequences{}", with_commas(m.max_tokens),
                                origin(named.given.max_tokens.has_value()), with_commas(m.max_sequences),
                                origin(named.given.max_sequences.has_value())));
    lines.push_back(fmt::format("weights {}, KV cache {}; facts of {} in software/engines/", named.weights, named.cache, m.engine));
    return lines;
}

Field<NamedMemory> in_gib(const char* key, const char* title, Bytes EngineMemoryReport::*size) {
    return {{key, title}, [size](const NamedMemory& n) { return (n.memory.*size).in(gib); }};
}
Field<NamedMemory> count(const char* key, const char* title, std::int64_t EngineMemoryReport::*value) {
    return {{key, title}, [value](const NamedMemory& n) { return n.memory.*value; }};
}

const Fields<NamedMemory>& memory_fields() {
    using Memory = EngineMemoryReport;
    static const Fields<NamedMemory> fields{
        {{"model", "model"}, [](const NamedMemory& n) { return n.model_id; }},
        {{"gpu", "GPU"}, [](const NamedMemory& n) { return n.gpu_id; }},
        {{"software", "software"}, [](const NamedMemory& n) { return n.software; }},
        {{"engine", "engine"}, [](const NamedMemory& n) { return n.memory.engine; }},
        {{"gpus", "GPUs"}, [](const NamedMemory& n) { return n.gpus; }},
        {{"weights", "weights"}, [](const NamedMemory& n) { return n.weights; }},
        {{"kv_precision", "KV cache"}, [](const NamedMemory& n) { return n.cache; }},
        {{"memory_fraction", "fraction"},
         [](const NamedMemory& n) { return n.memory.fraction_of == FractionOf::none ? Cell() : Cell(n.memory.fraction); }},
        count("max_tokens", "max tokens", &Memory::max_tokens),
        count("max_seqs", "max sequences", &Memory::max_sequences),
        count("context_tokens", "context", &Memory::context),
        in_gib("gpu_memory_gib", "GPU GiB", &Memory::gpu_memory),
        in_gib("weights_gib", "weights GiB", &Memory::weights),
        in_gib("padding_gib", "padding GiB", &Memory::padding),
        in_gib("activations_gib", "activations GiB", &Memory::activations),
        in_gib("framework_gib", "framework GiB", &Memory::framework),
        in_gib("graphs_gib", "CUDA graphs GiB", &Memory::graphs),
        in_gib("kv_cache_gib", "KV cache GiB", &Memory::cache),
        count("kv_cache_tokens", "KV cache tokens", &Memory::cache_tokens),
        {{"concurrency", "concurrency"}, [](const NamedMemory& n) { return n.memory.concurrency; }},
        count("sequences", "sequences", &Memory::sequences),
        count("largest_context", "largest context", &Memory::largest_context),
        {{"fits", "fits"}, [](const NamedMemory& n) { return n.memory.fits(); }}};
    return fields;
}

}  // namespace

std::vector<std::string> log_lines(const EngineMemoryReport& memory) {
    return {fmt::format("GPU KV cache size: {} tokens", with_commas(memory.cache_tokens)),
            fmt::format("Maximum concurrency for {} tokens per request: {:.2f}x", with_commas(memory.context), memory.concurrency)};
}

Report memory_report(const std::vector<NamedMemory>& all) {
    Report report;
    report.document["engines"] = nlohmann::ordered_json::array();
    for (const NamedMemory& named : all) {
        report.document["engines"].push_back(json_of(named, memory_fields()));
        report.document["engines"].back()["remedies"] = named.remedies;
        report.tables.push_back(parts(named));
        const std::string prefix = all.size() > 1 ? fmt::format("{} on {}: ", named.model_id, named.gpu_id) : std::string();
        for (const std::string& line : lines(named)) report.after.push_back(prefix + line);
        for (const std::string& remedy : named.remedies) report.after.push_back(fmt::format("{}would fit: {}", prefix, remedy));
        for (const std::string& line : settings(named)) report.after.push_back(prefix + line);
    }
    report.csv = table_of<NamedMemory>({}, all, memory_fields());
    return report;
}

}  // namespace roofcast
