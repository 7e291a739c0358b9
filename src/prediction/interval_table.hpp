#pragma once
/// The residual intervals of a set of parameters, by class.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "roofcast/cost_parameters.hpp"

namespace roofcast {

class IntervalTable {
public:
    /// `parameters` must outlive the table.
    explicit IntervalTable(const ParameterSet& parameters);

    /// Interval of the last fit with that provenance that knows `op`. nullptr: none does.
    [[nodiscard]] const ResidualInterval* at(std::string_view op, Provenance provenance) const;

    /// Interval of the most trusted fit that knows `op`, else of the default parameters, else their "all". nullptr: not known.
    [[nodiscard]] const ResidualInterval* most_trusted(std::string_view op) const;

    [[nodiscard]] bool empty() const { return intervals_.empty(); }

private:
    static constexpr std::size_t buckets = 64;
    static constexpr std::int32_t none = -1;
    static std::size_t bucket_of(std::string_view op);

    const std::vector<ResidualInterval>& intervals_;
    std::array<std::int32_t, buckets> last_;  ///< of the intervals in a bucket
    std::vector<std::int32_t> before_;        ///< an interval: the one before it in its bucket
};

}  // namespace roofcast
