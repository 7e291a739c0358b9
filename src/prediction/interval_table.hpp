#pragma once
/// The residual intervals of a set of parameters, by class: each class is searched for once.

#include <array>
#include <string_view>
#include <vector>

#include "roofcast/cost_parameters.hpp"

namespace roofcast {

class IntervalTable {
public:
    /// `parameters` must outlive the table, and texts that it is asked for must.
    explicit IntervalTable(const ParameterSet& parameters) : intervals_(parameters.intervals) {}

    /// Of fits with that provenance the last that knows `op`. nullptr: none does.
    const ResidualInterval* at(std::string_view op, Provenance provenance) { return of(op)[static_cast<std::size_t>(provenance)]; }

    /// Of the most trusted fit that knows `op`, else of the hand values; their "all" when nobody knows it. nullptr: nothing is known.
    const ResidualInterval* most_trusted(std::string_view op);

    [[nodiscard]] bool empty() const { return intervals_.empty(); }

private:
    using ByProvenance = std::array<const ResidualInterval*, static_cast<std::size_t>(Provenance::user_fit) + 1>;
    struct Known {
        std::string_view op;
        ByProvenance by_provenance;
    };

    /// Valid until the next call.
    const ByProvenance& of(std::string_view op);

    const std::vector<ResidualInterval>& intervals_;
    std::vector<Known> known_;
};

}  // namespace roofcast
