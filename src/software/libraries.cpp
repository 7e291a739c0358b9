#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/files_in.hpp"
#include "io/identifier.hpp"
#include "io/toml_reader.hpp"
#include "roofcast/error.hpp"
#include "roofcast/kernel_library.hpp"
#include "software/attention_designs.hpp"
#include "software/families.hpp"
#include "software/library_facts.hpp"

namespace roofcast {

namespace {

constexpr std::array<std::string_view, 3> algorithm_names{"one_shot", "two_shot", "multicast"};

AllReduceAlgorithm read_algorithm(TableReader& table) {
    const std::string text = table.text("algorithm");
    const auto* found = std::find(algorithm_names.begin(), algorithm_names.end(), text);
    if (found != algorithm_names.end()) return static_cast<AllReduceAlgorithm>(found - algorithm_names.begin());
    const std::vector<std::string> known(algorithm_names.begin(), algorithm_names.end());
    throw table.error("algorithm", "unknown algorithm of an all-reduce", text, fmt::format("{}", fmt::join(known, ", ")),
                      did_you_mean(text, known));
}

AllReduceCase read_case(TableReader& table) {
    AllReduceCase stated;
    constexpr std::int64_t fewest = 2, most_gpus = 1024;
    stated.gpus = table.counts_if("gpus", fewest, most_gpus);
    stated.capability = read_capabilities(table, "capability");
    if (const auto least = table.count_if("bytes_from")) stated.least = static_cast<double>(*least) * byte;
    if (const auto most = table.count_if("bytes_most")) stated.most = static_cast<double>(*most) * byte;
    if (const auto below = table.count_if("bytes_below", 2)) {
        if (stated.most) throw table.error("bytes_below", "cannot be combined with bytes_most", {}, "one of them");
        stated.most = static_cast<double>(*below - 1) * byte;
    }
    if (stated.least && stated.most && *stated.least > *stated.most)
        throw table.error("bytes_from", "bytes_from exceeds the upper bound", {}, "at most the upper bound of the message");
    stated.nvlink = table.flag_if("nvlink");
    table.finish();
    return stated;
}

AllReduceKernel read_all_reduce(TableReader& table, const std::string& source) {
    AllReduceKernel kernel;
    kernel.name = table.text("name");
    kernel.algorithm = read_algorithm(table);
    constexpr double most_rounds = 20, most_rate = 4;
    constexpr std::int64_t most_copies = 4;
    kernel.rounds = table.number("rounds", {0, most_rounds});
    kernel.rounds_per_peer = table.number_if("rounds_per_peer", {0, most_rounds}).value_or(0);
    kernel.link_rate = table.number_if("link_rate", {0, most_rate, true}).value_or(1);
    kernel.copies = static_cast<int>(table.count_if("copies", 0, most_copies).value_or(0));
    kernel.source = table.text_if("source").value_or(source);
    for (TableReader& stated : table.tables("accepts")) kernel.accepts.push_back(read_case(stated));
    if (kernel.accepts.empty()) throw table.missing("accepts", "messages that the kernel is for, such as [{ gpus = [2] }]");
    table.finish();
    return kernel;
}

KernelLibrary read_library(const std::filesystem::path& file) {
    const toml::table root = parse_toml_file(file);
    TableReader table(root, file.string());
    KernelLibrary library;
    library.name = required_identifier(table, "name", table.text("name"));
    if (library.name != file.stem().string()) throw table.error("name", "differs from the file name", library.name, file.stem().string());
    library.kernels = table.texts_if("kernels");
    library.software = table.texts_if("software");
    library.called_directly = table.texts_if("called_directly");
    const std::string source = table.text("source");
    library.attention = read_attention_designs(table, source);
    for (TableReader& facts : table.tables("facts")) library.facts.push_back(read_library_facts(facts, source, library.attention));
    for (TableReader& family : table.tables("family")) library.families.push_back(read_family(family, source, library.attention));
    for (TableReader& kernel : table.tables("all_reduce")) library.all_reduce.push_back(read_all_reduce(kernel, source));
    table.finish();
    return library;
}

/// Letters of the longest first words that `software` begins with; 0 where any will do, nothing where none is.
std::optional<std::size_t> matched(const KernelLibrary& library, std::string_view software) {
    if (library.software.empty()) return 0;
    std::optional<std::size_t> longest;
    for (const std::string& words : library.software) {
        if (begins_with_words(software, words)) longest = std::max(longest.value_or(0), words.size());
    }
    return longest;
}

}  // namespace

std::string_view name(AllReduceAlgorithm algorithm) {
    return algorithm_names[static_cast<std::size_t>(algorithm)];
}

KernelLibraries load_kernel_libraries(const std::filesystem::path& folder) {
    KernelLibraries libraries;
    for (const auto& file : files_in(folder, ".toml")) libraries.push_back(std::make_shared<const KernelLibrary>(read_library(file)));
    return libraries;
}

std::shared_ptr<const KernelLibrary> find_library(const KernelLibraries& libraries, std::string_view name) {
    const auto found = std::find_if(libraries.begin(), libraries.end(), [&](const auto& library) { return library->name == name; });
    return found == libraries.end() ? nullptr : *found;
}

std::shared_ptr<const KernelLibrary> measured_library(const KernelLibraries& libraries, std::string_view kernel,
                                                      std::string_view software) {
    std::shared_ptr<const KernelLibrary> found;
    std::optional<std::size_t> longest;
    for (const auto& library : libraries) {
        if (std::find(library->kernels.begin(), library->kernels.end(), kernel) == library->kernels.end()) continue;
        const auto length = matched(*library, software);
        if (!length || (longest && *length <= *longest)) continue;
        longest = length;
        found = library;
    }
    return found;
}

}  // namespace roofcast
