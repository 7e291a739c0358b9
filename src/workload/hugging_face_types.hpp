#pragma once
/// Which reader a config's `model_type` has.

#include <string>
#include <string_view>
#include <vector>

#include "roofcast/workload.hpp"
#include "workload/json_reader.hpp"

namespace roofcast::hugging_face {

struct ModelType {
    std::string_view name;    ///< of the type that is read
    std::string_view family;  ///< as in TOML
    Architecture (*read)(const JsonReader&);
};

/// The type that `config` is read as: by `model_type`; where that is unknown, by the class in `architectures`, else by its keys, and
/// `note` says so. Throws Error where none fits, with the closest known type.
ModelType model_type(const JsonReader& config, std::string& note);

/// The types of decoders.
std::vector<std::string> decoder_types();

/// `keys` of a config less those that change no operator: of training, tokenizers, rotary positions and the library itself.
std::vector<std::string> not_understood(std::vector<std::string> keys);

}  // namespace roofcast::hugging_face
