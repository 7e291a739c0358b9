#include <algorithm>

#include "execution/fusion.hpp"
#include "roofcast/execution.hpp"

namespace roofcast {

namespace {

/// Two clocks that run side by side: when the host has issued everything so far, and when the GPU has finished it.
struct Clocks {
    Seconds host, gpu;

    /// `count` equal kernels: the first waits for its issue, each later one for the one before it or for its own issue.
    void run(double count, Seconds issue, Seconds kernel) {
        const Seconds first = max(gpu, host + issue);
        host += count * issue;
        gpu = max(first + count * kernel, host + kernel);
    }
};

/// An operator of a segment as it will be launched.
struct Launch {
    KernelCost kernel;
    Seconds time;         ///< one run of the node on the GPU, gaps included
    double launches = 1;  ///< kernels issued for one run
    double passes = 1;    ///< times that one run does the kernel's work
    bool fused = false;
};

bool repeats_its_traffic(const OpNode& node) {
    return std::holds_alternative<Elementwise>(node.op) || std::holds_alternative<RowWise>(node.op);
}

/// The engine's own kernel for products of few rows, where it has one for `op`.
std::optional<KernelCost> vector_kernel(const Op& op, const Gpu& gpu, const SoftwareStack& stack) {
    const BytesPerSecond most = stack.vector_bandwidth_per_sm;
    if (most == BytesPerSecond{}) return std::nullopt;
    if (const auto* gemm = std::get_if<Gemm>(&op); gemm != nullptr && gemm->m <= most_vector_rows)
        return vector_product_cost(*gemm, gpu, most);
    if (const auto* moe = std::get_if<Moe>(&op); moe != nullptr && moe->tokens <= most_vector_rows)
        return vector_product_cost(*moe, gpu, most);
    return std::nullopt;
}

/// A slower engine's kernel stretches the part of its time that arithmetic or streaming takes, not its latency.
Seconds at_rate_of(const SoftwareStack& stack, const Op& op, const KernelCost& kernel, const Gpu& gpu) {
    const bool matrix = std::holds_alternative<Gemm>(op) || std::holds_alternative<Attention>(op) || std::holds_alternative<Conv2d>(op) ||
                        std::holds_alternative<Moe>(op);
    const bool network = std::holds_alternative<Collective>(op) || std::holds_alternative<Copy>(op);
    if (network) return kernel.total;
    const auto* attention = std::get_if<Attention>(&op);
    if (attention != nullptr && attention->cached && attention->query_len == 1) {
        return kernel.total + max(Seconds{}, kernel.total - kernel.launch) * (1 / stack.decode_attention_rate - 1);
    }
    if (!matrix) return kernel.total + max(Seconds{}, kernel.total - kernel.launch) * (1 / stack.streaming_rate - 1);
    // Matrix kernels that wait for memory or power wait as long in any engine, until slower arithmetic takes longer than that.
    const double rate = stack.matmul_rate * (stack.warp_matrix ? gpu.profile.facts.warp_matrix_fraction : 1);
    const Seconds bound = max(max(kernel.compute, kernel.dram), max(kernel.l2, kernel.power));
    return kernel.total + max(Seconds{}, kernel.compute / rate - bound);
}

/// `op` in fp16 instead of 8 bits; nothing for other operators and formats.
std::optional<Op> in_16_bits(const Op& op) {
    const auto narrow = [](Precision p) { return element_size(p) < 2 * byte; };
    if (const auto* gemm = std::get_if<Gemm>(&op); gemm != nullptr && narrow(gemm->precision)) {
        Gemm wide = *gemm;
        wide.precision = Precision::fp16;
        wide.weight_bits = 16;
        wide.dynamic_quantized = false;
        return wide;
    }
    if (const auto* conv = std::get_if<Conv2d>(&op); conv != nullptr && narrow(conv->precision)) {
        Conv2d wide = *conv;
        wide.precision = Precision::fp16;
        return wide;
    }
    return std::nullopt;
}

bool is_16_bit_product(const Op& op) {
    const auto in_16_bits = [](Precision p) { return p == Precision::fp16 || p == Precision::bf16; };
    if (const auto* gemm = std::get_if<Gemm>(&op)) return in_16_bits(gemm->precision);
    const auto* conv = std::get_if<Conv2d>(&op);
    return conv != nullptr && in_16_bits(conv->precision);
}

/// Launches beside a product whose weights are stored in fewer bits than it computes in, or are quantized with the activations.
double unpacking_launches(const Op& op, const SoftwareStack& stack) {
    constexpr double widest_8bit = 8.5;  // with a scale of 16 bits for 32 weights: GGUF's q8_0
    const auto* gemm = std::get_if<Gemm>(&op);
    if (gemm == nullptr || gemm->weight_bits > widest_8bit) return 0;
    return gemm->weight_bits < 8 ? stack.kernels_beside_4bit : stack.kernels_beside_8bit;
}

/// The kernel that the stack runs for `op`: in its precision, or in 16 bits where that is faster and the stack chooses by layer.
KernelCost chosen_kernel(const Op& op, const Gpu& gpu, const SoftwareStack& stack) {
    const KernelCost own = cost(op, gpu, Cache::produced);
    if (!stack.fastest_precision || !gpu.profile.supports(Precision::fp16)) return own;
    const std::optional<Op> wide = in_16_bits(op);
    if (!wide) return own;
    const KernelCost wider = cost(*wide, gpu, Cache::produced);
    return wider.total < own.total ? wider : own;
}

Launch launched(const OpNode& node, const Gpu& gpu, const SoftwareStack& stack) {
    Launch launch;
    const std::optional<KernelCost> vectors = vector_kernel(node.op, gpu, stack);
    launch.kernel = vectors ? *vectors : chosen_kernel(node.op, gpu, stack);
    launch.launches = launch.kernel.kernels;
    Seconds time = vectors ? vectors->total : at_rate_of(stack, node.op, launch.kernel, gpu);
    if (stack.kernels == KernelSet::framework && node.eager_kernels != 1) {
        // Each of an eager framework's element-wise kernels passes over the tensor; around other operators they only add launches.
        if (repeats_its_traffic(node)) launch.passes = node.eager_kernels;
        time *= launch.passes;
        launch.launches = std::max(node.eager_kernels, static_cast<double>(launch.kernel.kernels));
    }
    if (is_16_bit_product(node.op)) launch.launches += stack.cast_kernels;
    launch.launches += unpacking_launches(node.op, stack);
    launch.time = time + launch.launches * stack.device_gap;
    return launch;
}

Launch folded_into_host(const OpNode& node, const Gpu& gpu) {
    Launch launch;
    launch.fused = true;
    launch.launches = 0;
    const Elementwise remainder = fused_remainder(node.op);
    if (remainder.elements > 0 && remainder.reads > 0) {
        launch.kernel = cost(remainder, gpu, Cache::produced);
        launch.kernel.launch = {};
        launch.kernel.total = max(launch.kernel.dram, launch.kernel.power);
        launch.kernel.kernels = 0;
    }
    launch.time = launch.kernel.total;
    return launch;
}

class Runner {
public:
    Runner(const Gpu& gpu, const SoftwareStack& stack, int streams, std::span<const std::size_t> first_equal)
        : gpu_(gpu), stack_(stack), streams_(streams), first_equal_(first_equal), known_(first_equal.size()) {}

