#pragma once
/// Simulated serving as text, JSON and CSV.

#include <string>
#include <vector>

#include "document/table.hpp"
#include "roofcast/serving.hpp"

namespace roofcast {

/// Memory of one GPU that the model needs beside what is there for it, and what would make it fit.
struct MemoryMisfit {
    Bytes needed, usable;
    std::vector<std::string> remedies;
};

/// An answer with what was asked.
struct NamedServing {
    std::string model_id, model_name, gpu_id, gpu_name;
    ServingQuestion question;
    const Engine* engine = nullptr;         ///< that the question's software names; nullptr: none
    std::optional<ArrivalProcess> process;  ///< absent: `trace`
    std::string trace;                      ///< file; empty: `process`
    std::int64_t offered = 0;               ///< requests, those that cannot be served included
    ServingAnswer answer;                   ///< with `misfit`, only its `room`
    std::optional<MemoryMisfit> misfit;     ///< then nothing was simulated
    std::vector<std::string> assumptions;   ///< of the simulation
    std::vector<Assumption> assumed;        ///< of the GPU's profile
    std::vector<std::string> notes;         ///< what was chosen for the user
};

/// Whether there are latencies to show: it fits, is not overloaded, and where a highest rate is searched for there is one.
bool has_answer(const NamedServing& named);

/// Latencies, load, objectives and memory; CSV is one row of all figures.
Report serving_report(const NamedServing& named);

}  // namespace roofcast
