#pragma once
/// Predictions of the shipped models on the shipped GPUs, as the golden scenarios ask for them.

#include <optional>
#include <string>
#include <string_view>

#include "roofcast/prediction.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

namespace roofcast::test {

/// What a scenario changes besides the sizes.
struct GoldenRun {
    Execution execution = Execution::cuda_graph;
    std::string software{};
    std::string_view weights{};  ///< as on the command line; empty: as computed
    int streams = 1;
};

inline Run golden_request(Run run, const GoldenRun& how) {
    run.execution = how.execution;
    run.software = how.software;
    run.streams = how.streams;
    if (!how.weights.empty()) run.weights = parse_weight_format(how.weights).value();
    return run;
}

/// Predicts with the software costs that are shipped, read once.
class Golden {
public:
    [[nodiscard]] Prediction run(const std::string& model, const Gpu& gpu, const Run& asked, const GoldenRun& how = {}) const {
        return predict(find_workload(models_dir(), model), gpu, golden_request(asked, how), software);
    }
    [[nodiscard]] MemoryEstimate memory(const std::string& model, const Run& asked, const GoldenRun& how = {}) const {
        const Workload workload = find_workload(models_dir(), model);
        return memory_estimate(workload, completed_sizes(golden_request(asked, how), workload), software);
    }

    SoftwareStacks software = load_software(software_dir());
};

}  // namespace roofcast::test
