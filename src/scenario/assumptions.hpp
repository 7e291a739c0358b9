#pragma once
/// What scenarios take for granted, a sentence each.

#include <string>
#include <vector>

#include "roofcast/cost.hpp"
#include "roofcast/recommendation.hpp"
#include "roofcast/serving.hpp"

namespace roofcast {

/// Whether requests spend time outside of the steps of `engine`, which may be nullptr.
bool times_clients(const Engine* engine);

/// What the simulation of `question` takes for granted, a sentence each; `workload` is a model that can be served, `engine` its software or
/// nullptr.
std::vector<std::string> serving_assumptions(const ServingQuestion& question, const Workload& workload, const Engine* engine);

/// What a recommendation takes for granted; `simulated`: whether a simulation decided.
std::vector<std::string> recommendation_assumptions(const RecommendationRequest& request, bool simulated);

/// What costs rest on where the user said nothing, with the sources of the defaults.
std::vector<std::string> cost_assumptions(const CostSettings& settings);

/// How far modelled energy can be trusted: lines below every report that has it.
std::vector<std::string> energy_remarks();

}  // namespace roofcast
