#include "scenario/recommendation_rent.hpp"

#include <cmath>
#include <tuple>

namespace roofcast {

namespace {

/// nullopt: the instance has too few GPUs for a copy.
std::optional<WholeRent> rent_in(const Instance& instance, std::int64_t gpus_each, std::int64_t copies) {
    const std::int64_t fit = instance.any_number ? 1 : instance.gpus / gpus_each;  // copies in one instance
    if (fit < 1) return std::nullopt;
    const std::int64_t count = instance.any_number ? gpus_each * copies : (copies + fit - 1) / fit;
    return WholeRent{.rate = static_cast<double>(count) * instance.rent(), .instance = &instance, .count = count};
}

}  // namespace

std::optional<WholeRent> rent_of_copies(const Contestant& contestant, std::int64_t gpus_each, std::int64_t copies) {
    if (!contestant.rental_price) return std::nullopt;
    std::optional<WholeRent> least;
    for (const Instance& instance : contestant.instances) {
        const auto whole = rent_in(instance, gpus_each, copies);
        if (whole && (!least || whole->rate < least->rate)) least = whole;
    }
    if (least) return least;
    return WholeRent{.rate = static_cast<double>(gpus_each * copies) * rent(*contestant.rental_price),
                     .listed = contestant.instances.empty()};
}

std::optional<Outcome> forbidden(const Contestant& contestant, const RecommendationRequest& request, std::int64_t gpus_each,
                                 std::int64_t copies) {
    constexpr double rounding = 1 + 1e-12;  // of a budget that is a whole number of copies
    if (copies > most_copies) return Outcome::too_many_copies;
    if (request.most_gpus && gpus_each * copies > *request.most_gpus) return Outcome::too_many_gpus;
    const auto rent = rent_of_copies(contestant, gpus_each, copies);
    if (!rent && (request.budget || !request.without_prices)) return Outcome::no_price;
    if (rent && request.budget && rent->rate > *request.budget * rounding) return Outcome::over_budget;
    return std::nullopt;
}

void price(Deployment& d, const Contestant& contestant, const RecommendationRequest& request, Hertz of_one) {
    d.capacity = static_cast<double>(d.parallel.data) * of_one;
    const auto rent = rent_of_copies(contestant, d.parallel.tensor * d.parallel.pipeline, d.parallel.data);
    if (!rent) return;
    d.cost = DeploymentCost{
        .rate = rent->rate, .per_item = rent->rate / request.rate.value_or(d.capacity), .instances = rent->count, .listed = rent->listed};
    if (rent->instance != nullptr) d.cost->instance = *rent->instance;
}

std::optional<std::int64_t> copies_needed(Hertz rate, Hertz of_one) {
    const double copies = std::ceil(rate / of_one);
    if (!(copies <= static_cast<double>(most_copies))) return std::nullopt;
    return copies < 1 ? 1 : static_cast<std::int64_t>(copies);
}

bool is_cheaper(const Deployment& a, const Deployment& b) {
    const auto rank = [](const Deployment& d) {
        return std::tuple(!d.cost          ? 2
                          : d.cost->listed ? 0
                                           : 1,
                          d.cost ? d.cost->per_item : UsDollars{}, d.parallel.gpus(), d.latency.value_or(Seconds{}));
    };
    return rank(a) < rank(b);
}

}  // namespace roofcast
