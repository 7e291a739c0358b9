#include "cli/option_docs.hpp"

#include <iterator>
#include <sstream>

#include "roofcast/calibration.hpp"
#include "roofcast/measurement.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast::cli {

/// Names of the table, which the folder's other sources use for other things.
namespace option_rows {

std::vector<std::string> known_precisions() {
    std::vector<std::string> names;
    for (const Precision p : all_precisions) names.emplace_back(name(p));
    return names;
}

std::vector<std::string> known_executions() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < execution_count; ++i) names.emplace_back(name(static_cast<Execution>(i)));
    return names;
}

std::vector<std::string> known_topologies() {
    return {pcie_topology_names.begin(), pcie_topology_names.end()};
}

std::vector<std::string> known_operators() {
    std::vector<std::string> names{"model"};
    for (const std::string_view op : measured_operators()) names.emplace_back(op);
    return names;
}

std::vector<std::string> known_policies() {
    return {"baseline", "optimized", "both", "cost", "all"};
}

std::vector<std::string> known_objectives() {
    return {"throughput", "latency", "cost", "energy"};
}

std::vector<std::string> known_rents() {
    return {"on_demand", "spot"};
}

std::vector<std::string> known_shells() {
    return {"bash", "zsh", "fish"};
}

constexpr std::string_view model_and_gpu = "Model and GPU", request = "Request", parallelism = "Parallelism", software = "Software",
                           techniques = "Techniques", load = "Load", engine = "Serving engine", search = "Search", prices = "Prices",
                           costs = "Cost", data = "Data", fit = "Fit", filters = "Filters", output = "Output", arguments = "Arguments",
                           help = "Help";

using enum ValueKind;

