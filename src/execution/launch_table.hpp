#pragma once
/// Launches of nodes that stand alone, of one GPU and one software stack: each distinct node is worked out once, in whatever graphs and
/// passes it comes up. The layers of a model share most of their nodes, and decode steps all but attention.

#include <span>
#include <unordered_map>

#include "execution/launch.hpp"

namespace roofcast {

class LaunchTable {
public:
    /// Both must outlive the table. `gpu` is as `stack` uses it (`with_software`).
    LaunchTable(const Gpu& gpu, const SoftwareStack& stack) : gpu_(gpu), stack_(stack) {}

    /// Of `node`, as `launched` gives it. Valid until the table ends.
    const Launch& of(const OpNode& node);

    [[nodiscard]] const Gpu& gpu() const { return gpu_; }
    [[nodiscard]] const SoftwareStack& stack() const { return stack_; }
    [[nodiscard]] std::size_t size() const { return known_.size(); }  ///< distinct nodes so far

private:
    struct Known {
        OpNode node;
        Launch launch;
    };

    const Gpu& gpu_;
    const SoftwareStack& stack_;
    std::unordered_multimap<std::size_t, Known> known_;  ///< by `size_hash`
};

/// As `timeline` of the public interface, with what earlier graphs had in common with this one taken from `launches`. What `first_equal`
/// (`first_equal_nodes(graph)`, for those who run one graph often) knows is not looked up there.
Timeline timeline(const OpGraph& graph, LaunchTable& launches, int streams, std::span<const std::size_t> first_equal = {});

}  // namespace roofcast
