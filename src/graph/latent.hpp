#pragma once
/// Sizes of latent images.

#include "roofcast/op_graph.hpp"

namespace roofcast {

/// `shape` whose images are the latent ones. Throws Error unless every level of the network and of the autoencoder halves the image evenly.
RunShape latent_shape(const Diffusion& model, const RunShape& shape);

}  // namespace roofcast
