#include "graph/published.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {

Agreement agreement_with_published(const Workload& workload, const Run& sizes) {
    static constexpr double tolerance = 0.01;
    constexpr double giga = 1e9;
    const Published& published = workload.published;
    Run run = sizes;
    if (published.image_size > 0) run.image_size = published.image_size;
    double area = 1;
    if (published.counted_size > 0) {
        const double side = static_cast<double>(published.image_size) / static_cast<double>(published.counted_size);
        area = side * side;
        run.image_size = published.counted_size;
    }
    const OpGraph graph = forward_graph(workload, run, Lowering{});
    Agreement result{.parameters = total_parameters(graph), .gmacs = area * total_macs(graph) / giga};
    const auto compare = [&result](std::optional<double> figure, double rounding, double found) {
        if (!figure) return;
        const double deviation = std::abs(found / *figure - 1);
        result.worst = std::max(result.worst.value_or(0), deviation);
        result.holds = result.holds && deviation <= std::max(tolerance, rounding / *figure);
    };
    compare(published.parameters, published.parameters_rounding, result.parameters);
    compare(published.gmacs, published.macs_rounding, result.gmacs);
    compare(published.gflops, published.macs_rounding, 2 * result.gmacs);
    return result;
}

}  // namespace roofcast
