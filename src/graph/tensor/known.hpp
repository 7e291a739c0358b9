#pragma once
/// Shapes of a net's tensors in one run, and the values of those that shapes are computed from.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/count.hpp"
#include "roofcast/run.hpp"
#include "roofcast/tensor_net.hpp"

namespace roofcast {

using TensorShape = std::vector<std::int64_t>;

/// What a tensor depends on.
enum class Constancy {
    data,     ///< what the net is given
    shapes,   ///< sizes of what the net is given, and constants
    literal,  ///< constants alone
};

struct KnownTensor {
    TensorShape shape;
    std::optional<std::vector<double>> values;  ///< of small tensors that depend on no data
    ElementType type = ElementType::other;
    Constancy constancy = Constancy::data;
    bool known = false;  ///< the shape is: no unknown operator lies before it, and no data decide it
};

/// Product of the dimensions. Throws Error beyond `largest_count`.
Count elements_of(const TensorShape& shape);

/// Largest tensor whose values are computed: position ids and shapes are shorter.
inline constexpr std::int64_t most_values = 4096;

/// What the symbols of a net are in a run.
class Symbols {
public:
    /// Throws Error that names a symbol of `run.dimensions` that the net lacks.
    Symbols(const TensorNet& net, const Run& run);

    /// The shape that the file states of `tensor`; nullopt: it states none, or has symbols that the run does not set.
    [[nodiscard]] std::optional<TensorShape> shape_of(const Tensor& tensor) const;
    /// Shapes of the inputs. Throws Error that names a symbol which the run leaves open, and the field that sets it.
    [[nodiscard]] std::vector<TensorShape> input_shapes() const;

private:
    [[nodiscard]] std::optional<std::int64_t> size_of(const Dimension& dimension) const;

    const TensorNet& net_;
    std::map<std::string, std::int64_t> sizes_;
};

/// All tensors of the net, by number. Outputs of operators that have no rule are as the file states them. Throws Error that names a symbol
/// that the run leaves open, and the node whose inputs do not fit together.
std::vector<KnownTensor> known_tensors(const TensorNet& net, const Run& run);

}  // namespace roofcast
