#include "prediction/interval_table.hpp"

#include <algorithm>

#include "prediction/interval.hpp"

namespace roofcast {

const ResidualInterval* find_interval(const ParameterSet& parameters, std::string_view op) {
    return IntervalTable(parameters).most_trusted(op);
}

const ResidualInterval* IntervalTable::most_trusted(std::string_view op) {
    const ByProvenance& known = of(op);
    for (std::size_t i = known.size(); i-- > 0;) {
        if (known[i] != nullptr && static_cast<Provenance>(i) != Provenance::cited) return known[i];
    }
    return op.starts_with("model_") || op == "assembly" ? nullptr : at("all", Provenance::assumed);
}

const IntervalTable::ByProvenance& IntervalTable::of(std::string_view op) {
    const auto known = std::find_if(known_.begin(), known_.end(), [op](const Known& k) { return k.op == op; });
    if (known != known_.end()) return known->by_provenance;
    ByProvenance found{};
    for (const ResidualInterval& interval : intervals_) {
        if (interval.op == op) found[static_cast<std::size_t>(interval.provenance)] = &interval;
    }
    return known_.emplace_back(Known{op, found}).by_provenance;
}

}  // namespace roofcast
