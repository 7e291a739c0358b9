#pragma once
/// Sizes of latent images.

#include "roofcast/op_graph.hpp"

namespace roofcast {

/// `run` whose images are the latent ones. Throws Error unless every level of the network and of the autoencoder halves the image evenly.
Run latent_run(const Diffusion& model, const Run& run);

}  // namespace roofcast