constexpr OptionDoc options[] = {
    {"--gpu", "GPU", model_and_gpu, gpus},
    {"--model", "MODEL", model_and_gpu, models},
    {"--architecture", "NAME", model_and_gpu},
    {"--arch-fit", "", model_and_gpu},
    {"--data-dir", "DIR", output, file},
    // Request
    {"--precision", "PRECISION", request, words, known_precisions},
    {"--weights", "FORMAT", request, words, weight_format_names},
    {"--kv", "PRECISION", request, words, known_precisions},
    {"--batch", "N", request},
    {"--prompt", "TOKENS", request},
    {"--generate", "TOKENS", request},
    {"--image-size", "PIXELS", request},
    {"--images", "N", request},
    {"--dim", "NAME=N", request},
    {"--steps", "N", request},
    {"--layout", "LAYOUT", request, words},
    // Parallelism
    {"--gpus", "N", parallelism},
    {"--tp", "N", parallelism},
    {"--pp", "N", parallelism},
    {"--dp", "N", parallelism},
    {"--ep", "N", parallelism},
    {"--attention-dp", "N", parallelism},
    {"--pcie", "TOPOLOGY", parallelism, words, known_topologies},
    // Software
    {"--software", "ENGINE", software, engines},
    {"--execution", "MODE", software, words, known_executions},
    {"--streams", "N", software},
    {"--host-time", "FACTOR", software},
    // Techniques
    {"--cached-prefix", "FRACTION", techniques},
    {"--prefill-chunk", "TOKENS", techniques},
    {"--kv-block", "TOKENS", techniques},
    {"--offload", "FRACTION", techniques},
    {"--draft", "MODEL", techniques, models},
    {"--draft-tokens", "TOKENS", techniques},
    {"--mtp", "TOKENS", techniques},
    {"--acceptance", "FRACTION", techniques},
    // serve-sim, memory, recommend
    {"--rate", "RATE", load},
    {"--trace", "FILE", load, file},
    {"--concurrency", "USERS", load},
    {"--requests", "N", load},
    {"--prompt-cv", "CV", load},
    {"--generate-cv", "CV", load},
    {"--seed", "N", load},
    {"--slo", "LIMITS", load},
    {"--find-rate", "", load},
    {"--slo-share", "FRACTION", load},
    {"--max-seqs", "N", engine},
    {"--max-tokens", "TOKENS", engine},
    {"--context", "TOKENS", engine},
    {"--batching", "POLICY", engine, words},
    {"--chunked-prefill", "SWITCH", engine, words},
    {"--chunk", "TOKENS", engine},
    {"--admission", "POLICY", engine, words},
    {"--block-size", "TOKENS", engine},
    {"--memory-fraction", "FRACTION", engine},
    {"--prefix-cached", "FRACTION", engine},
    // recommend, compare, sweep
    {"--confidence", "LEVEL", search, words},
    {"--budget", "USD", search},
    {"--max-gpus", "N", search},
    {"--allow-quantization", "", search},
    {"--policy", "POLICY", search, words, known_policies},
    {"--objective", "OBJECTIVE", search, words, known_objectives},
    {"--items", "N", search},
    {"--all", "", output},
    {"--top", "ROWS", output},
    {"--shard", "I/N", output},
    {"--threads", "N", output},
    // prices
    {"--usd-per-hour", "USD", prices},
    {"--price", "KIND", prices, words, known_rents},
    {"--provider", "NAME", prices},
    {"--instance", "TEXT", prices},
    {"--date", "DATE", prices},
    {"--purchase-usd", "USD", prices},
    {"--utilization", "FRACTION", costs},
    {"--electricity", "USD", costs},
    {"--pue", "FACTOR", costs},
    {"--host-watts", "WATTS", costs},
    {"--life-years", "YEARS", costs},
    {"--residual", "FRACTION", costs},
    {"--horizon-years", "YEARS", costs},
    // validate, bench, calibrate
    {"--data", "PATH", data, file},
    {"--op", "OPERATOR", data, words, known_operators},
    {"--strict", "", data},
    {"--by", "KEY", output},
    {"--rows", "FILE", output, file},
    {"--worst", "ROWS", output},
    {"--family", "NAME", model_and_gpu, free, nullptr, "calibrate"},
    {"--kernels-only", "", data},
    {"--folds", "N", fit},
    {"--holdout", "FRACTION", fit},
    {"--seed", "N", fit, free, nullptr, "calibrate"},
    {"--evaluations", "N", fit},
    {"--budget", "SECONDS", fit, free, nullptr, "calibrate"},
    {"--stage", "STAGE", fit, words, stage_names},
    {"--from-scratch", "", fit},
    {"--neutral-start", "", fit},
    {"--leave-one-out", "", fit},
    {"--leave-architecture-out", "", fit},
    {"--write", "", output},
    {"--yes", "", output},
    {"--dry-run", "", output},
    {"--summary", "", output},
    {"--by-kind", "", output},
    {"--date", "DATE", output, free, nullptr, "calibrate"},
    // gpu, model, help
    {"--vendor", "NAME", filters},
    {"--architecture", "NAME", filters, free, nullptr, "gpu list"},
    {"--measured", "", filters},
    {"--family", "NAME", filters},
    {"--search", "TEXT", filters},
    {"gpu", "GPU", arguments, gpus},
    {"model", "MODEL", arguments, models},
    {"name", "NAME", arguments},
    {"name", "NAME", arguments, engines, nullptr, "software show"},
    {"file", "FILE", arguments, file},
    {"files", "FILE", arguments, file},
    {"command", "COMMAND", arguments, commands},
    {"shell", "SHELL", arguments, words, known_shells},
    {"--against", "FILE", output, file},
    // every command
    {"--explain", "", output},
    {"--trace", "FILE", output, file, nullptr, "predict"},
    {"--emit", "ENGINE", output},
    {"--format", "FORMAT", output, words},
    {"--output", "FILE", output, file},
    {"--wide", "", output},
    {"--columns", "NAMES", output},
    {"--no-headers", "", output},
    {"--color", "WHEN", output, words},
    {"--no-pager", "", output},
    {"--plot", "FILE", output, file},
    {"--help", "", help},
    {"--version", "", help},
};

const std::vector<std::string_view> groups{arguments, model_and_gpu, data,  request, parallelism, software,      techniques, load, engine,
                                           search,    prices,        costs, fit,     filters,     other_options, output,     help};

}  // namespace option_rows

const OptionDoc* find_option_doc(const CLI::Option& option, std::string_view command) {
    const std::string name = option.get_lnames().empty() ? option.get_name(true) : "--" + option.get_lnames().front();
    const OptionDoc* general = nullptr;
    for (const OptionDoc& doc : option_rows::options) {
        if (doc.name != name) continue;
        if (doc.command == command) return &doc;
        if (doc.command.empty()) general = &doc;
    }
    return general;
}

std::vector<std::string_view> option_groups() {
    return option_rows::groups;
}

std::vector<std::string> choices_of(const CLI::Option& option, const OptionDoc* doc) {
    if (doc != nullptr && doc->words != nullptr) return doc->words();
    const std::string type = option.get_type_name();
    const auto open = type.find('{'), close = type.find('}');
    std::vector<std::string> names;
    if (open == std::string::npos || close == std::string::npos) return names;
    std::istringstream list(type.substr(open + 1, close - open - 1));
    for (std::string one; std::getline(list, one, ',');) names.push_back(one);
    return names;
}

}  // namespace roofcast::cli
