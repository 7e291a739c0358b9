#pragma once
/// What Hugging Face's tools have downloaded on this machine.

#include <filesystem>
#include <optional>
#include <string_view>

namespace roofcast {

/// The config.json of `hub_id` ("ORG/NAME") in the local cache: `HF_HUB_CACHE`, else `HF_HOME`/hub, else `XDG_CACHE_HOME`/huggingface/hub,
/// else ~/.cache/huggingface/hub. The revision of `main`, else the latest one that holds a config.json; nullopt: none does.
std::optional<std::filesystem::path> cached_config(std::string_view hub_id);

}  // namespace roofcast
