#include "report/storage_report.hpp"

#include <fmt/format.h>

#include "document/field.hpp"
#include "report/prediction_lines.hpp"
#include "report/prediction_report.hpp"
#include "report/prediction_tables.hpp"

namespace roofcast {

namespace {

Field<StoredMemory> stored_gb(const char* key, const char* title, auto bytes, Show show = Show::usual) {
    return {{key, title, 4, show}, [bytes](const StoredMemory& s) { return Bytes(std::invoke(bytes, s.memory)).in(gb); }};
}

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
    Fields<StoredMemory> fields{{{"model", "model", 4, Show::setting}, [](const StoredMemory& s) { return s.model; }},
                                {{"storage", "weights as", 4, Show::always}, [](const StoredMemory& s) { return s.storage; }},
                                {{"activations", "activations as", 4, Show::setting}, [](const StoredMemory& s) { return s.activations; }},
                                stored_gb("weights_gb", "weights GB", &Memory::weights),
                                stored_gb("kv_cache_gb", "KV cache GB", &Memory::kv_cache),
                                stored_gb("activations_gb", "activations GB", &Memory::activations),
                                stored_gb("overhead_gb", "framework GB", &Memory::overhead),
                                stored_gb("total_gb", "total GB", &Memory::total, Show::always)};
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
    report.tables = {table_of<StoredMemory>({}, stored, fields)};
    report.csv = table_of<StoredMemory>(
        {}, stored,
        fields + Fields<StoredMemory>{{{"assumed", "assumed", 4, Show::data}, [keys = all_assumed(gpus)](const auto&) { return keys; }}});
    report.document["rows"] = as_json(report.tables.front());
    report.document["capacity_gb"] = nlohmann::ordered_json::object();
    report.document["remedies"] = nlohmann::ordered_json::array();
    report.document["assumed"] = nlohmann::ordered_json::object();
    report.after = {
        "GB is 1e9 bytes. The KV cache has the format of the activations unless `kv_precision` sets it. 8- and 4-bit rows of a 16-bit run "
        "quantize weights alone. int4 has a 16-bit scale and a zero point for each 128 weights."};
    for (const GpuProfile& gpu : gpus) {
        const auto usable = gpu.usable_memory();
        report.document["capacity_gb"][gpu.id] = usable ? nlohmann::ordered_json(usable->in(gb)) : nlohmann::ordered_json();
        if (usable) report.after.push_back(fmt::format("{}: {:.1f} GB usable", gpu.id, usable->in(gb)));
        for (const StorageRemedies& r : remedies) {
            if (r.gpu != gpu.id) continue;
            report.after.push_back(
                fmt::format("{} does not fit {} in any of these formats. {}", r.model, r.gpu, remedies_line(r.remedies)));
            report.document["remedies"].push_back({{"model", r.model}, {"gpu", r.gpu}, {"remedies", r.remedies}});
        }
    }
    report.after.insert(report.after.end(), hints.begin(), hints.end());
    for (const GpuProfile& gpu : gpus) {
        report.document["assumed"][gpu.id] = as_json(gpu.assumed);
        for (std::string& line : assumed_lines(gpu.assumed, gpu.id + ": ")) report.after.push_back(std::move(line));
    }
    return report;
}

}  // namespace roofcast
