#include <algorithm>

#include "execution/fusion.hpp"
#include "execution/launch_table.hpp"
#include "roofcast/execution.hpp"

namespace roofcast {

namespace {

constexpr Seconds steady = 1e-6 * us;  // by which a lag may change that counts as the same

/// Two clocks that run side by side: when the CPU has issued everything so far, and when the GPU has finished it.
struct Clocks {
    Seconds host, gpu;
    Seconds waited;  ///< time that the CPU waited for the GPU

    /// Time by which the GPU is behind the CPU.
    [[nodiscard]] Seconds lag() const { return gpu - host; }

    void wait_for_gpu() {
        const Seconds wait = max(Seconds{}, lag());
        host += wait;
        waited += wait;
    }

    /// The CPU issues the whole pass kernel by kernel in `issued`, in front of the GPU.
    void wait_for_issue(Seconds issued) {
        host = max(host, issued);
        gpu = max(gpu, issued);
    }

    /// `count` equal kernels: the first waits for its issue, each later one for the one before it or for its own issue.
    void run(double count, Seconds issue, Seconds kernel) {
        const Seconds first = max(gpu, host + issue);
        host += count * issue;
        gpu = max(first + count * kernel, host + kernel);
    }
};

class Runner {
public:
    /// `lists`: the timeline lists its operators and sums them up.
    Runner(LaunchTable& table, std::span<const std::size_t> first_equal, bool lists)
        : table_(table),
          gpu_(table.gpu()),
          stack_(table.stack()),
          streams_(table.stack().streams),
          lists_(lists),
          first_equal_(first_equal),
          known_(first_equal.size()) {}

    Timeline run(const OpGraph& graph) {
        std::size_t nodes = 0, longest = 0;
        for (const Segment& segment : graph.segments) {
            nodes += segment.nodes.size();
            longest = std::max(longest, segment.nodes.size());
        }
        launches_.reserve(longest);
        if (fuses()) own_.reserve(longest);
        if (lists_) timeline_.ops.reserve(nodes);
        clocks_.run(1, stack_.host_per_pass, {});
        for (const Segment& segment : graph.segments) run(segment);
        if (!graph.captured) clocks_.wait_for_issue(stack_.host_per_pass + kernels_ * stack_.prompt_host_per_kernel);
        timeline_.total = clocks_.gpu;
        timeline_.host = clocks_.host - clocks_.waited;
        return std::move(timeline_);
    }

private:
    void run(const Segment& segment) {
        launches_.clear();
        own_.clear();
        if (fuses()) fusion_plan(segment, stack_.lowering.kernels == KernelSet::fused, streams_ > 1, host_of_);
        for (std::size_t i = 0; i < segment.nodes.size(); ++i) {
            launches_.push_back(&launch_of(segment, i));
            kernels_ += static_cast<double>(segment.repeat * segment.nodes[i].repeat) * launches_.back()->launches;
            if (lists_) account(segment, segment.nodes[i], *launches_.back());
        }
        nodes_before_ += segment.nodes.size();
        advance(segment);
        for (std::int64_t left = segment.repeat - 1; left > 0; --left) {
            const Clocks before = clocks_;
            advance(segment);
            // The GPU's lag follows max(c, lag + d), with c reached by the first repetition: where the second does not shrink it, no later
            // one does, and all cost the same.
            if (clocks_.lag() < before.lag() - steady) continue;
            const double others = static_cast<double>(left - 1);
            clocks_.host += others * (clocks_.host - before.host);
            clocks_.gpu += others * (clocks_.gpu - before.gpu);
            clocks_.waited += others * (clocks_.waited - before.waited);
            return;
        }
    }

    const Launch& launch_of(const Segment& segment, std::size_t i) {
        const OpNode& node = segment.nodes[i];
        if (!fuses()) return alone(node, nodes_before_ + i);
        // Launches of their own: what is folded into one takes of its idle times.
        if (host_of_[i] == static_cast<int>(i)) return own_.emplace_back(alone(node, nodes_before_ + i));
        if (lists_) list_fused(segment, i);
        if (host_of_[i] == vanishes) return own_.emplace_back(Launch{.launches = 0, .calls = 0, .fused = true});
        return own_.emplace_back(folded_into(own_[static_cast<std::size_t>(host_of_[i])], node, gpu_));
    }

