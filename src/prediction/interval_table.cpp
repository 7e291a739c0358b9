#include "prediction/interval_table.hpp"

#include "prediction/interval.hpp"

namespace roofcast {

const ResidualInterval* find_interval(const ParameterSet& parameters, std::string_view op) {
    return IntervalTable(parameters).most_trusted(op);
}

IntervalTable::IntervalTable(const ParameterSet& parameters) : intervals_(parameters.intervals) {
    last_.fill(none);
    before_.reserve(intervals_.size());
    for (const ResidualInterval& interval : intervals_) {
        std::int32_t& last = last_[bucket_of(interval.op)];
        before_.push_back(last);
        last = static_cast<std::int32_t>(before_.size() - 1);
    }
}

std::size_t IntervalTable::bucket_of(std::string_view op) {
    if (op.empty()) return 0;
    const auto code = [](char c) { return static_cast<std::size_t>(static_cast<unsigned char>(c)); };
    return (op.size() + 4 * code(op.front()) + 8 * code(op.back())) % buckets;
}

const ResidualInterval* IntervalTable::at(std::string_view op, Provenance provenance) const {
    for (std::int32_t i = last_[bucket_of(op)]; i != none; i = before_[static_cast<std::size_t>(i)]) {
        const ResidualInterval& interval = intervals_[static_cast<std::size_t>(i)];
        if (interval.provenance == provenance && interval.op == op) return &interval;
    }
    return nullptr;
}

const ResidualInterval* IntervalTable::most_trusted(std::string_view op) const {
    const ResidualInterval* best = nullptr;
    for (std::int32_t i = last_[bucket_of(op)]; i != none; i = before_[static_cast<std::size_t>(i)]) {
        const ResidualInterval& interval = intervals_[static_cast<std::size_t>(i)];
        const bool better = best == nullptr || interval.provenance > best->provenance;
        if (better && interval.provenance != Provenance::cited && interval.op == op) best = &interval;
    }
    if (best != nullptr) return best;
    const bool operators = !op.starts_with("model_") && !op.starts_with("served_") && op != "assembly";
    return operators ? at("all", Provenance::assumed) : nullptr;
}

}  // namespace roofcast
