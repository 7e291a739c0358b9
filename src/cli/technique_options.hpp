#pragma once
/// Options of serving techniques, part of the run options.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "roofcast/techniques.hpp"

namespace roofcast::cli {

/// As written by the user; empty: not given.
struct TechniqueOptions {
    std::string cached_prefix, prefill_chunk, kv_block, offload, draft, draft_tokens, acceptance, mtp;
    std::shared_ptr<const Workload> draft_model;  ///< what `draft` stands for, where it was loaded already
};

void add_technique_options(CLI::App& command, TechniqueOptions& options);

/// The model that --draft names, found as any model is. Throws Error naming the option.
std::shared_ptr<const Workload> load_draft(const std::filesystem::path& models_folder, const std::string& id_or_file);

/// Throws Error for what is no number or out of range, and for a draft model that is unknown or only half described.
Techniques techniques(const TechniqueOptions& options, const std::filesystem::path& models_folder);

}  // namespace roofcast::cli
