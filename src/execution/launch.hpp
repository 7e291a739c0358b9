#pragma once
/// Which kernels a software stack launches for an operator.

#include "roofcast/execution.hpp"

namespace roofcast {

/// An operator of a segment as it will be launched.
struct Launch {
    KernelCost kernel;
    Seconds time;         ///< one run of the node on the GPU, gaps included
    Seconds host;         ///< further CPU time of one run, in addition to kernel launches
    double launches = 1;  ///< kernels issued for one run
    double calls = 1;     ///< launch calls for its kernels; 0: launched with the operator before it
    double passes = 1;    ///< times that one run does the kernel's work
    bool fused = false;
    bool awaited = false;  ///< the CPU issues nothing until it has finished
    Seconds idle_dram;     ///< of the kernel's time, DRAM waits for arithmetic, L2 or power; what is folded into it reads in that time
    Seconds idle_power;    ///< of the kernel's time, the power budget is not spent
};

/// `node` standing alone.
Launch launched(const OpNode& node, const Gpu& gpu, const SoftwareStack& stack);

/// `node` folded into the kernel of `host`, which runs as often: what that kernel grows by. Consumes idle DRAM and power of the host
/// kernel.
Launch folded_into(Launch& host, const OpNode& node, const Gpu& gpu);

}  // namespace roofcast
