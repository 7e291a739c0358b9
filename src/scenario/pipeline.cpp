#include "roofcast/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "prediction/interval.hpp"
#include "roofcast/error.hpp"
#include "scenario/pipeline_stage.hpp"

namespace roofcast {

namespace {

/// Time that each resource takes in a step, in the order of the stages.
struct Busy {
    std::string device;
    Seconds time;
};

void add_busy(std::vector<Busy>& all, const std::string& device, Seconds time) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Busy& b) { return b.device == device; });
    if (found != all.end()) found->time += time;
    if (found == all.end()) all.push_back({device, time});
}

const Busy& longest(const std::vector<Busy>& all) {
    return *std::max_element(all.begin(), all.end(), [](const Busy& a, const Busy& b) { return a.time < b.time; });
}

/// Adds up the steps, and marks the stages that a request waits for.
void add_latency(PipelineResult& result) {
    std::size_t steps = 0;
    for (const StageResult& stage : result.stages) steps = std::max(steps, stage.step + 1);
    for (std::size_t step = 0; step < steps; ++step) {
        std::vector<Busy> resources;
        for (const StageResult& stage : result.stages) {
            if (stage.step == step) add_busy(resources, stage.device, stage.latency);
        }
        const Busy& last = longest(resources);
        result.latency += last.time;
        for (StageResult& stage : result.stages) stage.on_path = stage.on_path || (stage.step == step && stage.device == last.device);
    }
    const auto slowest = std::max_element(result.stages.begin(), result.stages.end(), [](const StageResult& a, const StageResult& b) {
        return (a.on_path ? a.latency : Seconds{}) < (b.on_path ? b.latency : Seconds{});
    });
    result.longest_stage = slowest->stage.name;
}

void add_throughput(PipelineResult& result) {
    std::vector<Busy> resources;
    for (const StageResult& stage : result.stages)
        add_busy(resources, stage.device, stage.latency / static_cast<double>(stage.stage.concurrency));
    const Busy& last = longest(resources);
    result.bottleneck = last.device;
    result.requests_per_second = 1 / last.time.in(s);
    for (const Busy& busy : resources) result.devices.push_back({.device = busy.device, .busy = busy.time, .memory = {}, .usable = {}});
}

/// How a model is held in memory.
std::string storage_key(const StageResult& stage) {
    const Run& r = stage.stage.request;
    return fmt::format("{}|{}|{}|{}|{}|{}", stage.stage.model, stage.precision, name(r.weight_format()), r.parallel.tensor,
                       name(r.execution), r.software);
}

/// All that a prediction was asked.
std::string run_key(const StageResult& stage) {
    const Run& run = stage.stage.request;
    return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", stage.stage.device, storage_key(stage), name(run.cache_precision()), run.batch,
                       run.prompt_tokens, run.generate_tokens, run.image_size, run.pcie ? name(*run.pcie) : "");
}

/// Stages that run the same model in the same way share its weights and its framework's memory.
void add_memory(PipelineResult& result) {
    std::set<std::string> held;
    for (const StageResult& stage : result.stages) {
        if (stage.stage.known_latency) continue;
        DeviceLoad& load =
            *std::find_if(result.devices.begin(), result.devices.end(), [&](const DeviceLoad& d) { return d.device == stage.device; });
        if (held.insert(stage.device + "|" + storage_key(stage)).second) load.memory += stage.memory.weights + stage.memory.overhead;
        load.memory += stage.memory.kv_cache + stage.memory.activations;
        load.usable = stage.memory.usable;
    }
}

/// Errors of the stages on the path, weighted by their fraction of the latency. Known latencies count as exact.
void add_errors(PipelineResult& result, const std::vector<std::string>& families) {
    bool known = true;
    for (std::size_t i = 0; i < result.stages.size(); ++i) {
        const StageResult& stage = result.stages[i];
        if (!stage.on_path || stage.stage.known_latency) continue;
        known = known && stage.interval.has_value();
        if (!stage.interval) continue;
        const double fraction = stage.latency / result.latency;
        const LogInterval interval = logarithmic(*stage.interval);
        result.errors.push_back({.kind = stage.stage.device + ", " + families[i],
                                 .run = run_key(stage),
                                 .middle = fraction * interval.middle,
                                 .half = fraction * interval.half});
    }
    if (known) result.interval = interval_of(result.errors);
}

/// Stages that fit one by one, though not together, need more devices.
void add_remedies(PipelineResult& result) {
    const auto is_full = [](const DeviceLoad& load) { return load.fits() == false; };
    if (result.remedies.empty() && std::any_of(result.devices.begin(), result.devices.end(), is_full))
        result.remedies.emplace_back("stages on several devices (`unit = 2`), or smaller `batch`, `weights` or `prompt_tokens`");
}

