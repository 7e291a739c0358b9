#pragma once
/// The forward graph of each transformer family, and of published summaries. See op_graph.hpp for language models.

#include "roofcast/op_graph.hpp"

namespace roofcast {

OpGraph encoder_graph(const Encoder& model, const Run& run, const Lowering& lowering);
OpGraph transformer_xl_graph(const TransformerXl& model, const Run& run, const Lowering& lowering);
OpGraph vit_graph(const Vit& model, const Run& run, const Lowering& lowering);
OpGraph swin_graph(const Swin& model, const Run& run, const Lowering& lowering);
/// The network of a diffusion model, once on each image of the batch.
OpGraph denoiser_graph(const Diffusion& model, const Run& run, const Lowering& lowering);
OpGraph summary_graph(const Summary& model, const Run& run, const Lowering& lowering);

}  // namespace roofcast
