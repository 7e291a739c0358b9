#pragma once
/// One run as a user writes it: settings by name and text, and the `Run` that they make of a model on a GPU.
///
///     roofcast::RunSettings settings;
///     roofcast::set(settings, "precision", "fp8");
///     roofcast::set(settings, "tp", "8");
///     const roofcast::Run run = roofcast::run_request(settings, model, &gpu.profile);

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "roofcast/error.hpp"
#include "roofcast/gpu_profile.hpp"
#include "roofcast/run.hpp"
#include "roofcast/software.hpp"
#include "roofcast/techniques.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

/// Serving techniques as written; empty: not given.
struct TechniqueSettings {
    std::string cached_prefix, prefill_chunk, kv_block, offload, draft, draft_tokens, acceptance, mtp;
    std::shared_ptr<const Workload> draft_model;  ///< what `draft` stands for, where it was loaded already
};

/// A run as written; empty or absent: not given.
struct RunSettings {
    std::string precision, weights, kv, execution = "cuda_graph";
    std::optional<std::int64_t> batch, images, prompt, generate, image_size, steps, gpus, tensor, pipeline, data, expert, attention_data;
    std::optional<int> streams;  ///< absent: the software's
    double host_time = 1;
    std::string layout, software, pcie;
    std::vector<std::string> dimensions;  ///< NAME=N
    TechniqueSettings techniques;
};

/// One setting by its name, which is that of the command's option with underscores.
struct RunSetting {
    std::string_view name;   ///< "tp"
    std::string_view field;  ///< "parallel.tensor": the key of its errors
    /// Sets it. Throws Error with the key `field` for a value that no run could use.
    void (*set)(RunSettings& settings, const std::string& text, const char* field);
};

/// All of them.
std::span<const RunSetting> run_settings();

/// The name of the setting of a field: "tp" for "parallel.tensor"; nullopt: it has none.
std::optional<std::string> setting_name(std::string_view field);

/// Sets the setting `name`. Throws Error for an unknown name, with the nearest ones, and for a value that no run could use.
void set(RunSettings& settings, std::string_view name, const std::string& text);

/// The request that `settings` make of `workload`. With no precision, the model's own or the nearest that `gpu` has (of 16 bits when it
/// is null). A draft model is looked for in `models_folder`; when that is empty, in the shipped data.
/// Throws Error for unknown names, degrees that do not multiply to the GPUs, and settings that the model has no use for.
Run run_request(const RunSettings& settings, const Workload& workload, const GpuProfile* gpu,
                const std::filesystem::path& models_folder = {});

/// Throws Error for what is no number or out of range, and for a draft model that is unknown or only half described.
Techniques techniques(const TechniqueSettings& settings, const std::filesystem::path& models_folder);

/// The model that the setting `draft` names, found as any model is. Throws Error naming the setting.
std::shared_ptr<const Workload> load_draft(const std::filesystem::path& models_folder, const std::string& id_or_file);

/// Throws Error unless `settings` name no engine or one of `software` that runs their execution mode.
void require_software(const RunSettings& settings, const SoftwareStacks& software);

/// What `precision` int4 means, for those who want weights alone in 4 bits; empty for other runs.
std::string format_note(const Run& request);

/// What a run that names no precision took.
std::string precision_note(const Workload& workload, const GpuProfile& gpu, Precision taken);

/// That no engine is called so, with what was probably meant.
Error unknown_engine(const std::string& key, const std::string& found, const SoftwareStacks& software);

/// Sizes by name of texts NAME=N. Throws Error for other texts and for a name that is given twice.
std::vector<std::pair<std::string, std::int64_t>> given_dimensions(const std::vector<std::string>& texts);

// Throw Error with the nearest of the known names.
Precision required_precision(const std::string& text, const std::string& field);
Execution required_execution(const std::string& text);
WeightFormat required_weights(const std::string& text);
PcieTopology required_pcie(const std::string& text);

}  // namespace roofcast
