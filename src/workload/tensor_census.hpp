#pragma once
/// Sums of a file's tensors by what they are for.

#include <array>
#include <optional>
#include <string>

#include "roofcast/tensor_formats.hpp"

namespace roofcast {

/// One tensor of a file: weights that it stands for, and what it takes.
struct FileTensor {
    std::optional<TensorRole> role{};  ///< absent: of none that `TensorFormats` tells apart
    double weights = 0;
    Bytes bytes{};
    double unpack_cycles = 0;  ///< of `RoleFormat`
};

class TensorCensus {
public:
    void add(const FileTensor& tensor);
    [[nodiscard]] double weights(TensorRole role) const { return roles_[index(role)].weights; }
    [[nodiscard]] double parameters() const { return parameters_; }  ///< of all tensors
    [[nodiscard]] Bytes bytes() const { return bytes_; }
    /// Mean bits of all weights that have a role; 0: none has.
    [[nodiscard]] double mean_bits() const;
    /// An LM head that is not there is the embedding.
    [[nodiscard]] TensorFormats formats() const;

private:
    struct Sum {
        double weights = 0, unpack_cycles = 0;
        Bytes bytes{};
    };
    std::array<Sum, tensor_role_count> roles_{};
    Bytes others_{}, bytes_{};
    double parameters_ = 0;
};

}  // namespace roofcast
