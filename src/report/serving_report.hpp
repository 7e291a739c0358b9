#pragma once
/// Simulated serving as text, JSON and CSV.

#include <string>
#include <vector>

#include "report/table.hpp"
#include "roofcast/serving.hpp"

namespace roofcast {

/// An answer with what was asked.
struct NamedServing {
    std::string model_id, model_name, gpu_id, gpu_name;
    ServingQuestion question;
    std::optional<ArrivalProcess> process;  ///< absent: `trace`
    std::string trace;                      ///< file; empty: `process`
    std::int64_t offered = 0;               ///< requests, those that cannot be served included
    ServingAnswer answer;
    std::vector<std::string> assumptions;  ///< of the simulation
    std::vector<Assumption> assumed;       ///< of the GPU's profile
    std::vector<std::string> notes;        ///< what was chosen for the user
};

/// What the simulation of `question` takes for granted, a sentence each; `workload` is a model that can be served.
std::vector<std::string> serving_assumptions(const ServingQuestion& question, const Workload& workload);

/// Latencies, load, objectives and memory; CSV is one row of all figures.
Report serving_report(const NamedServing& named);

}  // namespace roofcast
