#pragma once
/// How parameters are declared: a group of a struct's members with units and bounds.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "roofcast/cost_parameters.hpp"

namespace roofcast {

using Specs = std::vector<ParameterSpec>;

/// One dimensionless or typed member; `access` returns a reference to its base-unit value.
template <class Access>
void add(Specs& specs, std::string key, std::string unit, double scale, double lower, double upper, Transform transform,
         std::string meaning, Access access) {
    specs.push_back({std::move(key), std::move(unit), scale, lower, upper, lower, upper, transform, std::move(meaning), std::move(access)});
}

inline constexpr double micro = us.value, giga = gb_per_s.value, pico = pj_per_flop.value;
inline constexpr auto lin = Transform::linear;
inline constexpr auto log = Transform::log;

/// Adds the parameters of one group: of the struct that `group` returns a reference to.
template <class Group>
class GroupAdder {
public:
    GroupAdder(Specs& specs, std::string prefix, Group group) : specs_(specs), prefix_(std::move(prefix)), group_(std::move(group)) {}

    template <class Member>
    void put(const char* key, const char* unit, double scale, double lower, double upper, Transform t, const char* meaning, Member member) {
        add(specs_, prefix_ + "." + key, unit, scale, lower, upper, t, meaning, [group = group_, member](CostParameters& p) -> double& {
            auto& slot = std::invoke(member, std::invoke(group, p));
            if constexpr (requires { slot.value; }) {
                return slot.value;
            } else {
                return slot;
            }
        });
    }

private:
    Specs& specs_;
    std::string prefix_;
    Group group_;
};

/// Adds parameters of collectives, all-reduces of engines, and copies.
void add_transfers(Specs& specs);

/// Adds parameters of kernels that quantize a tensor or find its scale, by schedule.
void add_quantize(Specs& specs);

/// Adds parameters of causal convolutions, recurrences and hyper-connections.
void add_recurrent(Specs& specs);

/// Adds parameters of sparse attention and its index.
void add_sparse(Specs& specs);

/// Adds time factors of a user's machine. Beyond these bounds it is not a machine with that GPU.
void add_time_factors(Specs& specs);

}  // namespace roofcast
