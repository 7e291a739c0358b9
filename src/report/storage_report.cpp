#include "report/storage_report.hpp"

#include <fmt/format.h>

#include "report/run_parts.hpp"

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
    using Memory = MemoryEstimate;
    const Fields<Memory> sizes{{{"weights_gb", "weights GB"}, &Memory::weights, gb},
                               {{"kv_cache_gb", "KV cache GB"}, &Memory::kv_cache, gb},
                               {{"activations_gb", "activations GB"}, &Memory::activations, gb},
                               {{"overhead_gb", "framework GB"}, &Memory::overhead, gb},
                               {{"total_gb", "total GB", 4, Show::always}, &Memory::total, gb}};
    Fields<StoredMemory> fields = Fields<StoredMemory>{{{"model", "model", 4, Show::setting}, &StoredMemory::model},
                                                       {{"storage", "weights as", 4, Show::always}, &StoredMemory::storage},
                                                       {{"activations", "activations as", 4, Show::setting}, &StoredMemory::activations}} +
                                  part_fields<StoredMemory>(
                                      "", [](const StoredMemory& s) { return &s.memory; }, sizes);
    for (const GpuProfile& gpu : gpus) {
        fields.push_back({{"fits_" + gpu.id, "fits " + gpu.id, 4, Show::always, false, tone_of_fit},
                          [&gpu](const StoredMemory& s) { return gpu.usable_memory() ? Cell(may_hold(gpu, s)) : Cell(); }});
    }
    return fields;
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
        {{"assumed", "assumed", 4, Show::data}, [keys = all_assumed(gpus)](const StoredMemory&) { return keys; }}};
    report.tables = {table_of({}, stored, fields)};
    report.csv = table_of({}, stored, fields + assumed);
    report.document = {{"rows", as_json(report.tables.front())},
                       {"capacity_gb", nlohmann::ordered_json::object()},
                       {"remedies", nlohmann::ordered_json::array()},
                       {"assumed", nlohmann::ordered_json::object()}};
    report.after = {
        "GB is 1e9 bytes. The KV cache has the format of the activations unless `kv_precision` sets it. 8- and 4-bit rows of a 16-bit run "
        "quantize weights alone. int4 has a 16-bit scale and a zero point for each 128 weights."};
    for (const GpuProfile& gpu : gpus) {
        const auto usable = gpu.usable_memory();
        report.document["capacity_gb"][gpu.id] = as_json(cell_of(usable, gb));
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

}  // namespace roofcast