    Timeline run(const OpGraph& graph) {
        clocks_.run(1, stack_.host_per_pass, {});
        for (const Segment& segment : graph.segments) run(segment);
        timeline_.total = clocks_.gpu;
        timeline_.host = clocks_.host;
        return std::move(timeline_);
    }

private:
    void run(const Segment& segment) {
        launches_.clear();
        if (stack_.kernels == KernelSet::fused) fusion_plan(segment, streams_ > 1, host_of_);
        for (std::size_t i = 0; i < segment.nodes.size(); ++i) {
            launches_.push_back(launch_of(segment, i));
            account(segment, segment.nodes[i], launches_.back());
        }
        nodes_before_ += segment.nodes.size();
        advance(segment);
        if (segment.repeat > 1) {
            // Every later repetition costs what the second one does: the host is then as far ahead or behind as it gets.
            const Clocks before = clocks_;
            advance(segment);
            const double others = static_cast<double>(segment.repeat - 2);
            clocks_.host += others * (clocks_.host - before.host);
            clocks_.gpu += others * (clocks_.gpu - before.gpu);
        }
    }

    Launch launch_of(const Segment& segment, std::size_t i) {
        const OpNode& node = segment.nodes[i];
        if (stack_.kernels == KernelSet::fused && host_of_[i] != static_cast<int>(i)) {
            const std::string_view into =
                host_of_[i] == vanishes ? "weights" : std::string_view(segment.nodes[static_cast<std::size_t>(host_of_[i])].name);
            timeline_.fused.push_back({node.name, into, segment.repeat * node.repeat});
            if (host_of_[i] == vanishes) return {.launches = 0, .fused = true};
            return folded_into_host(node, gpu_);
        }
        return alone(node, nodes_before_ + i);
    }

