#include <fmt/format.h>

#include <span>

#include "io/number_text.hpp"
#include "report/run_parts.hpp"
#include "report/run_reports.hpp"

namespace roofcast {

namespace {

/// Columns of the stages of `pipeline`, which outlives them.
Fields<StageResult> stage_fields(const PipelineResult& pipeline) {
    using Stage = StageResult;
    const auto if_pipeline_runs = [&pipeline](const Fields<Stage>& fields) {
        return part_fields<Stage>([&pipeline](const Stage& r) { return pipeline.runs() ? &r : nullptr; }, fields);
    };
    const Fields<Stage> settings{
        {{"stage", "stage", Show::always}, [](const Stage& r) { return r.stage.name; }},
        {{"step", "step", Show::wide}, [](const Stage& r) { return r.step + 1; }},
        {{"model", "model"}, [](const Stage& r) { return text_cell(r.stage.model); }},
        {{"device", "device", Show::always}, &Stage::device},
        {{"precision", "precision", Show::wide}, &Stage::precision, text_cell},
        {{"batch", "batch", Show::wide}, [](const Stage& r) { return r.stage.known_latency ? Cell() : Cell(r.stage.request.batch); }},
        {{"calls", "calls", Show::wide}, [](const Stage& r) { return r.stage.calls; }}};
    const Fields<Stage> times{{{"call_ms", "ms/call", Show::wide}, &Stage::call, ms},
                              {{"latency_ms", "latency ms", Show::always}, &Stage::latency, ms}};
    const Fields<Stage> parts{{{"share_percent", "% of latency", 3},
                               [&pipeline](const Stage& r) { return r.on_path ? Cell(100 * (r.latency / pipeline.latency)) : Cell(); }},
                              {{"bound", "bound", Show::wide}, &Stage::bound, text_cell},
                              {{"on_path", "waited for"}, &Stage::on_path}};
    return settings + if_pipeline_runs(with_bounds(times, "latency_ms", Show::wide, &Stage::interval) + parts);
}

/// The same in CSV, for rows of several pipelines.
Fields<StageResult> stage_csv_fields(const PipelineResult& pipeline) {
    const auto assumed = [&pipeline](const StageResult& r) {
        std::vector<Assumption> of_device;
        for (const auto& [device, a] : pipeline.assumed) {
            if (device == r.stage.device) of_device.push_back(a);
        }
        return assumed_keys(of_device);
    };
    return Fields<StageResult>{{{"pipeline", "pipeline", Show::setting}, [&pipeline](const StageResult&) { return pipeline.name; }}} +
           stage_fields(pipeline) + Fields<StageResult>{{{"assumed", "assumed", Show::data}, assumed}};
}

Table device_table(const PipelineResult& p) {
    using Load = DeviceLoad;
    const Fields<Load> busy{{{"busy_ms", "busy ms/request"}, &Load::busy, ms},
                            {{"busy_percent", "busy %", 3}, [&p](const Load& x) { return 100 * x.busy.in(s)*p.requests_per_second; }}};
    const Fields<Load> fields =
        Fields<Load>{{{"device", "device", Show::always}, &Load::device}} +
        part_fields<Load>([&p](const Load& x) { return p.runs() ? &x : nullptr; }, busy) +
        Fields<Load>{{{"memory_gb", "memory GB", 3}, [](const Load& x) { return x.memory > Bytes{} ? Cell(x.memory.in(gb)) : Cell(); }},
                     {{"capacity_gb", "usable GB", 3}, &Load::usable, gb},
                     {{"fits", "fits", Show::always, false, tone_of(false, Tone::bad)}, &Load::fits}};
    return table_of(p.name + ": devices", p.devices, fields);
}

Fields<PipelineResult> pipeline_fields() {
    using Result = PipelineResult;
    const Fields<Result> latency{{{"latency_ms", "latency ms", Show::always}, &Result::latency, ms}};
    return Fields<Result>{{{"pipeline", "pipeline", Show::always}, &Result::name}, {{"file", "file", Show::data}, &Result::file}} +
           if_it_runs(with_bounds(latency, "latency_ms", Show::always, &Result::interval)) +
           Fields<Result>{{{"interval_percent", "interval %", Show::data}, [](const Result&) { return interval_percent; }}} +
           if_it_runs<Result>({{{"requests_per_s", "max req/s", Show::always}, &Result::requests_per_second},
                               {{"longest_stage", "longest stage"}, &Result::longest_stage},
                               {{"bottleneck", "bottleneck"}, &Result::bottleneck}});
}

Json document_of(const PipelineResult& r) {
    Json document = json_of(r, pipeline_fields());
    document["stages"] = as_json(table_of({}, r.stages, stage_fields(r)));
    document["devices"] = as_json(device_table(r));
    document["obstacles"] = obstacles(r);
    document["remedies"] = r.remedies;
    document["withheld"] = r.withheld;
    document["notes"] = r.notes;
    auto& assumed = document["assumed"] = Json::array();
    for (const auto& [device, a] : r.assumed)
        assumed.push_back({{"device", device}, {"key", a.key}, {"value", a.value}, {"reason", a.reason}});
    return document;
}

void add(Report& report, const PipelineResult& r) {
    for (const std::string& text : obstacles(r)) report.before.push_back(fmt::format("{} has no times: {}.", r.name, text));
    for (const std::string& remedy : r.remedies) report.before.push_back("What would fit: " + remedy + ".");
    report.tables.push_back(table_of(r.name + ": stages", r.stages, stage_fields(r)));
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
    const Fields<Versus> fields = Fields<Versus>{{{"speedup", "speed-up"}, &Versus::speedup}} +
                                  bound_fields<Versus>(
                                      "speedup", 4, Show::usual, [](const Versus&) { return 1.0; }, &Versus::interval) +
                                  Fields<Versus>{{{"decides", "decided"}, [](const Versus& x) { return x.decides(); }},
                                                 {{"throughput_ratio", "throughput ratio"}, &Versus::throughput_ratio}};
    report.document["comparison"] = json_of(c, fields);
    report.facts = {{"latency", verdict(result, other, c)},
                    {"throughput", fmt::format("It serves {} times the requests when pipelined.", significant(c.throughput_ratio, 3))}};
}

}  // namespace

Report pipeline_report(const PipelineResult& result, const PipelineResult* other) {
    Report report;
    report.document = document_of(result);
    report.after = {"Steps run one after the other. Stages of a step run side by side, and those that share a device run in turn.",
                    "max req/s is the throughput when requests are pipelined. The bottleneck limits it.",
                    "The memory of a device counts equal models once.",
                    "Errors of one kind of model on one device are taken as equal, all others as independent."};
    if (other != nullptr) report.after.emplace_back("Errors of stages that both pipelines run alike cancel in the comparison.");
    report.tables.push_back(table_of({}, std::span(&result, 1), pipeline_fields()));
    report.csv = table_of({}, result.stages, stage_csv_fields(result));
    add(report, result);
    if (other != nullptr) {
        append(report.tables.front(), table_of({}, std::span(other, 1), pipeline_fields()));
        append(report.csv, table_of({}, other->stages, stage_csv_fields(*other)));
        report.document["against"] = document_of(*other);
        add(report, *other);
        if (result.runs() && other->runs()) add_comparison(report, result, *other);
    }
    return report;
}

}  // namespace roofcast
