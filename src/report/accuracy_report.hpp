#pragma once
/// What `roofcast accuracy` prints.

#include <string>
#include <vector>

#include "document/table.hpp"
#include "roofcast/accuracy.hpp"

namespace roofcast {

/// What is known of one GPU's accuracy, and what was asked.
struct NamedAccuracy {
    std::string gpu, name, architecture;  ///< id, full name, and the architecture whose fit predicts it
    std::string model;                    ///< id; empty: all kinds of work
    std::string models;                   ///< file of that model in models/, without its ending
    std::string engine;                   ///< family; empty: all
    ExpectedAccuracy accuracy;
};

/// For each GPU the errors to expect by kind of work, those of served loads and memory by engine, and those of the model's family.
Report accuracy_report(const std::vector<NamedAccuracy>& gpus);

}  // namespace roofcast
