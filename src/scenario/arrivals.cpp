#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "roofcast/serving.hpp"

namespace roofcast {

namespace {

/// Uniform numbers above 0 and below 1. The engine is the same everywhere; the distributions of standard libraries are not.
class Uniform {
public:
    explicit Uniform(std::uint64_t seed) : engine_(seed) {}
    double operator()() { return (static_cast<double>(engine_() >> 11U) + 0.5) * 0x1p-53; }

private:
    std::mt19937_64 engine_;
};

double exponential(Uniform& uniform) {
    return -std::log(uniform());
}

/// Box and Muller 1958.
double normal(Uniform& uniform) {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
}

constexpr double most_tokens = 0x1p30;  // beyond any context: the request will be refused

/// Log-normal with this mean and coefficient of variation: σ² = ln(1 + cv²), μ = ln(mean) − σ²/2.
std::int64_t length(double mean, double cv, double deviate) {
    const double variance = std::log1p(cv * cv);
    const double tokens = cv > 0 ? std::exp(std::log(mean) - variance / 2 + std::sqrt(variance) * deviate) : mean;
    return static_cast<std::int64_t>(std::llround(std::clamp(tokens, 1.0, most_tokens)));
}

}  // namespace

std::vector<ServingRequest> drawn(const ArrivalProcess& process) {
    Uniform uniform(process.seed);
    std::vector<ServingRequest> requests;
    requests.reserve(static_cast<std::size_t>(process.requests));
    Seconds clock;
    for (std::int64_t i = 0; i < process.requests; ++i) {
        // The same numbers are drawn whatever the options, so that changing one of them leaves the rest as it was.
        clock += exponential(uniform) / process.rate;
        const double prompt = normal(uniform), output = normal(uniform);
        requests.push_back(
            {clock, length(process.prompt_mean, process.prompt_cv, prompt), length(process.output_mean, process.output_cv, output)});
    }
    return requests;
}

std::vector<ServingRequest> spread_out(std::vector<ServingRequest> requests, double factor) {
    for (ServingRequest& request : requests) request.arrival *= factor;
    return requests;
}

}  // namespace roofcast
