#include "document/timeline_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/number_text.hpp"

namespace roofcast {

namespace {

using TraceJson = Json;

/// Microseconds in a binary fraction, so that an event's start and duration add up to exactly where the next one starts: viewers nest
/// events that overlap.
double on_grid(Seconds time) {
    constexpr double parts = 1024;
    return std::round(time.in(us)*parts) / parts;
}

/// Rates with as many digits as a reader wants.
double rounded(double value) {
    return std::stod(significant(value));
}

/// Tracks of a process, top to bottom. Streams begin at the last; the first stream also has phases and layers, around its kernels.
enum Track : int { cpu_track, communication_track, stream_track };

/// Writes the events of one prediction.
class TraceWriter {
public:
    TraceWriter(TraceJson& events, int process, int streams) : events_(events), process_(process), streams_(streams) {}

    void add(const NamedPrediction& n) {
        name("process_name", {}, {{"name", fmt::format("{} on {}", n.model_name, n.gpu_name)}});
        name_track(cpu_track, "CPU launches");
        name_track(communication_track, "GPU communication");
        for (int i = 0; i < streams_; ++i) name_track(stream_track + i, streams_ > 1 ? fmt::format("GPU stream {}", i) : "GPU kernels");
        for (const Phase& phase : n.prediction.phases) add(phase);
    }

private:
    void add(const Phase& phase) {
        const std::string title = phase.launches() == 1 ? phase.name : fmt::format("{} (1 of {:g} passes)", phase.name, phase.launches());
        event(stream_track, title, "phase", {}, phase.timeline.total,
              {{"passes", phase.launches()}, {"latency_ms", rounded(phase.latency.in(ms))}, {"bound", phase.bound}});
        const std::vector<OpSpan> all = spans(phase.graph, phase.timeline, streams_);
        for (std::size_t first = 0; first < all.size();) first = add_layer(all, first);
        for (const OpSpan& span : all) add(span);
        offset_ += phase.timeline.total;
    }

    /// The layer that `first` begins. Returns the first span after it.
    std::size_t add_layer(const std::vector<OpSpan>& all, std::size_t first) {
        const OpSpan& begin = all[first];
        Seconds end;
        std::size_t i = first;
        for (; i < all.size() && all[i].segment == begin.segment && all[i].repetition == begin.repetition; ++i) end = max(end, all[i].end);
        const std::string number = begin.segment->repeat > 1 ? fmt::format(" {}", begin.repetition) : "";
        event(stream_track, begin.segment->name + number, "layer", begin.start, end - begin.start, {});
        return i;
    }

    void add(const OpSpan& span) {
        const TimedOp& op = *span.op;
        const OpNode& node = *op.node;
        const Seconds time = span.end - span.start;
        if (!(time > Seconds{})) return;
        const KernelCost& k = op.kernel;
        TraceJson facts{{"bound", roofcast::name(k.bound)}};
        if (!k.family.empty()) facts["kernel"] = k.family;
        if (op.fused) facts["fused"] = "into the kernel before it";
        if (k.flops > Flops{}) facts["tflop_per_s"] = rounded((op.passes * k.flops / time).in(tflops));
        if (k.dram_bytes > Bytes{}) facts["dram_gb_per_s"] = rounded((op.passes * k.dram_bytes / time).in(gb_per_s));
        const int track = k.communication > Seconds{} ? static_cast<int>(communication_track) : stream_track + node.stream % streams_;
        event(track, node.name, std::string(op_class(node.op)), span.start, time, std::move(facts));
        if (span.launched > span.issued) event(cpu_track, node.name, "launch", span.issued, span.launched - span.issued, {});
    }

    void event(int track, const std::string& title, const std::string& category, Seconds start, Seconds time, TraceJson facts) {
        const double from = on_grid(offset_ + start);
        TraceJson event{{"ph", "X"},
                        {"name", title},
                        {"cat", category},
                        {"pid", process_},
                        {"tid", track},
                        {"ts", from},
                        {"dur", on_grid(offset_ + start + time) - from}};
        if (!facts.empty()) event["args"] = std::move(facts);
        events_.push_back(std::move(event));
    }
    void name(const char* what, std::optional<int> track, TraceJson value) {
        TraceJson event{{"ph", "M"}, {"name", what}, {"pid", process_}, {"args", std::move(value)}};
        if (track) event["tid"] = *track;
        events_.push_back(std::move(event));
    }
    void name_track(int track, const std::string& title) {
        name("thread_name", track, {{"name", title}});
        name("thread_sort_index", track, {{"sort_index", track}});
    }

    TraceJson& events_;
    int process_, streams_;
    Seconds offset_;  ///< where the phase begins
};

}  // namespace

std::string timeline_trace(const std::vector<NamedPrediction>& predictions) {
    TraceJson document{{"displayTimeUnit", "ms"}, {"traceEvents", TraceJson::array()}};
    int process = 0;
    for (const NamedPrediction& n : predictions) {
        const Prediction& p = n.prediction;
        if (p.runs()) TraceWriter(document["traceEvents"], ++process, std::max(1, p.request.streams.value_or(1))).add(n);
    }
    return document.dump() + "\n";
}

}  // namespace roofcast
