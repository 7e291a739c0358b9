#include "execution/launch_table.hpp"

#include "execution/equal_nodes.hpp"

namespace roofcast {

namespace {

constexpr std::size_t first_slots = 64, slots_per_node = 2;

/// Where the search for a node begins among `slots`, a power of two. The hash's high bits depend on all sizes.
std::size_t first_slot(std::size_t hash, std::size_t slots) {
    constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio (Knuth, volume 3, section 6.4)
    constexpr int kept = 32;
    return static_cast<std::size_t>((static_cast<std::uint64_t>(hash) * spread) >> kept) & (slots - 1);
}

}  // namespace

LaunchTable::LaunchTable(const Gpu& gpu, const SoftwareStack& stack) : gpu_(gpu), stack_(stack), slots_(first_slots) {
    known_.reserve(first_slots / slots_per_node);
}

const Launch& LaunchTable::of(const OpNode& node) {
    const std::size_t hash = size_hash(node);
    std::size_t at = first_slot(hash, slots_.size());
    for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
        const Known& known = known_[slots_[at] - 1];
        if (known.hash == hash && same_kernels(known, node)) return known.launch;
    }
    known_.push_back({hash, node.op, node.weights, node.eager_kernels, node.same_call, launched(node, gpu_, stack_)});
    slots_[at] = static_cast<std::uint32_t>(known_.size());
    if (known_.size() * slots_per_node > slots_.size()) grow();
    return known_.back().launch;
}

void LaunchTable::grow() {
    slots_.assign(2 * slots_.size(), 0);
    for (std::size_t i = 0; i < known_.size(); ++i) {
        std::size_t at = first_slot(known_[i].hash, slots_.size());
        while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = static_cast<std::uint32_t>(i + 1);
    }
}

}  // namespace roofcast