    void list_fused(const Segment& segment, std::size_t i) {
        const OpNode& node = segment.nodes[i];
        const std::string_view into =
            host_of_[i] == vanishes ? "weights" : std::string_view(segment.nodes[static_cast<std::size_t>(host_of_[i])].name);
        timeline_.fused.push_back({node.name, into, segment.repeat * node.repeat});
    }

    [[nodiscard]] bool fuses() const {
        return stack_.lowering.kernels == KernelSet::fused || stack_.lowering.kernels == KernelSet::generated;
    }

    const Launch& alone(const OpNode& node, std::size_t place) {
        if (first_equal_.empty()) return table_.of(node);
        std::optional<Launch>& known = known_[first_equal_[place]];
        if (!known) known = launched(node, gpu_, stack_);
        return *known;
    }

    void account(const Segment& segment, const OpNode& node, const Launch& launch) {
        const double runs = static_cast<double>(segment.repeat * node.repeat);
        const KernelCost& k = launch.kernel;
        if (k.bound == Bound::unmodelled) timeline_.unmodelled.push_back(node.name);
        const Seconds issue = launch.calls * stack_.host_per_kernel + launch.host;
        timeline_.ops.push_back({&node, runs, launch.passes, k, runs * launch.time, issue, launch.fused});
        timeline_.gpu_busy += runs * launch.time;
        timeline_.communication += runs * k.communication;
        timeline_.flops += runs * launch.passes * k.flops;
        timeline_.dram_bytes += runs * launch.passes * k.dram_bytes;
        timeline_.dynamic_energy += runs * launch.passes * k.energy;
        timeline_.kernels += runs * launch.launches;
    }

    /// Moves both clocks over one repetition of the segment.
    void advance(const Segment& segment) {
        if (segment.after_gpu) clocks_.wait_for_gpu();
        if (streams_ > 1 && overlaps(segment)) {
            advance_overlapped(segment);
            return;
        }
        for (std::size_t i = 0; i < launches_.size(); ++i) {
            if (segment.nodes[i].host_work > Seconds{}) {
                clocks_.host += segment.nodes[i].host_work;
                clocks_.wait_for_gpu();
            }
            const Launch& launch = *launches_[i];
            const double runs = static_cast<double>(segment.nodes[i].repeat), calls = launch.calls;
            const Seconds issue = stack_.host_per_kernel + launch.host / std::max(1.0, calls);
            if (launch.awaited) {
                run_awaited(launch, segment.nodes[i].repeat, issue);
            } else if (calls > 0) {
                clocks_.run(runs * calls, issue, launch.time / calls);
            } else {
                clocks_.gpu += runs * launch.time;
            }
        }
    }

    /// GEMMs that come last of their kernels, and that the CPU waits for: launches that prepare their operands pass while it issues.
    void run_awaited(const Launch& launch, std::int64_t runs, Seconds issue) {
        const double before = launch.calls - 1;
        for (std::int64_t run = 0; run < runs; ++run) {
            clocks_.run(before, issue, stack_.device_gap);
            clocks_.run(1, issue, launch.time - before * stack_.device_gap);
            clocks_.wait_for_gpu();
        }
    }

    static bool overlaps(const Segment& segment) {
        if (std::any_of(segment.nodes.begin(), segment.nodes.end(), [](const OpNode& n) { return n.host_work > Seconds{}; })) return false;
        return std::any_of(segment.nodes.begin(), segment.nodes.end(),
                           [&](const OpNode& n) { return n.stream != segment.nodes.front().stream; });
    }

