#pragma once
/// Random numbers that are the same on every machine for the same seed, which the standard distributions are not.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace roofcast::microbench {

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t bits() {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31U);
    }
    /// In [0, 1).
    double unit() { return static_cast<double>(bits() >> 11U) * 0x1.0p-53; }
    /// In [low, high], both included.
    std::int64_t whole(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(unit() * static_cast<double>(high - low + 1));
    }
    /// In [low, high], equally likely in every octave.
    std::int64_t log_uniform(std::int64_t low, std::int64_t high) {
        const double bottom = std::log(static_cast<double>(low)), top = std::log(static_cast<double>(high) + 1);
        return std::min(high, static_cast<std::int64_t>(std::exp(bottom + unit() * (top - bottom))));
    }
    template <class List>
    const auto& one_of(const List& list) {
        return list[static_cast<std::size_t>(whole(0, static_cast<std::int64_t>(std::size(list)) - 1))];
    }
    /// Fisher-Yates.
    template <class T>
    void shuffle(std::vector<T>& list) {
        for (std::size_t i = list.size(); i > 1; --i)
            std::swap(list[i - 1], list[static_cast<std::size_t>(whole(0, static_cast<std::int64_t>(i) - 1))]);
    }

private:
    std::uint64_t state_;
};

}  // namespace roofcast::microbench