void add_notes(PipelineResult& result) {
    for (const StageResult& stage : result.stages) {
        if (stage.stage.known_latency)
            result.notes.push_back(fmt::format("{}: {:.4g} ms per call as given (taken as exact), {} at a time ({})", stage.stage.name,
                                               stage.call.in(ms), stage.stage.concurrency, stage.stage.source));
    }
}

}  // namespace

IntervalRatio interval_of(const std::vector<ErrorShare>& errors) {
    std::map<std::string, double> halves;
    double middle = 0, square = 0;
    for (const ErrorShare& error : errors) {
        middle += error.middle;
        halves[error.kind] += error.half;
    }
    for (const auto& [kind, half] : halves) square += half * half;
    return ratio(LogInterval{middle, std::sqrt(square)});
}

PipelineResult predict_pipeline(const Pipeline& pipeline, const std::filesystem::path& gpus_folder,
                                const std::filesystem::path& models_folder, const SoftwareStacks& software,
                                const std::filesystem::path& user_fits) {
    PipelineResult result;
    result.name = pipeline.name;
    result.file = pipeline.file;
    std::vector<std::string> families;
    std::size_t steps = 0;
    for (const PipelineStage& stage : pipeline.stages) {
        PredictedStage predicted = predicted_stage(pipeline, stage, {gpus_folder, models_folder, software, user_fits});
        const auto beside = std::find_if(result.stages.begin(), result.stages.end(),
                                         [&](const StageResult& r) { return r.stage.name == stage.parallel_with; });
        predicted.result.step = beside != result.stages.end() ? beside->step : steps++;
        families.push_back(predicted.family);
        for (const std::string& op : predicted.withheld) result.withheld.push_back(stage.name + ": " + op);
        if (!predicted.remedies.empty())
            result.remedies.push_back(fmt::format("stage {}: {}", stage.name, fmt::join(predicted.remedies, "; ")));
        for (std::string& note : predicted.notes) {
            if (std::find(result.notes.begin(), result.notes.end(), note) == result.notes.end()) result.notes.push_back(std::move(note));
        }
        for (auto& assumption : predicted.assumed) {
            const auto same = [&](const auto& a) { return a.first == assumption.first && a.second.key == assumption.second.key; };
            if (std::none_of(result.assumed.begin(), result.assumed.end(), same)) result.assumed.push_back(std::move(assumption));
        }
        result.stages.push_back(std::move(predicted.result));
    }
    add_latency(result);
    add_throughput(result);
    add_memory(result);
    add_errors(result, families);
    add_remedies(result);
    add_notes(result);
    return result;
}

bool PipelineResult::runs() const {
    return withheld.empty() && std::none_of(devices.begin(), devices.end(), [](const DeviceLoad& load) { return load.fits() == false; });
}

std::vector<std::string> obstacles(const PipelineResult& result) {
    std::vector<std::string> lines;
    if (!result.withheld.empty()) lines.push_back(fmt::format("no kernel model covers {}", fmt::join(result.withheld, ", ")));
    for (const DeviceLoad& load : result.devices) {
        if (load.fits() == false)
            lines.push_back(fmt::format("the models do not fit {}: {:.1f} GB needed, {:.1f} GB usable", load.device, load.memory.in(gb),
                                        load.usable->in(gb)));
    }
    return lines;
}

PipelineComparison compared(const PipelineResult& first, const PipelineResult& other) {
    PipelineComparison comparison;
    comparison.speedup = other.latency.in(s) / first.latency.in(s);  // exactly 1 against itself
    comparison.throughput_ratio = first.requests_per_second / other.requests_per_second;
    if (!first.interval || !other.interval) return comparison;
    // Of a run that both have, what is left is the difference; it belongs to the one that it weighs more in.
    std::map<std::string, ErrorShare> left;
    const auto take = [&left](const ErrorShare& e, double sign) {
        ErrorShare& sum = left.try_emplace(e.run, ErrorShare{.kind = e.kind, .run = e.run}).first->second;
        sum.middle += sign * e.middle;
        sum.half += sign * e.half;
    };
    for (const ErrorShare& e : other.errors) take(e, 1);
    for (const ErrorShare& e : first.errors) take(e, -1);
    std::vector<ErrorShare> errors;
    for (auto& [run, error] : left) {
        error.kind += error.half < 0 ? ", first" : ", other";
        error.half = std::abs(error.half);
        errors.push_back(error);
    }
    const IntervalRatio factor = interval_of(errors);
    comparison.interval = IntervalRatio{comparison.speedup * factor.low, comparison.speedup * factor.high};
    return comparison;
}

}  // namespace roofcast
