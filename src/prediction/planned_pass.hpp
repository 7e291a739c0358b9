#pragma once
/// A pass that is predicted again and again while the parameters of its GPU change, as fits do.

#include <cstddef>
#include <vector>

#include "roofcast/op_graph.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/software.hpp"

namespace roofcast {

/// One forward pass, of diffusion models one denoising step, with all worked out that the parameters of its GPU do not change: its latency
/// is asked again and again while they do.
class PlannedPass {
public:
    /// Throws Error as `completed` does, and for models that generate tokens: their passes grow.
    PlannedPass(const Workload& workload, const Gpu& device, const Run& request, const SoftwareStacks& software);

    /// The latency that `predict` gives for `device`, which differs from the one planned for in nothing but parameters. Throws Error for
    /// operators without a cost model.
    [[nodiscard]] Seconds latency(const Gpu& device) const;
    [[nodiscard]] const Run& request() const { return request_; }

private:
    Run request_;
    SoftwareStack stack_;
    OpGraph graph_;
    std::vector<std::size_t> first_equal_;  ///< nodes of `graph_`
};

}  // namespace roofcast
