#include "report/pipeline_report.hpp"

#include <fmt/format.h>

#include "io/number_text.hpp"
#include "report/run_parts.hpp"

namespace roofcast {

namespace {

struct StageRow {
    const PipelineResult* pipeline = nullptr;
    StageResult result;
};

Fields<StageRow> stage_fields() {
    using Stage = StageResult;
    const Fields<Stage> settings{
        {{"stage", "stage", 4, Show::always}, [](const Stage& r) { return r.stage.name; }},
        {{"step", "step", 4, Show::wide}, [](const Stage& r) { return r.step + 1; }},
        {{"model", "model"}, [](const Stage& r) { return text_cell(r.stage.model); }},
        {{"device", "device", 4, Show::always}, &Stage::device},
        {{"precision", "precision", 4, Show::wide}, [](const Stage& r) { return text_cell(r.precision); }},
        {{"batch", "batch", 4, Show::wide}, [](const Stage& r) { return r.stage.known_latency ? Cell() : Cell(r.stage.request.batch); }},
        {{"calls", "calls", 4, Show::wide}, [](const Stage& r) { return r.stage.calls; }}};
    const Fields<Stage> times = with_bounds(Fields<Stage>{{{"call_ms", "ms/call", 4, Show::wide}, &Stage::call, ms},
                                                          {{"latency_ms", "latency ms", 4, Show::always}, &Stage::latency, ms}},
                                            "latency_ms", Show::wide, [](const Stage& r) { return r.interval; });
    const Fields<Stage> parts{{{"bound", "bound", 4, Show::wide}, [](const Stage& r) { return text_cell(r.bound); }},
                              {{"on_path", "waited for"}, &Stage::on_path}};
    const auto if_it_runs = [](const StageRow& row) { return row.pipeline->runs() ? &row.result : nullptr; };
    return part_fields<StageRow>(
               "", [](const StageRow& row) { return &row.result; }, settings) +
           part_fields<StageRow>("", if_it_runs, times) +
           Fields<StageRow>{{{"share_percent", "% of latency", 3},
                             [](const StageRow& row) {
                                 const PipelineResult& p = *row.pipeline;
                                 return p.runs() && row.result.on_path ? Cell(100 * (row.result.latency / p.latency)) : Cell();
                             }}} +
           part_fields<StageRow>("", if_it_runs, parts);
}

std::vector<StageRow> stage_rows(const PipelineResult& pipeline) {
    std::vector<StageRow> rows;
    for (const StageResult& r : pipeline.stages) rows.push_back({&pipeline, r});
    return rows;
}

Table device_table(const PipelineResult& p) {
    using Load = DeviceLoad;
    const Fields<Load> busy{{{"busy_ms", "busy ms/request"}, &Load::busy, ms},
                            {{"busy_percent", "busy %", 3}, [&p](const Load& x) { return 100 * x.busy.in(s)*p.requests_per_second; }}};
    const Fields<Load> fields =
        Fields<Load>{{{"device", "device", 4, Show::always}, &Load::device}} +
        part_fields<Load>(
            "", [&p](const Load& x) { return p.runs() ? &x : nullptr; }, busy) +
        Fields<Load>{{{"memory_gb", "memory GB", 3}, [](const Load& x) { return x.memory > Bytes{} ? Cell(x.memory.in(gb)) : Cell(); }},
                     {{"capacity_gb", "usable GB", 3}, &Load::usable, gb},
                     {{"fits", "fits", 4, Show::always, false, tone_of_fit}, &Load::fits}};
    return table_of(p.name + ": devices", p.devices, fields);
}

Fields<PipelineResult> pipeline_fields() {
    using Result = PipelineResult;
    const auto if_it_runs = [](const Fields<Result>& fields) {
        return part_fields<Result>(
            "", [](const Result& r) { return r.runs() ? &r : nullptr; }, fields);
    };
    return Fields<Result>{{{"pipeline", "pipeline", 4, Show::always}, &Result::name}, {{"file", "file", 4, Show::data}, &Result::file}} +
           if_it_runs(with_bounds(Fields<Result>{{{"latency_ms", "latency ms", 4, Show::always}, &Result::latency, ms}}, "latency_ms",
                                  Show::always, [](const Result& r) { return r.interval; })) +
           Fields<Result>{{{"interval_percent", "interval %", 4, Show::data}, [](const Result&) { return interval_percent; }}} +
           if_it_runs({{{"requests_per_s", "max req/s", 4, Show::always}, &Result::requests_per_second},
                       {{"longest_stage", "longest stage"}, &Result::longest_stage},
                       {{"bottleneck", "bottleneck"}, &Result::bottleneck}});
}

nlohmann::ordered_json document_of(const PipelineResult& r) {
    nlohmann::ordered_json document = json_of(r, pipeline_fields());
    document["stages"] = as_json(table_of({}, stage_rows(r), stage_fields()));
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

void add(Report& report, const PipelineResult& r) {
    for (const std::string& text : obstacles(r)) report.before.push_back(fmt::format("{} has no times: {}.", r.name, text));
    for (const std::string& remedy : r.remedies) report.before.push_back("What would fit: " + remedy + ".");
    report.tables.push_back(table_of(r.name + ": stages", stage_rows(r), stage_fields()));
    report.tables.push_back(device_table(r));
    add_once(report.after, r.notes, "note: ");
    for (const auto& [device, a] : r.assumed) add_once(report.after, assumed_lines({a}, device + ": "));
}

std::string verdict(const PipelineResult& first, const PipelineResult& other, const PipelineComparison& c) {
    const std::string text = fmt::format("{} is {} times as fast as {}", first.name, significant(c.speedup, 3), other.name);
    if (!c.interval) return text + ". This is undecided: the errors of some stage are unknown.";
    return fmt::format("{} ({} to {}, {}% interval).{}", text, significant(c.interval->low, 3), significant(c.interval->high, 3),
                       interval_percent, c.decides() ? "" : " This is undecided: the interval contains 1.");
}

void add_comparison(Report& report, const PipelineResult& result, const PipelineResult& other) {
    using Versus = PipelineComparison;
    const PipelineComparison c = compared(result, other);
    const Fields<Versus> fields =
        Fields<Versus>{{{"speedup", "speed-up"}, &Versus::speedup}} +
        bound_fields<Versus>(
            "speedup", 4, Show::usual, [](const Versus&) { return 1.0; }, [](const Versus& x) { return x.interval; }) +
        Fields<Versus>{{{"decides", "decided"}, [](const Versus& x) { return x.decides(); }},
                       {{"throughput_ratio", "throughput ratio"}, &Versus::throughput_ratio}};
    report.document["comparison"] = json_of(c, fields);
    report.facts = {{"latency", verdict(result, other, c)},
                    {"throughput", fmt::format("It serves {} times the requests when pipelined.", significant(c.throughput_ratio, 3))}};
}

/// Keys that are assumed of the stage's device.
std::string assumed_keys_of(const StageRow& row) {
    std::vector<Assumption> assumed;
    for (const auto& [device, a] : row.pipeline->assumed) {
        if (device == row.result.stage.device) assumed.push_back(a);
    }
    return assumed_keys(assumed);
}

}  // namespace

Report pipeline_report(const PipelineResult& result, const PipelineResult* other) {
    Report report;
    report.document = document_of(result);
    std::vector<PipelineResult> pipelines{result};
    std::vector<StageRow> stages = stage_rows(result);
    report.after = {"Steps run one after the other. Stages of a step run side by side, and those that share a device run in turn.",
                    "max req/s is the throughput when requests are pipelined. The bottleneck limits it.",
                    "The memory of a device counts equal models once.",
                    "Errors of one kind of model on one device are taken as equal, all others as independent."};
    if (other != nullptr) report.after.emplace_back("Errors of stages that both pipelines run alike cancel in the comparison.");
    report.tables.emplace_back();
    add(report, result);
    if (other != nullptr) {
        pipelines.push_back(*other);
        for (StageRow& row : stage_rows(*other)) stages.push_back(std::move(row));
        report.document["against"] = document_of(*other);
        add(report, *other);
        if (result.runs() && other->runs()) add_comparison(report, result, *other);
    }
    report.tables.front() = table_of({}, pipelines, pipeline_fields());
    const Fields<StageRow> name{{{"pipeline", "pipeline", 4, Show::setting}, [](const StageRow& row) { return row.pipeline->name; }}};
    report.csv = table_of({}, stages, name + stage_fields() + Fields<StageRow>{{{"assumed", "assumed", 4, Show::data}, assumed_keys_of}});
    return report;
}

}  // namespace roofcast
