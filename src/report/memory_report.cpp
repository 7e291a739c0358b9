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

Table part_table(const NamedMemory& named) {
    const EngineMemoryReport& m = named.memory;
    using Part = std::pair<std::string, Bytes>;
    std::vector<Part> parts{{m.padding > Bytes{} ? fmt::format("weights, {:.2f} of padding", m.padding.in(gib)) : "weights", m.weights},
                            {"activation peak", m.activations},
                            {"framework", m.framework},
                            {"KV cache", m.cache}};
    if (m.graphs > Bytes{}) parts.emplace_back("CUDA graphs", m.graphs);
    parts.emplace_back("left over", m.gpu_memory - m.weights - m.activations - m.framework - m.cache - m.graphs);
    const Fields<Part> fields{{{"part", "part"}, &Part::first},
                              {{"gib", "GiB"}, [](const Part& p) { return std::round(100 * p.second.in(gib)) / 100; }},  // as logs print it
                              {{"percent", "% of GPU"}, [&m](const Part& p) { return std::round(1000 * (p.second / m.gpu_memory)) / 10; }}};
    const std::string gpus = named.gpus > 1 ? fmt::format("{} × ", named.gpus) : "";
    return table_of(fmt::format("{} on {}{}, {}: memory of one GPU", named.model_name, gpus, named.gpu_name, named.software), parts,
                    fields);
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
        add_lines(lines, log_lines(m));
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

const Fields<NamedMemory>& engine_memory_fields() {
    using Memory = EngineMemoryReport;
    static const Fields<Memory> figures{
        {{"memory_fraction", "fraction"}, [](const Memory& m) { return m.fraction_of == FractionOf::none ? Cell() : Cell(m.fraction); }},
        {{"max_tokens", "max tokens"}, &Memory::max_tokens},
        {{"max_seqs", "max sequences"}, &Memory::max_sequences},
        {{"context_tokens", "context"}, &Memory::context},
        {{"gpu_memory_gib", "GPU GiB"}, &Memory::gpu_memory, gib},
        {{"weights_gib", "weights GiB"}, &Memory::weights, gib},
        {{"padding_gib", "padding GiB"}, &Memory::padding, gib},
        {{"activations_gib", "activations GiB"}, &Memory::activations, gib},
        {{"framework_gib", "framework GiB"}, &Memory::framework, gib},
        {{"graphs_gib", "CUDA graphs GiB"}, &Memory::graphs, gib},
        {{"kv_cache_gib", "KV cache GiB"}, &Memory::cache, gib},
        {{"kv_cache_tokens", "KV cache tokens"}, &Memory::cache_tokens},
        {{"concurrency", "concurrency"}, &Memory::concurrency},
        {{"sequences", "sequences"}, &Memory::sequences},
        {{"largest_context", "largest context"}, &Memory::largest_context},
        {{"fits", "fits"}, &Memory::fits}};
    static const Fields<NamedMemory> fields =
        Fields<NamedMemory>{{{"model", "model"}, &NamedMemory::model_id},
                            {{"gpu", "GPU"}, &NamedMemory::gpu_id},
                            {{"software", "software"}, &NamedMemory::software},
                            {{"engine", "engine"}, [](const NamedMemory& n) { return n.memory.engine; }},
                            {{"gpus", "GPUs"}, &NamedMemory::gpus},
                            {{"weights", "weights"}, &NamedMemory::weights},
                            {{"kv_precision", "KV cache"}, &NamedMemory::cache}} +
        part_fields<NamedMemory>(
            "", [](const NamedMemory& n) { return &n.memory; }, figures);
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
        report.document["engines"].push_back(json_of(named, engine_memory_fields()));
        report.document["engines"].back()["remedies"] = named.remedies;
        report.tables.push_back(part_table(named));
        const std::string prefix = all.size() > 1 ? fmt::format("{} on {}: ", named.model_id, named.gpu_id) : std::string();
        add_lines(report.after, lines(named), prefix);
        add_lines(report.after, named.remedies, prefix + "would fit: ");
        add_lines(report.after, settings(named), prefix);
    }
    report.csv = table_of({}, all, engine_memory_fields());
    return report;
}

}  // namespace roofcast