    Launch alone(const OpNode& node, std::size_t place) {
        if (first_equal_.empty()) return launched(node, gpu_, stack_);
        std::optional<Launch>& known = known_[first_equal_[place]];
        if (!known) known = launched(node, gpu_, stack_);
        return *known;
    }

    void account(const Segment& segment, const OpNode& node, const Launch& launch) {
        const double runs = static_cast<double>(segment.repeat * node.repeat);
        const KernelCost& k = launch.kernel;
        if (k.bound == Bound::unmodelled) timeline_.unmodelled.push_back(node.name);
        timeline_.ops.push_back({&node, runs, k, runs * launch.time, launch.fused});
        timeline_.gpu_busy += runs * launch.time;
        timeline_.communication += runs * k.communication;
        timeline_.flops += runs * launch.passes * k.flops;
        timeline_.dram_bytes += runs * launch.passes * k.dram_bytes;
        timeline_.dynamic_energy += runs * launch.passes * k.energy;
        timeline_.kernels += runs * launch.launches;
    }

    /// Moves both clocks over one repetition of the segment.
    void advance(const Segment& segment) {
        if (streams_ > 1 && overlaps(segment)) {
            advance_overlapped(segment);
            return;
        }
        for (std::size_t i = 0; i < launches_.size(); ++i) {
            const double runs = static_cast<double>(segment.nodes[i].repeat), launches = launches_[i].launches;
            if (launches > 0) clocks_.run(runs * launches, stack_.host_per_kernel, launches_[i].time / launches);
            if (launches == 0) clocks_.gpu += runs * launches_[i].time;
        }
    }

    static bool overlaps(const Segment& segment) {
        return std::any_of(segment.nodes.begin(), segment.nodes.end(),
                           [&](const OpNode& n) { return n.stream != segment.nodes.front().stream; });
    }

    /// Streams run side by side: as long as the longest of them, but no resource does more than one thing at a time.
    void advance_overlapped(const Segment& segment) {
        std::array<Seconds, most_streams> stream_time{};
        Seconds compute, dram, l2, power, communication;
        double launches = 0;
        for (std::size_t i = 0; i < launches_.size(); ++i) {
            const OpNode& node = segment.nodes[i];
            const KernelCost& kernel = launches_[i].kernel;
            const double once = static_cast<double>(node.repeat), runs = once * launches_[i].passes;
            const auto lanes = std::min(static_cast<std::size_t>(streams_), most_streams);
            stream_time[static_cast<std::size_t>(node.stream) % lanes] += once * launches_[i].time;
            compute += runs * kernel.compute;
            dram += runs * kernel.dram;
            l2 += runs * kernel.l2;
            power += runs * kernel.power;
            communication += runs * kernel.communication;
            launches += once * launches_[i].launches;
        }
        const Seconds longest = *std::max_element(stream_time.begin(), stream_time.end());
        const Seconds busy = max(max(max(longest, communication), max(compute, power)), max(dram, l2));
        const double kernels = std::max(1.0, launches);
        clocks_.run(kernels, launches / kernels * stack_.host_per_kernel, busy / kernels);
    }

    const Gpu& gpu_;
    const SoftwareStack& stack_;
    int streams_;
    std::span<const std::size_t> first_equal_;
    std::vector<std::optional<Launch>> known_;  ///< by first equal node
    std::size_t nodes_before_ = 0;              ///< in the segments that ran
    Clocks clocks_;
    Timeline timeline_;
    std::vector<Launch> launches_;
    std::vector<int> host_of_;
};

}  // namespace

Timeline timeline(const OpGraph& graph, const Gpu& gpu, const SoftwareStack& stack, int streams, std::span<const std::size_t> first_equal) {
    return Runner(gpu, stack, streams, first_equal).run(graph);
}

std::vector<std::size_t> first_equal_nodes(const OpGraph& graph) {
    std::vector<std::size_t> first;
    std::vector<std::pair<const OpNode*, std::size_t>> distinct;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            const auto found = std::find_if(distinct.begin(), distinct.end(), [&](const auto& seen) {
                return seen.first->op == node.op && seen.first->eager_kernels == node.eager_kernels;
            });
            const std::size_t place = first.size();
            first.push_back(found != distinct.end() ? found->second : place);
            if (found == distinct.end()) distinct.emplace_back(&node, place);
        }
    }
    return first;
}

Seconds cold_start(const Timeline& t, const SoftwareStack& stack) {
    const auto distinct = std::count_if(t.ops.begin(), t.ops.end(), [](const TimedOp& op) { return !op.fused; });
    return stack.cold_context + static_cast<double>(distinct) * stack.cold_per_kernel;
}

}  // namespace roofcast
