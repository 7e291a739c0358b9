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

LaunchTable::LaunchTable(const Gpu& gpu, const SoftwareStack& stack) : gpu_(gpu), stack_(stack), slots_(first_slots) {}

const Launch& LaunchTable::of(const OpNode& node) {
    const std::size_t hash = size_hash(node);
    std::size_t slot = first_slot(hash, slots_.size());
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
        const Known& known = at(slots_[slot] - 1);
        if (known.hash == hash && same_kernels(known, node)) return known.launch;
    }
    if (size_ % block_size == 0) blocks_.push_back(std::make_unique<Block>());
    Known& known = at(size_);
    known = {hash, node.op, node.weights, node.eager_kernels, node.same_call, node.joined, launched(node, gpu_, stack_)};
    slots_[slot] = static_cast<std::uint32_t>(++size_);
    if (size_ * slots_per_node > slots_.size()) grow();
    return known.launch;
}

void LaunchTable::grow() {
    slots_.assign(2 * slots_.size(), 0);
    for (std::size_t i = 0; i < size_; ++i) {
        std::size_t slot = first_slot(at(i).hash, slots_.size());
        while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = static_cast<std::uint32_t>(i + 1);
    }
}

}  // namespace roofcast
