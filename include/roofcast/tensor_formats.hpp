#pragma once
/// How the tensors of a decoder are stored where not all are stored alike: in files, and by quantizers that mix formats.

#include <array>
#include <cstddef>

#include "roofcast/units.hpp"

namespace roofcast {

/// What a matrix of weights is for.
enum class TensorRole {
    embedding,         ///< of tokens
    head,              ///< LM head
    attention,         ///< queries, keys, values, and other projections of a token mixer but its last one
    attention_output,  ///< the last one
    mlp_up,            ///< gate and up
    mlp_down,
    experts,  ///< all matrices of the routed ones
    shared_up,
    shared_down,  ///< of shared experts
    router
};
inline constexpr std::size_t tensor_role_count = 10;
constexpr std::size_t index(TensorRole role) {
    return static_cast<std::size_t>(role);
}

/// Means over all matrices of one role.
struct RoleFormat {
    double bits = 0;           ///< a weight; 0: there is no such matrix
    double unpack_cycles = 0;  ///< of an SM for a weight, in GEMV kernels of engines that read it packed; 0: the load takes longer
    friend bool operator==(const RoleFormat&, const RoleFormat&) = default;
};

struct TensorFormats {
    std::array<RoleFormat, tensor_role_count> roles{};
    double vector_bits = 0;  ///< norms and biases; 0: `others` has them
    Bytes others{};          ///< tensors without a role
    [[nodiscard]] const RoleFormat& of(TensorRole role) const { return roles[index(role)]; }
    friend bool operator==(const TensorFormats&, const TensorFormats&) = default;
};

}  // namespace roofcast
