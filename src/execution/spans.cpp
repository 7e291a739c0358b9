#include <algorithm>
#include <array>

#include "roofcast/execution.hpp"

namespace roofcast {

namespace {

std::int64_t runs_of(const OpGraph& graph) {
    std::int64_t runs = 0;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) runs += segment.repeat * node.repeat;
    }
    return runs;
}

/// CPU time of the pass that launches no operator: it comes first.
Seconds time_before_launches(const Timeline& t) {
    Seconds issue;
    for (const TimedOp& op : t.ops) issue += op.runs * op.issue;
    return max(Seconds{}, t.host - issue);
}

/// Lays the runs of a pass out: the CPU launches them in order, and each starts when its stream is free.
class Layout {
public:
    Layout(const Timeline& t, int streams, bool each) : t_(t), streams_(streams), each_(each), host_(time_before_launches(t)) {}

    std::vector<OpSpan> run(const OpGraph& graph) {
        std::size_t first = 0;
        for (const Segment& segment : graph.segments) {
            const std::int64_t repetitions = each_ ? segment.repeat : 1;
            for (std::int64_t r = 0; r < repetitions; ++r) add(segment, first, r);
            first += segment.nodes.size();
        }
        return std::move(spans_);
    }

private:
    void add(const Segment& segment, std::size_t first, std::int64_t repetition) {
        free_.fill(gpu_);
        for (std::size_t i = 0; i < segment.nodes.size(); ++i) {
            const TimedOp& op = t_.ops[first + i];
            const OpNode& node = segment.nodes[i];
            const std::int64_t runs = each_ ? node.repeat : 1;
            const double times = each_ ? 1 : op.runs;
            Seconds& free = free_[streams_ > 1 ? static_cast<std::size_t>(node.stream) % free_.size() : 0];
            for (std::int64_t run = 0; run < runs; ++run) {
                OpSpan span;
                span.op = &op;
                span.segment = &segment;
                span.repetition = repetition;
                span.issued = host_;
                span.launched = host_ + times * op.issue;
                span.start = max(free, host_ + op.issue);  // its first kernel does not wait for the launches of later ones
                span.end = span.start + times / op.runs * op.time;
                host_ = span.launched;
                free = span.end;
                spans_.push_back(span);
            }
        }
        gpu_ = *std::max_element(free_.begin(), free_.end());
    }

    const Timeline& t_;
    int streams_;
    bool each_;
    Seconds host_, gpu_;
    std::array<Seconds, most_streams> free_{};  ///< when each stream has nothing left to do
    std::vector<OpSpan> spans_;
};

}  // namespace

std::vector<OpSpan> spans(const OpGraph& graph, const Timeline& t, int streams) {
    std::vector<OpSpan> all = Layout(t, streams, runs_of(graph) <= most_spans).run(graph);
    // Waits of the CPU for the GPU, and resources that streams share, are in the total alone.
    Seconds end;
    for (const OpSpan& span : all) end = max(end, span.end);
    if (!(end > Seconds{})) return all;
    const double stretch = t.total / end;
    for (OpSpan& span : all) {
        for (Seconds* time : {&span.issued, &span.launched, &span.start, &span.end}) *time *= stretch;
    }
    return all;
}

}  // namespace roofcast