    /// Streams run side by side: as long as the longest of them, but no resource does more than one thing at a time.
    void advance_overlapped(const Segment& segment) {
        std::array<Seconds, most_streams> stream_time{};
        Seconds compute, dram, l2, power, communication;
        double launches = 0;
        Seconds host;
        for (std::size_t i = 0; i < launches_.size(); ++i) {
            const OpNode& node = segment.nodes[i];
            const Launch& launch = *launches_[i];
            const KernelCost& kernel = launch.kernel;
            const double once = static_cast<double>(node.repeat), runs = once * launch.passes;
            const auto streams = std::min(static_cast<std::size_t>(streams_), most_streams);
            stream_time[static_cast<std::size_t>(node.stream) % streams] += once * launch.time;
            compute += runs * kernel.compute;
            dram += runs * kernel.dram;
            l2 += runs * kernel.l2;
            power += runs * kernel.power;
            communication += runs * kernel.communication;
            launches += once * launch.calls;
            host += once * launch.host;
        }
        const Seconds longest = *std::max_element(stream_time.begin(), stream_time.end());
        const Seconds busy = max(max(max(longest, communication), max(compute, power)), max(dram, l2));
        const double kernels = std::max(1.0, launches);
        clocks_.run(kernels, (launches * stack_.host_per_kernel + host) / kernels, busy / kernels);
    }

    LaunchTable& table_;
    const Gpu& gpu_;
    const SoftwareStack& stack_;
    int streams_;
    double kernels_ = 0;
    bool lists_;
    std::span<const std::size_t> first_equal_;
    std::vector<std::optional<Launch>> known_;  ///< by first equal node
    std::size_t nodes_before_ = 0;              ///< in the segments that ran
    Clocks clocks_;
    Timeline timeline_;
    std::vector<const Launch*> launches_;  ///< of a segment's nodes
    std::vector<Launch> own_;              ///< the same where compilers fold nodes into others
    std::vector<int> host_of_;
};

/// What no machine runs `graph` in less than: each operator at data-sheet rates.
Seconds least_time(const OpGraph& graph, const GpuProfile& gpu) {
    Seconds total;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            if (node.fusion == Fusion::folded) continue;
            total += static_cast<double>(segment.repeat * node.repeat) * datasheet_roofline(node.op, gpu, Cache::produced);
        }
    }
    return total / gpu.clock_headroom();
}

/// `t` by the factor that whole models take on this machine, but no faster than the data sheet allows.
Timeline on_this_machine(Timeline t, const OpGraph& graph, const Gpu& gpu) {
    double factor = gpu.parameters.values.time_factor.models;
    if (factor == 1 || !(t.total > Seconds{})) return t;
    if (factor < 1) factor = std::max(factor, std::min(1.0, least_time(graph, gpu.profile) / t.total));
    for (Seconds* time : {&t.total, &t.gpu_busy, &t.host, &t.communication}) *time *= factor;
    for (TimedOp& op : t.ops) {
        op.time *= factor;
        op.issue *= factor;
        op.kernel = stretched(op.kernel, factor);
    }
    return t;
}

}  // namespace

Timeline timeline(const OpGraph& graph, LaunchTable& launches, std::span<const std::size_t> first_equal) {
    const Gpu& gpu = launches.gpu();
    Timeline t = on_this_machine(Runner(launches, first_equal, true).run(graph), graph, gpu);
    for (const GpuOfFamily& of : gpu.families) t.families.push_back(of.family);
    return t;
}

Timeline latency_alone(const OpGraph& graph, LaunchTable& launches) {
    return on_this_machine(Runner(launches, {}, false).run(graph), graph, launches.gpu());
}

Timeline timeline(const OpGraph& graph, const Gpu& gpu, const SoftwareStack& stack) {
    LaunchTable launches(gpu, stack);
    return timeline(graph, launches);
}

Seconds cold_start(const Timeline& t, const SoftwareStack& stack) {
    const auto distinct = std::count_if(t.ops.begin(), t.ops.end(), [](const TimedOp& op) {
        return !op.fused && !std::holds_alternative<Copy>(op.node->op) && !std::holds_alternative<Collective>(op.node->op);
    });
    return stack.cold_context + static_cast<double>(distinct) * stack.cold_per_kernel;
}

}  // namespace roofcast
