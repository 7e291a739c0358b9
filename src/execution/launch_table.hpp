#pragma once
/// Launches of nodes that stand alone, of one GPU and one software stack: each distinct node is worked out once, in whatever graphs and
/// passes it comes up. The layers of a model share most of their nodes, and decode steps all but attention.

#include <cstdint>
#include <span>
#include <vector>

#include "execution/launch.hpp"

namespace roofcast {

class LaunchTable {
public:
    /// Both must outlive the table. `gpu` is as `stack` uses it (`with_software`).
    LaunchTable(const Gpu& gpu, const SoftwareStack& stack);

    /// Of `node`, as `launched` gives it. Valid until the next call.
    const Launch& of(const OpNode& node);

    [[nodiscard]] const Gpu& gpu() const { return gpu_; }
    [[nodiscard]] const SoftwareStack& stack() const { return stack_; }
    [[nodiscard]] std::size_t size() const { return known_.size(); }  ///< distinct nodes so far

private:
    struct Known {
        std::size_t hash;
        Op op;
        double weights, eager_kernels;
        bool same_call;
        Launch launch;
    };

    void grow();

    const Gpu& gpu_;
    const SoftwareStack& stack_;
    std::vector<Known> known_;
    std::vector<std::uint32_t> slots_;  ///< a place in `known_`, from 1 on, where its hash or the next free slot is; 0: free
};

/// As `timeline` of the public interface, with what earlier graphs had in common with this one taken from `launches`; what `first_equal`
/// knows is not looked up there.
Timeline timeline(const OpGraph& graph, LaunchTable& launches, int streams, std::span<const std::size_t> first_equal = {});

/// The same with nothing but the latency and the host's time: what does not run is not listed.
Timeline latency_alone(const OpGraph& graph, LaunchTable& launches, int streams);

}  // namespace roofcast
