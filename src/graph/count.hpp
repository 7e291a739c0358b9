#pragma once
/// Whole numbers of a graph: dimensions, elements, repetitions.
///
/// Dimensions multiply from layer to layer, and a product that wraps looks like a sound one. Arithmetic on a `Count` throws Error in place
/// of leaving the range of `largest_count`. A `Count` is made from any whole number, and read as std::int64_t.

#include <concepts>
#include <cstdint>
#include <string_view>

#include "roofcast/op_graph.hpp"

namespace roofcast {

/// Largest magnitude of sums and products of sizes: far beyond any memory, with room in 64 bits for a few more factors.
inline constexpr std::int64_t largest_count = std::int64_t{1} << 60;

/// Throws Error that says that sizes multiply beyond `largest_count`.
[[noreturn]] void throw_too_large();

class Count {
public:
    constexpr Count() = default;
    // Whole numbers are counts, and become such without a word.
    constexpr Count(std::integral auto n) : n_(static_cast<std::int64_t>(n)) {}  // NOLINT(google-explicit-constructor)
    /// Without its fraction. Throws Error beyond `largest_count`.
    explicit constexpr Count(double x) : n_(whole(x)) {}
    constexpr operator std::int64_t() const { return n_; }  // NOLINT(google-explicit-constructor)

    constexpr Count& operator+=(Count other) { return *this = *this + other; }
    constexpr Count& operator-=(Count other) { return *this = *this - other; }
    constexpr Count& operator*=(Count other) { return *this = *this * other; }
    constexpr Count& operator/=(Count other) { return *this = *this / other; }
    constexpr Count& operator++() { return *this += 1; }
    constexpr Count& operator--() { return *this -= 1; }
    constexpr Count operator++(int) {
        const Count before = *this;
        ++*this;
        return before;
    }

    friend constexpr Count operator+(Count a, Count b) {
        Count sum;
        if (__builtin_add_overflow(a.n_, b.n_, &sum.n_)) throw_too_large();
        return bounded(sum);
    }
    friend constexpr Count operator-(Count a, Count b) {
        Count difference;
        if (__builtin_sub_overflow(a.n_, b.n_, &difference.n_)) throw_too_large();
        return bounded(difference);
    }
    friend constexpr Count operator*(Count a, Count b) {
        Count product;
        if (__builtin_mul_overflow(a.n_, b.n_, &product.n_)) throw_too_large();
        return bounded(product);
    }
    friend constexpr Count operator/(Count a, Count b) {
        if (b.n_ == 0) throw_too_large();
        return a.n_ / b.n_;
    }
    friend constexpr Count operator%(Count a, Count b) {
        if (b.n_ == 0) throw_too_large();
        return a.n_ % b.n_;
    }
    // Exact matches for one side that is a plain number: else the built-in operators would be as good.
    friend constexpr Count operator+(Count a, std::integral auto b) { return a + Count(b); }
    friend constexpr Count operator+(std::integral auto a, Count b) { return Count(a) + b; }
    friend constexpr Count operator-(Count a, std::integral auto b) { return a - Count(b); }
    friend constexpr Count operator-(std::integral auto a, Count b) { return Count(a) - b; }
    friend constexpr Count operator*(Count a, std::integral auto b) { return a * Count(b); }
    friend constexpr Count operator*(std::integral auto a, Count b) { return Count(a) * b; }
    friend constexpr Count operator/(Count a, std::integral auto b) { return a / Count(b); }
    friend constexpr Count operator/(std::integral auto a, Count b) { return Count(a) / b; }
    friend constexpr Count operator%(Count a, std::integral auto b) { return a % Count(b); }
    friend constexpr Count operator%(std::integral auto a, Count b) { return Count(a) % b; }

private:
    static constexpr Count bounded(Count count) {
        if (count.n_ > largest_count || count.n_ < -largest_count) throw_too_large();
        return count;
    }
    static constexpr std::int64_t whole(double x) {
        const auto most = static_cast<double>(largest_count);
        if (!(x >= -most && x <= most)) throw_too_large();  // not so of a NaN either
        return static_cast<std::int64_t>(x);
    }

    std::int64_t n_ = 0;
};

/// The nearest whole number. Throws Error beyond `largest_count`.
Count rounded_count(double x);

/// Throws Error that names the operator `name` where an operand of `op` has more elements than kernels can count in 64 bits.
void require_countable(std::string_view name, const Op& op);

}  // namespace roofcast
