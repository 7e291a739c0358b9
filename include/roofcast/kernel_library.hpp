#pragma once
/// Kernel libraries of engines, other than the vendor's: which kernels exist, what they accept and their own facts.
/// Facts of `software/libraries/`, one TOML a library.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/library_facts.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

/// How an all-reduce among n GPUs moves a message of S bytes over a GPU's link, one direction.
enum class AllReduceAlgorithm {
    one_shot,  ///< each rank reads the messages of all others: (n − 1)·S
    two_shot,  ///< each rank adds up its part, then gathers the others': 2·(n − 1)/n·S
    multicast  ///< NVLink's switches add and spread: (n + 1)/n·S
};
std::string_view name(AllReduceAlgorithm algorithm);

/// A compute capability, or all of one major version.
struct CapabilityPattern {
    int major = 0;
    std::optional<int> minor{};
};

/// One case that an all-reduce kernel is for: all that is stated holds.
struct AllReduceCase {
    std::vector<std::int64_t> gpus{};             ///< any of these; empty: any number
    std::vector<CapabilityPattern> capability{};  ///< any of these; empty: any GPU
    std::optional<Bytes> least, most;             ///< bounds of the message, both included
    std::optional<bool> nvlink{};                 ///< NVLink joins all ranks, or does not
};

struct AllReduceKernel {
    std::string name;  ///< the library's, as profilers show it
    AllReduceAlgorithm algorithm = AllReduceAlgorithm::one_shot;
    std::vector<AllReduceCase> accepts;  ///< any of these
    double rounds = 1;                   ///< flags that ranks wait for, one after the other
    double rounds_per_peer = 0;          ///< the same for each peer beyond the first
    double link_rate = 1;                ///< of the link rate that one-shot kernels reach; of multicast, as is
    int copies = 0;                      ///< kernels that copy the message into shared memory before, and out of it after
    std::string source;
};

struct GpuProfile;
struct KernelFamily;

/// Facts that hold on some chips: a table `[[facts]]` of a library, or `[[attention]]` of `software/libraries.toml`.
struct LibraryFactsTable {
    std::string source;
    std::vector<std::string> architectures;
    std::vector<CapabilityPattern> capability{};  ///< any of these; empty: all of those architectures
    LibraryFacts values{};
    /// One for each key of the table, which says nothing of others: copies that fact.
    std::vector<void (*)(const LibraryFacts& from, LibraryFacts& to)> stated{};
};

struct KernelLibrary {
    std::string name;
    std::vector<std::string> kernels;            ///< what the column `kernel` of measurements calls it
    std::vector<std::string> software;           ///< first words of the column `software` that those rows must have; empty: any
    std::vector<std::string> called_directly{};  ///< first words of that column where nothing but the library was called
    std::vector<std::shared_ptr<const KernelFamily>> families{};
    std::vector<NamedAttention> attention{};  ///< designs of its fused kernels
    std::vector<LibraryFactsTable> facts{};   ///< where several state a key for a chip, the last one holds
    std::vector<AllReduceKernel> all_reduce;  ///< in the library's order: the first that accepts a message runs, NCCL where none does
};
using KernelLibraries = std::vector<std::shared_ptr<const KernelLibrary>>;

/// All libraries of `folder`, sorted by name; none when the folder does not exist. Throws Error naming file, line and key.
KernelLibraries load_kernel_libraries(const std::filesystem::path& folder);

/// Facts of `tables` on `gpu`, later ones over earlier; a profile without a compute capability has its architecture's default one.
LibraryFacts facts_on(const GpuProfile& gpu, std::span<const LibraryFactsTable> tables);

/// The library of that name. nullptr when there is none.
std::shared_ptr<const KernelLibrary> find_library(const KernelLibraries& libraries, std::string_view name);

/// The library whose kernels a row of measurements names: of those that list `kernel`, the one with the longest `software` that the row's
/// begins with. nullptr when there is none.
std::shared_ptr<const KernelLibrary> measured_library(const KernelLibraries& libraries, std::string_view kernel, std::string_view software);

}  // namespace roofcast
