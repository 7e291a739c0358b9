#pragma once
/// Reads the architecture of convolutional nets and detectors from TOML. The format is in docs/reference/models.md.

#include "io/toml_reader.hpp"
#include "roofcast/workload.hpp"
#include "workload/net_blocks.hpp"

namespace roofcast {

/// Reads the keys of families `cnn` and `detector`. Throws Error on a wrong value, an unknown block or an unknown option of a block.
/// `library`: blocks of other files.
ConvNet read_convnet(TableReader& reader, BlockLibrary& library);

/// Reads the keys of family `diffusion`, whose networks are such nets.
Diffusion read_diffusion(TableReader& reader, BlockLibrary& library);

}  // namespace roofcast
