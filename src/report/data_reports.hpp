#pragma once
/// What commands on data files and measurements print, in all formats: GPUs, models, software, accuracy, calibration, benchmarks.

#include <string>
#include <vector>

#include "document/field.hpp"
#include "roofcast/accuracy.hpp"
#include "roofcast/bench.hpp"
#include "roofcast/calibration.hpp"
#include "roofcast/gpu_profile.hpp"
#include "roofcast/run.hpp"
#include "roofcast/software.hpp"
#include "roofcast/validation.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

// ---- GPUs, models, software -----------------------------------------------------------------------------------------------------

/// One line a GPU: size, bandwidth, main peaks, power, and which of its values are assumed.
Report gpu_list_report(const std::vector<GpuProfile>& gpus);

/// All there is about one GPU: facts, precisions, prices, parameters; assumed values marked.
Report gpu_report(const Gpu& gpu);

/// Findings of one profile.
struct CheckedProfile {
    GpuProfile gpu;
    std::vector<ProfileFinding> findings;
};

/// A file beside the profiles that was read and found in order.
struct CheckedFile {
    std::string file;
    std::string kind;         ///< fit, architecture, software, prices or providers
    std::size_t entries = 0;  ///< parameters; execution modes and engines; rows
};

/// One line a finding.
Report gpu_check_report(const std::vector<CheckedProfile>& checked, const std::vector<CheckedFile>& files);

/// Findings that no `[explained]` entry gives a reason for.
std::size_t unexplained(const std::vector<CheckedProfile>& checked);

/// One line a model: parameters, multiply-adds, agreement with published figures.
Report model_list_report(const std::vector<Workload>& workloads);

/// One model: totals, operators at its default shape or at what `sizes` sets, weights by precision.
Report model_report(const Workload& workload, const Run& sizes = {});

/// One line an engine, by family.
Report software_list_report(const SoftwareStacks& software);

/// Keys that `chosen` states, beside what its execution mode has; one table an engine.
Report software_report(const std::vector<const Engine*>& chosen);
/// The same of an execution mode.
Report software_report(const SoftwareStack& mode);

/// All keys with units, meanings and values of tables without them.
Report software_keys_report();

// ---- accuracy -------------------------------------------------------------------------------------------------------------------

/// What is known of one GPU's accuracy, and what was asked.
struct NamedAccuracy {
    std::string gpu, name, architecture;  ///< id, full name, and the architecture whose fit predicts it
    std::string model;                    ///< id; empty: all kinds of work
    std::string models;                   ///< file of that model in models/, without its ending
    std::string engine;                   ///< family; empty: all
    ExpectedAccuracy accuracy;
};

/// For each GPU the errors to expect by kind of work, those of served loads and memory by engine, and those of the model's family.
Report accuracy_report(const std::vector<NamedAccuracy>& gpus);

/// Accuracy by GPU and operator class as fit files state it: GPUs measured and GPUs never measured apart.
Report fit_summary_report(const std::vector<FitSummary>& fits);

/// The same in one row a kind of work, weighted by rows: cross-validated where the GPU was measured, and with each GPU left out.
Report accuracy_by_kind_report(const std::vector<FitSummary>& fits);

struct ValidationReportOptions {
    std::vector<GroupKey> by{GroupKey::gpu, GroupKey::op, GroupKey::precision};
    std::size_t worst = 10;         ///< rows listed with their predicted terms
    std::size_t listed_skips = 20;  ///< reasons in the text table, most frequent first; JSON has all that are kept
};

/// Accuracy by group with the data-sheet roofline beside it, the worst rows, what was set aside and what was skipped.
Report validation_report(const Validation& validation, const Measurements& measurements, const ValidationReportOptions& options);

/// CSV of every judged row: what it is, measured, predicted, roofline, error, and the terms of the prediction.
std::string rows_csv(const Validation& validation, const Measurements& measurements);

// ---- calibration and benchmarks -------------------------------------------------------------------------------------------------

/// A fit and the file that it is for.
struct NamedFit {
    std::string title;  ///< "v100-pcie-32gb", "architecture volta"
    std::string file;
    bool written = false;
    Fit fit;
    std::string how_to_write{};  ///< how the user gets it into `file`, said where it is not written; empty: nothing is said
};

/// Accuracy, stages, parameters and what was dropped, of each fit.
Report calibration_report(const std::vector<NamedFit>& fits);

/// Accuracy on GPUs that a fit did not see.
Report left_out_report(const std::vector<LeftOutGpu>& left_out);

/// Benchmark results of others: a row a series. There can be many: the document is made only where `wanted` has it.
Report bench_summary_report(const BenchData& data, Format wanted);

/// A row for each work and contestant, and a summary a contestant.
Report bench_comparison_report(const BenchComparison& comparison, const SkippedRows& skipped);

}  // namespace roofcast
