#pragma once
/// Launches of nodes that stand alone, of one GPU and one software stack: each distinct node is worked out once, in whatever graphs and
/// passes it comes up. The layers of a model share most of their nodes, and decode steps all but attention.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "execution/launch.hpp"

namespace roofcast {

class LaunchTable {
public:
    /// Both must outlive the table. `gpu` is as `stack` uses it (`as_software_sees`).
    LaunchTable(const Gpu& gpu, const SoftwareStack& stack);

    /// Launch of `node`, as from `launched`. Valid for the life of the table.
    const Launch& of(const OpNode& node);

    [[nodiscard]] const Gpu& gpu() const { return gpu_; }
    [[nodiscard]] const SoftwareStack& stack() const { return stack_; }
    [[nodiscard]] std::size_t size() const { return size_; }  ///< distinct nodes so far

private:
    struct Known {
        std::size_t hash = 0;
        Op op;
        double weights = 0, eager_kernels = 1;
        bool same_call = false;
        bool joined = false;
        Launch launch;
    };

    static constexpr std::size_t block_size = 16;  ///< nodes that come into memory together
    struct Block {
        std::array<Known, block_size> nodes;
    };

    [[nodiscard]] Known& at(std::size_t place) { return blocks_[place / block_size]->nodes[place % block_size]; }
    void grow();

    const Gpu& gpu_;
    const SoftwareStack& stack_;
    std::size_t size_ = 0;
    std::vector<std::unique_ptr<Block>> blocks_;
    std::vector<std::uint32_t> slots_;  ///< a node's place, from 1 on, where its hash or the next free slot is; 0: free
};

/// As `timeline` of the public interface, with what earlier graphs had in common with this one taken from `launches`. What `first_equal`
/// (`first_equal_nodes(graph)`, for those who run one graph often) knows is not looked up there.
Timeline timeline(const OpGraph& graph, LaunchTable& launches, std::span<const std::size_t> first_equal = {});

/// The same with latency and CPU time only, without the list of operators.
Timeline latency_alone(const OpGraph& graph, LaunchTable& launches);

}  // namespace roofcast
