#pragma once
/// What a deployment costs, and whether it may be rented.

#include "roofcast/recommendation.hpp"

namespace roofcast {

/// Rent of whole instances.
struct WholeRent {
    UsDollarsPerSecond rate;
    const Instance* instance = nullptr;  ///< absent: any number of GPUs at one price, or `listed` is false
    std::int64_t count = 0;              ///< of the instance
    bool listed = true;
};

/// Rent of `copies` copies of `gpus_each` GPUs in the instances of one kind that cost least; nullopt without a price.
std::optional<WholeRent> rent_of_copies(const Contestant& contestant, std::int64_t gpus_each, std::int64_t copies);

/// Why `copies` copies of `gpus_each` GPUs may not be: budget, GPUs, copies. What forbids some forbids more.
std::optional<Outcome> forbidden(const Contestant& contestant, const RecommendationRequest& request, std::int64_t gpus_each,
                                 std::int64_t copies);

/// Gives `d`, whose parallelism is complete, what it costs. `of_one`: items that a copy finishes at full load.
void price(Deployment& d, const Contestant& contestant, const RecommendationRequest& request, Hertz of_one);

}  // namespace roofcast
