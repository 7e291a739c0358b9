#pragma once
/// The machines and sources that measured, as `software/hosts.toml` describes them.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "roofcast/validation.hpp"

namespace roofcast {

inline bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Experts that a model has without a gate, which rows do not say: known by their size.
struct UngatedExperts {
    std::int64_t hidden = 0, intermediate = 0;
};

/// One measuring host: software stack and, where it is known to differ, GPU and format of weights.
struct HostStack {
    std::string source;                 ///< of the measurements
    std::vector<std::string> gpus;      ///< that it stands for; empty: any
    std::vector<std::string> software;  ///< beginnings of the names of software that it stands for; empty: any
    std::vector<std::string> weights;   ///< formats of weights, of GEMMs or blocks, that it stands for; empty: any
    bool launch_included = true;        ///< of the rows that it stands for
    Seconds around, floor;
    PowerLoad power;                                               ///< of rows in no format of `power_fractions`
    std::vector<std::pair<Precision, double>> power_fractions;     ///< PowerLoad::fraction of GEMMs in these precisions
    std::vector<std::pair<std::string, Seconds>> floors, arounds;  ///< by function or op, overriding `floor` and `around`
    std::vector<std::string> rotated;                              ///< ops whose cold rows take weights from copies in turn
    std::vector<std::string> repeated;                             ///< ops whose cold rows are calls on the same operands
    std::vector<std::string> framework_kernels;                    ///< functions or ops of blocks whose norms are a framework's kernels
    bool split_ungrouped = true;                                   ///< its engine splits keys over blocks in ungrouped attention too
    bool reduction_in_n = false;                                   ///< column n of its gemm rows holds k, and k the columns of the GEMM
    std::vector<std::string> convolved_keys;                       ///< beginnings of names of engines whose rows convolve keys alone
    std::vector<std::string> ungated_software;                     ///< beginnings of the names of engines that run the next without a gate
    std::vector<UngatedExperts> ungated_experts;
};

/// A machine that ran whole models: how fast its host is, apart from its GPU and from the software.
struct HostMachine {
    std::string source;             ///< beginning of the names of the sources that measured on it
    std::vector<std::string> gpus;  ///< in it
    std::string software;           ///< beginning of the names of software that it stands for; empty: any
    double host_time = 1;           ///< Run::host_time
};

/// What rows of whole models mean that their columns do not say, by the beginnings of their source and software; empty: any.
struct RowMeaning {
    std::string source, software;
    std::vector<std::string> models, gpus;                               ///< of the rows that it stands for; empty: any
    std::int64_t prompt_tokens = 0, output_tokens = 0, most_tensor = 0;  ///< the same, and tensor-parallel GPUs at most; 0: any
    std::optional<Precision> format;                                     ///< of the checkpoint of these rows; absent: any
    bool unversioned = false;                                            ///< stands for rows whose software is these words alone
    std::string means;                                                   ///< software in place of the row's; empty: as the row says
    bool rates_of_whole_calls = false;                                   ///< rates of phase decode count the time of the prompt
    bool memory_of_tensors = false;                                      ///< memory is that of tensors, without a context and libraries
    std::optional<bool> channels_last{};                                 ///< layout of images
    std::string checkpoint;                                              ///< model in place of the row's; empty: as the row says
    std::optional<Precision> kv_precision{};                             ///< of the KV cache where the row does not say
    std::optional<double> shortest_lengths{};                            ///< ServedLoad::shortest
    std::int64_t least_users = 0;                                        ///< of the served rows that it stands for
    SchedulerSettings scheduler;                                         ///< what the engine was set to, where the row does not say
    bool sequences_as_users = false;                                     ///< the engine was set to as many sequences as there are users
    double step_prompts = 0;          ///< prompts that fit a step, where the row does not say; 0: as `scheduler`
    bool attention_copies = false;    ///< stands for rows whose attention is copied
    std::int64_t mtp = 0;             ///< tokens that the model's own module proposes; 0: none
    double acceptance = 0;            ///< of these
    bool attention_once = false;      ///< attention is not copied, whatever the row says
    bool multiplied_degrees = false;  ///< degrees of expert parallelism are multiplied into the others
};

/// All of `software/hosts.toml`.
struct HostDescriptions {
    std::vector<HostStack> stacks;  ///< each host, after its variants
    std::vector<HostMachine> machines;
    std::vector<RowMeaning> meanings;
};

/// The host that measured `row`: one of its weights' format before one of its GPU, and that before one of any; nullptr when none stands
/// for it.
const HostStack* host_of(const std::vector<HostStack>& stacks, const KernelRow& row);

/// The same for a row's attention block, and what the CPU adds to the time of its work.
const HostStack* host_of(const std::vector<HostStack>& stacks, const ModelRow& row);
HostLaunch block_launch(const HostStack& host, const MeasuredBlock& block);

}  // namespace roofcast
