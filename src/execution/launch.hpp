#pragma once
/// Which kernels a software stack launches for an operator.

#include "roofcast/execution.hpp"

namespace roofcast {

/// An operator of a segment as it will be launched.
struct Launch {
    KernelCost kernel;
    Seconds time;         ///< one run of the node on the GPU, gaps included
    Seconds host;         ///< of one run, beside what issuing its kernels takes
    double launches = 1;  ///< kernels issued for one run
    double calls = 1;     ///< of the host for them: as many, or none where the operator before issues them too
    double passes = 1;    ///< times that one run does the kernel's work
    bool fused = false;
    bool awaited = false;  ///< the CPU issues nothing until it has finished
    Seconds idle_dram;     ///< of the kernel's time, DRAM waits for arithmetic, L2 or power; what is folded into it reads in that time
    Seconds idle_power;    ///< of the kernel's time, the power budget is not spent
};

/// `node` standing alone.
Launch launched(const OpNode& node, const Gpu& gpu, const SoftwareStack& stack);

/// `node` folded into the kernel of `host`, which runs as often: what that one grows by. Takes what it uses of the host's idle times.
Launch folded_into(Launch& host, const OpNode& node, const Gpu& gpu);

}  // namespace roofcast
