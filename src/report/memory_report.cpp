#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "io/number_text.hpp"
#include "report/run_parts.hpp"
#include "report/run_reports.hpp"

namespace roofcast {

namespace {

/// Keys of what was assumed of the GPUs, each behind its GPU.
std::string all_assumed(const std::vector<GpuProfile>& gpus) {
    std::string keys;
    for (const GpuProfile& gpu : gpus) {
        for (const Assumption& a : gpu.assumed) keys += fmt::format("{}{}:{}", keys.empty() ? "" : ";", gpu.id, a.key);
    }
    return keys;
}

Fields<StoredMemory> storage_fields(const std::vector<GpuProfile>& gpus) {
    Fields<StoredMemory> fields = Fields<StoredMemory>{{{"model", "model", Show::setting}, &StoredMemory::model},
                                                       {{"storage", "weights as", Show::always}, &StoredMemory::storage},
                                                       {{"activations", "activations as", Show::setting}, &StoredMemory::activations}} +
                                  part_fields(&StoredMemory::memory, memory_part_fields(" GB"));
    fields.back().column.show = Show::always;  // the total
    for (const GpuProfile& gpu : gpus) {
        fields.push_back({{"fits_" + gpu.id, "fits " + gpu.id, Show::always, false, tone_of(false, Tone::bad)},
                          [&gpu](const StoredMemory& s) { return gpu.usable_memory() ? Cell(may_hold(gpu, s)) : Cell(); }});
    }
    return fields;
}

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
        lines.push_back(
            fmt::format("does not fit: not even one sequence of {} {}", with_commas(m.context), m.context == 1 ? "token" : "tokens"));
        if (m.largest_context > 0) lines.push_back(fmt::format("largest context: {} tokens", with_commas(m.largest_context)));
        return lines;
    }
    if (m.fraction_of == FractionOf::total) {  // as vLLM's log has them
        lines.push_back(fmt::format("GPU KV cache size: {} tokens", with_commas(m.cache_tokens)));
        lines.push_back(fmt::format("Maximum concurrency for {} tokens per request: {:.2f}x", with_commas(m.context), m.concurrency));
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

Fields<NamedMemory> engine_memory_fields() {
    using Memory = EngineMemoryReport;
    const Fields<Memory> figures{
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
    return Fields<NamedMemory>{{{"model", "model"}, &NamedMemory::model_id},
                               {{"gpu", "GPU"}, &NamedMemory::gpu_id},
                               {{"software", "software"}, &NamedMemory::software},
                               {{"engine", "engine"}, [](const NamedMemory& n) { return n.memory.engine; }},
                               {{"gpus", "GPUs"}, &NamedMemory::gpus},
                               {{"weights", "weights"}, &NamedMemory::weights},
                               {{"kv_precision", "KV cache"}, &NamedMemory::cache}} +
           part_fields(&NamedMemory::memory, figures);
}

}  // namespace

bool may_hold(const GpuProfile& gpu, const StoredMemory& stored) {
    const auto usable = gpu.usable_memory();
    return !usable || stored.memory.total() <= *usable;
}

Report storage_report(const std::vector<StoredMemory>& stored, const std::vector<GpuProfile>& gpus,
                      const std::vector<StorageRemedies>& remedies, const std::vector<std::string>& hints) {
    Report report;
    const Fields<StoredMemory> fields = storage_fields(gpus);
    const Fields<StoredMemory> assumed{
        {{"assumed", "assumed", Show::data}, [keys = all_assumed(gpus)](const StoredMemory&) { return keys; }}};
    report.tables = {table_of({}, stored, fields)};
    report.csv = table_of({}, stored, fields + assumed);
    report.document = {{"rows", as_json(report.tables.front())},
                       {"capacity_gb", Json::object()},
                       {"remedies", Json::array()},
                       {"assumed", Json::object()}};
    report.after = {
        "GB is 1e9 bytes. The KV cache has the format of the activations unless `kv_precision` sets it. 8- and 4-bit rows of a 16-bit run "
        "quantize weights alone. int4 has a 16-bit scale and a zero point for each 128 weights."};
    for (const GpuProfile& gpu : gpus) {
        const auto usable = gpu.usable_memory();
        report.document["capacity_gb"][gpu.id] = cell_of(usable, gb);
        if (usable) report.after.push_back(fmt::format("{}: {:.1f} GB usable", gpu.id, usable->in(gb)));
        for (const StorageRemedies& r : remedies) {
            if (r.gpu != gpu.id) continue;
            report.after.push_back(
                fmt::format("{} does not fit {} in any of these formats. {}", r.model, r.gpu, remedies_line(r.remedies)));
            report.document["remedies"].push_back({{"model", r.model}, {"gpu", r.gpu}, {"remedies", r.remedies}});
        }
    }
    add_lines(report.after, hints);
    for (const GpuProfile& gpu : gpus) add_assumed(report, gpu);
    return report;
}

Report memory_report(const std::vector<NamedMemory>& all) {
    Report report;
    report.document["engines"] = Json::array();
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
