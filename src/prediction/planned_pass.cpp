#include "prediction/planned_pass.hpp"

#include "execution/equal_nodes.hpp"
#include "prediction/pass.hpp"
#include "prediction/phases.hpp"
#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

PlannedPass::PlannedPass(const Workload& workload, const Gpu& device, const Run& request, const SoftwareStacks& software)
    : request_(completed(request, workload, device)), stack_(stack_of(software, request_, workload, device.profile.vendor)) {
    if (language_model(workload) != nullptr) {
        throw Error({.what = "passes of this model grow from one to the next",
                     .key = "model",
                     .found = workload.id,
                     .expected = "a model that generates no tokens"});
    }
    const auto* diffusion = std::get_if<Diffusion>(&workload.architecture);
    graph_ =
        diffusion != nullptr ? denoising_graph(*diffusion, request_, stack_.lowering) : forward_graph(workload, request_, stack_.lowering);
    first_equal_ = first_equal_nodes(graph_);
}

Seconds PlannedPass::latency(const Gpu& device) const {
    const Gpu gpu = gpu_of(device, request_, stack_);
    LaunchTable launches(gpu, stack_);
    const Timeline timeline = timed_pass(graph_, {nullptr, request_, launches}, first_equal_).timeline;
    if (!timeline.complete()) throw Error({.what = "operators without a cost model", .found = std::string(timeline.unmodelled.front())});
    return timeline.total;
}

}  // namespace roofcast
