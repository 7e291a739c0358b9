#pragma once
/// Shipped measurements with their predictions, as `roofcast validate` makes them.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "roofcast/validation.hpp"

namespace roofcast::test {

class Measured {
public:
    explicit Measured(const std::vector<std::filesystem::path>& files);
    Measured(const Measured&) = delete;
    Measured& operator=(const Measured&) = delete;
    ~Measured() = default;

    [[nodiscard]] const Measurements& measurements() const { return measurements_; }
    [[nodiscard]] const Validation& validation() const { return validation_; }
    [[nodiscard]] std::vector<AccuracyGroup> by(const std::vector<GroupKey>& keys) const {
        return group_by(validation_, measurements_, keys);
    }

private:
    std::map<std::string, Gpu> gpus_;
    Measurements measurements_;
    Validation validation_;
};

/// The group with these values; its absence fails the test.
const AccuracyGroup& group_of(const std::vector<AccuracyGroup>& groups, const std::vector<std::string>& values);

}  // namespace roofcast::test
