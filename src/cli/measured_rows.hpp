#pragma once
/// Measured rows as commands ask for them: where they lie, and which profiles their GPUs' names stand for.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "roofcast/measurement.hpp"
#include "roofcast/workload.hpp"

namespace roofcast::cli {

/// The files and folders of `--data`; without any, those that ship.
std::vector<std::filesystem::path> data_paths(const std::vector<std::string>& data, const CommonOptions& common);

/// Names of GPUs in rows, written as people do, and the ids of the profiles that they stand for. Profiles are found by their file, which is
/// not read.
class GpuNames {
public:
    explicit GpuNames(std::filesystem::path gpus_folder) : folder_(std::move(gpus_folder)) {}

    /// A profile that lies elsewhere: its id, name and aliases, and the name of its file, stand for its id before those of others.
    void add(const GpuProfile& profile);
    /// nullopt: no profile has that name.
    const std::optional<std::string>& id(const std::string& name);
    /// What is to be said of an id that a name of several GPUs was taken for; empty: nothing.
    [[nodiscard]] std::string note(const std::string& id) const;
    /// Of all of them.
    [[nodiscard]] std::vector<std::string> notes() const;

private:
    std::optional<std::string> found(const std::string& name);

    std::filesystem::path folder_;
    std::map<std::string, std::optional<std::string>> ids_;
    std::map<std::string, std::string> added_;      ///< ids by what look-ups compare
    std::map<std::string, std::string> ambiguous_;  ///< notes by id
};

/// Gives every row the id of its GPU's profile; rows of GPUs that have none are skipped.
void name_by_profiles(Measurements& rows, GpuNames& names);

/// The shipped models and those of the files that rows name. Rows without a family get that of their model.
std::vector<Workload> workloads_of(std::vector<ModelRow>& rows, const std::filesystem::path& models_folder);

}  // namespace roofcast::cli
