#include "report/pipeline_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/prediction_report.hpp"
#include "report/prediction_tables.hpp"

namespace roofcast {

namespace {

void put_text(Cell& cell, const std::string& text) {
    if (!text.empty()) cell = text;
}

Table stage_table(const PipelineResult& result) {
    Table table{.title = fmt::format("{}: stages", result.name), .columns = {}, .rows = {}};
    table.columns = {{"stage", "stage"},
                     {"step", "step"},
                     {"model", "model"},
                     {"device", "device"},
                     {"precision", "precision"},
                     {"batch", "batch"},
                     {"calls", "calls"},
                     {"call_ms", "a call ms"},
                     {"latency_ms", "latency ms"},
                     {"latency_ms_low", bound_title("low")},
                     {"latency_ms_high", bound_title("high")},
                     {"share_percent", "share %", 3},
                     {"bound", "bound"},
                     {"on_path", "waited for"}};
    const bool shown = result.runs();
    for (const StageResult& r : result.stages) {
        std::vector<Cell> row(table.columns.size());
        row[0] = r.stage.name;
        row[1] = static_cast<std::int64_t>(r.step + 1);
        put_text(row[2], r.stage.model);
        row[3] = r.device;
        put_text(row[4], r.precision);
        if (!r.stage.known_latency) row[5] = r.stage.request.batch;
        row[6] = r.stage.calls;
        if (shown) {
            row[7] = r.call.in(ms);
            row[8] = r.latency.in(ms);
            if (r.interval) row[9] = r.interval->low * r.latency.in(ms);
            if (r.interval) row[10] = r.interval->high * r.latency.in(ms);
            if (r.on_path) row[11] = 100 * (r.latency / result.latency);
        }
        if (shown) put_text(row[12], r.bound);
        if (shown) row[13] = r.on_path;
        table.rows.push_back(std::move(row));
    }
    return table;
}

Table device_table(const PipelineResult& result) {
    Table table{.title = fmt::format("{}: devices", result.name), .columns = {}, .rows = {}};
    table.columns = {{"device", "device"},          {"busy_ms", "busy ms a request"}, {"busy_percent", "busy %", 3},
                     {"memory_gb", "memory GB", 3}, {"capacity_gb", "of GB", 3},      {"fits", "fits"}};
    for (const DeviceLoad& load : result.devices) {
        std::vector<Cell> row(table.columns.size());
        row[0] = load.device;
        if (result.runs()) {
            row[1] = load.busy.in(ms);
            row[2] = 100 * load.busy.in(s)*result.requests_per_second;
        }
        if (load.memory > Bytes{}) row[3] = load.memory.in(gb);
        if (load.usable) {
            row[4] = load.usable->in(gb);
            row[5] = *load.fits();
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

nlohmann::ordered_json document_of(const PipelineResult& r) {
    const bool shown = r.runs();
    nlohmann::ordered_json document{{"pipeline", r.name},         {"file", r.file},
                                    {"latency_ms", nullptr},      {"latency_ms_low", nullptr},
                                    {"latency_ms_high", nullptr}, {"interval_percent", interval_percent},
                                    {"requests_per_s", nullptr},  {"longest_stage", nullptr},
                                    {"bottleneck", nullptr}};
    if (shown) {
        document["longest_stage"] = r.longest_stage;
        document["bottleneck"] = r.bottleneck;
        document["latency_ms"] = r.latency.in(ms);
        document["requests_per_s"] = r.requests_per_second;
        if (r.interval) {
            document["latency_ms_low"] = r.interval->low * r.latency.in(ms);
            document["latency_ms_high"] = r.interval->high * r.latency.in(ms);
        }
    }
    document["stages"] = as_json(stage_table(r));
    document["devices"] = as_json(device_table(r));
    document["obstacles"] = obstacles(r);
    document["remedies"] = r.remedies;
    document["withheld"] = r.withheld;
    document["notes"] = r.notes;
    auto& assumed = document["assumed"] = nlohmann::ordered_json::array();
    for (const auto& [device, a] : r.assumed)
        assumed.push_back({{"device", device}, {"key", a.key}, {"value", a.value}, {"reason", a.reason}});
    return document;
}

std::string headline(const PipelineResult& r) {
    if (!r.runs()) return fmt::format("{}: no times: {}", r.name, fmt::join(obstacles(r), "; "));
    std::string text = fmt::format("{}: {} a request", r.name, readable_time(r.latency.in(s)));
    if (r.interval)
        text += fmt::format(" ({} to {}, {} % interval)", readable_time(r.interval->low * r.latency.in(s)),
                            readable_time(r.interval->high * r.latency.in(s)), interval_percent);
    return text + fmt::format(", longest stage {}; pipelined {} requests/s, limited by {}", r.longest_stage,
                              significant(r.requests_per_second), r.bottleneck);
}

void add(Report& report, const PipelineResult& r) {
    report.before.push_back(headline(r));
    for (const std::string& remedy : r.remedies) report.before.push_back("What would fit: " + remedy + ".");
    report.tables.push_back(stage_table(r));
    report.tables.push_back(device_table(r));
    const auto once = [&report](const std::string& line) {
        if (std::find(report.after.begin(), report.after.end(), line) == report.after.end()) report.after.push_back(line);
    };
    for (const std::string& text : r.notes) once("note: " + text);
    for (const auto& [device, a] : r.assumed) once(fmt::format("{}: {}", device, assumed_line(a)));
}

std::string verdict(const PipelineResult& first, const PipelineResult& other, const PipelineComparison& c) {
    std::string text = fmt::format("{} is {} times as fast as {}", first.name, significant(c.speedup, 3), other.name);
    if (!c.interval) return text + "; nothing is known of the errors of some stage, so this decides nothing.";
    text += fmt::format(" ({} to {}, {} % interval)", significant(c.interval->low, 3), significant(c.interval->high, 3), interval_percent);
    return text + (c.decides() ? "." : ": the interval holds 1, so this decides nothing.");
}

/// CSV: the stages of all pipelines.
Table all_stages(const PipelineResult& result, const PipelineResult* other) {
    Table table = stage_table(result);
    table.columns.insert(table.columns.begin(), {"pipeline", "pipeline"});
    table.columns.push_back({"assumed", "assumed"});
    table.rows.clear();
    for (const PipelineResult* r : {&result, other}) {
        if (r == nullptr) continue;
        Table stages = stage_table(*r);
        for (std::size_t i = 0; i < stages.rows.size(); ++i) {
            std::vector<Cell>& row = stages.rows[i];
            std::string keys;
            for (const auto& [device, a] : r->assumed) {
                if (device == r->stages[i].stage.device) keys += (keys.empty() ? "" : ";") + a.key;
            }
            row.insert(row.begin(), r->name);
            row.emplace_back(keys);
            table.rows.push_back(std::move(row));
        }
    }
    return table;
}

}  // namespace

Report pipeline_report(const PipelineResult& result, const PipelineResult* other) {
    Report report;
    report.document = document_of(result);
    add(report, result);
    report.csv = all_stages(result, other);
    report.after.insert(
        report.after.begin(),
        "Stages of a step run side by side, those that share a device in turn. Memory counts equal models on a device once. "
        "Errors of one kind of model on one device go together, others are independent; between two pipelines, those of equal stages "
        "cancel.");
    if (other == nullptr) return report;
    add(report, *other);
    report.document["against"] = document_of(*other);
    if (!result.runs() || !other->runs()) return report;
    const PipelineComparison c = compared(result, *other);
    auto& document = report.document["comparison"] = {{"speedup", c.speedup},
                                                      {"speedup_low", nullptr},
                                                      {"speedup_high", nullptr},
                                                      {"decides", c.decides()},
                                                      {"throughput_ratio", c.throughput_ratio}};
    if (c.interval) {
        document["speedup_low"] = c.interval->low;
        document["speedup_high"] = c.interval->high;
    }
    report.before.push_back(verdict(result, *other, c));
    report.before.push_back(fmt::format("Pipelined, it serves {} times the requests.", significant(c.throughput_ratio, 3)));
    return report;
}

}  // namespace roofcast
