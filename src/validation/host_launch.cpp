#include <algorithm>
#include <cmath>
#include <utility>

#include "io/toml_reader.hpp"
#include "kernels/work.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"
#include "validation/hosts.hpp"

namespace roofcast {

namespace {

using NamedTimes = std::vector<std::pair<std::string, Seconds>>;

NamedTimes named_times(TableReader table) {
    NamedTimes times;
    for (const auto& key : table.keys()) times.emplace_back(key, table.number(key, non_negative) * us);
    table.finish();
    return times;
}

/// A misspelt precision is an error, as an unknown key is.
std::vector<std::pair<Precision, double>> read_power_fractions(TableReader table) {
    std::vector<std::pair<Precision, double>> fractions;
    for (const auto& key : table.keys()) {
        const auto precision = parse_precision(key);
        if (!precision) throw table.error(key, "unknown precision", {}, "fp32, tf32, fp16, bf16, fp8 or int8");
        fractions.emplace_back(*precision, table.number(key, {0, 1}));
    }
    table.finish();
    return fractions;
}

PowerLoad read_power_load(TableReader& table) {
    const auto time = [&](std::string_view key) { return table.number_if(key, non_negative).value_or(0) * us; };
    PowerLoad load{.burst = time("burst_us"), .pause = time("pause_us")};
    load.least_fraction = table.number_if("least_power_fraction", {0, 1}).value_or(0);
    if (load.least_fraction > 0 && !(load.pause > 0 * s))
        throw table.error("least_power_fraction", "needs pause_us", {}, "pause_us as well");
    return load;
}

HostStack read_stack(TableReader& table) {
    HostStack stack;
    stack.source = table.text("source");
    stack.gpus = table.texts_if("gpus");
    stack.software = table.texts_if("software");
    stack.weights = table.texts_if("weights");
    const std::string launch = table.text_if("launch").value_or("included");
    if (launch != "included" && launch != "excluded") throw table.error("launch", "unknown kind of launch", {}, "included or excluded");
    stack.launch_included = launch == "included";
    stack.around = table.number("around_us", non_negative) * us;
    stack.floor = table.number("floor_us", non_negative) * us;
    stack.power_fractions = read_power_fractions(table.table("power_fractions"));
    stack.power = read_power_load(table);
    stack.floors = named_times(table.table("floors_us"));
    stack.arounds = named_times(table.table("arounds_us"));
    stack.framework_kernels = table.texts_if("framework_kernels");
    stack.split_ungrouped = table.flag_if("split_ungrouped").value_or(true);
    stack.rotated = table.texts_if("rotated");
    stack.repeated = table.texts_if("repeated");
    const std::string reduction = table.text_if("reduction").value_or("k");
    if (reduction != "k" && reduction != "n") throw table.error("reduction", "unknown column of the reduction", reduction, "k or n");
    stack.reduction_in_n = reduction == "n";
    stack.convolved_keys = table.texts_if("convolved_keys");
    stack.ungated_software = table.texts_if("ungated_software");
    for (TableReader& experts : table.tables("ungated_experts")) {
        stack.ungated_experts.push_back({experts.count("hidden", 1), experts.count("intermediate", 1)});
        experts.finish();
    }
    if (contains(stack.ungated_software, "")) throw table.error("ungated_software", "an empty name would match every engine", {}, "names");
    if (stack.ungated_software.empty() != stack.ungated_experts.empty()) {
        const bool experts = stack.ungated_software.empty();
        throw table.error(experts ? "ungated_experts" : "ungated_software", "needs its other key", {},
                          experts ? "ungated_software as well" : "ungated_experts as well");
    }
    table.finish();
    return stack;
}

HostMachine read_machine(TableReader& table) {
    HostMachine machine;
    machine.source = table.text("source");
    machine.gpus = table.texts_if("gpus");
    if (machine.gpus.empty()) throw table.error("gpus", "a machine has GPUs", {}, "their ids");
    machine.software = table.text_if("software").value_or("");
    machine.host_time = table.number("host_time", {least_host_time, most_host_time});
    table.finish();
    return machine;
}

std::optional<Precision> precision_if(TableReader& table, const char* key) {
    const auto text = table.text_if(key);
    if (!text) return std::nullopt;
    if (const auto precision = parse_precision(*text)) return precision;
    throw table.error(key, "unknown precision", *text, "fp8, fp4, bf16, ...");
}

SchedulerSettings read_settings(TableReader table) {
    SchedulerSettings s;
    s.max_sequences = table.count_if("max_sequences");
    s.max_tokens = table.count_if("max_tokens");
    s.poll_steps = table.count_if("poll_steps");
    s.wait_steps = table.count_if("wait_steps");
    s.wait_fraction = table.number_if("wait_fraction", {0, 1});
    s.memory_fraction = table.number_if("memory_fraction", {0.01, 1});
    s.prefix_cached = table.number_if("prefix_cached", {0, 0.99});
    table.finish();
    return s;
}

RowMeaning read_meaning(TableReader& table) {
    RowMeaning meaning;
    meaning.source = table.text_if("source").value_or("");
    meaning.software = table.text_if("software").value_or("");
    if (meaning.source.empty() && meaning.software.empty()) throw table.missing("source", "beginning of the column source, or of software");
    meaning.unversioned = table.flag_if("unversioned").value_or(false);
    meaning.means = table.text_if("means").value_or("");
    meaning.rates_of_whole_calls = table.flag_if("rates_of_whole_calls").value_or(false);
    meaning.models = table.texts_if("models");
    meaning.most_tensor = table.count_if("most_tensor").value_or(0);
    meaning.sequences_as_users = table.flag_if("sequences_as_users").value_or(false);
    meaning.step_prompts = table.number_if("step_prompts", {1, 64}).value_or(0);
    meaning.attention_copies = table.flag_if("attention_copies").value_or(false);
    meaning.mtp = table.count_if("mtp").value_or(0);
    meaning.acceptance = table.number_if("acceptance", {0, 1}).value_or(0);
    meaning.attention_once = table.flag_if("attention_once").value_or(false);
    meaning.gpus = table.texts_if("gpus");
    meaning.prompt_tokens = table.count_if("prompt_tokens").value_or(0);
    meaning.output_tokens = table.count_if("output_tokens").value_or(0);
    meaning.format = precision_if(table, "format");
    meaning.checkpoint = table.text_if("checkpoint").value_or("");
    meaning.kv_precision = precision_if(table, "kv_precision");
    meaning.shortest_lengths = table.number_if("shortest_lengths", {0.01, 1});
    meaning.least_users = table.count_if("least_users").value_or(0);
    if (table.has("scheduler")) meaning.scheduler = read_settings(table.table("scheduler"));
    meaning.multiplied_degrees = table.flag_if("multiplied_degrees").value_or(false);
    meaning.memory_of_tensors = table.flag_if("memory_of_tensors").value_or(false);
    if (const auto layout = table.text_if("layout")) {
        if (*layout != "nhwc" && *layout != "nchw") throw table.error("layout", "unknown layout", *layout, "nhwc or nchw");
        meaning.channels_last = *layout == "nhwc";
    }
    table.finish();
    return meaning;
}

/// Format in which a GEMM's weights are stored; empty for other operators and mixed formats.
std::string_view weight_format(const KernelRow& row) {
    const auto* gemm = std::get_if<Gemm>(&row.op);
    if (gemm == nullptr) return {};
    if (!gemm->unpacks_weights()) return name(gemm->precision);
    if (gemm->weight_bits == 8) return "int8";
    return gemm->weight_bits >= 4 && gemm->weight_bits < 5 ? "int4" : "";  // four bits and the scales of their groups
}

/// What tells a row's host.
struct RowOfHost {
    std::string_view source, gpu, software, weights;
    bool launch_included = false;
};

bool stands_for(const HostStack& stack, const RowOfHost& row) {
    const auto begins = [&](const std::string& name) { return begins_with_words(row.software, name); };
    return stack.source == row.source && stack.launch_included == row.launch_included &&
           (stack.gpus.empty() || contains(stack.gpus, row.gpu)) &&
           (stack.software.empty() || std::any_of(stack.software.begin(), stack.software.end(), begins)) &&
           (stack.weights.empty() || contains(stack.weights, row.weights));
}

const HostStack* closest(const std::vector<HostStack>& stacks, const RowOfHost& row) {
    const auto closeness = [](const HostStack& stack) {
        return (stack.weights.empty() ? 0 : 4) + (stack.software.empty() ? 0 : 2) + (stack.gpus.empty() ? 0 : 1);
    };
    const HostStack* found = nullptr;
    for (const auto& stack : stacks) {
        if (stands_for(stack, row) && (found == nullptr || closeness(stack) > closeness(*found))) found = &stack;
    }
    return found;
}

Seconds by_name(const NamedTimes& times, std::string_view function, std::string_view op_name, Seconds other) {
    for (const std::string_view key : {function, op_name}) {
        for (const auto& [name, time] : times) {
            if (name == key) return time;
        }
    }
    return other;
}

/// Power is averaged over the pauses. Time goes with the root of what it leaves, as voltage falls with the clock. `unthrottled` stands for
/// the time that the GPU is busy.
double power_fraction(const PowerLoad& load, Seconds unthrottled) {
    if (!(load.pause > 0 * s)) return load.fraction;
    return load.fraction * std::max(load.least_fraction, std::sqrt(unthrottled / (unthrottled + load.pause)));
}

}  // namespace

Seconds with_launch(Seconds kernel, const HostLaunch& host) {
    return max(host.floor, kernel + host.around);
}

Seconds with_launch(const KernelCost& kernel, const HostLaunch& host) {
    const Seconds rest = max(kernel.unthrottled - host.power.burst, 0 * s);
    const double fraction = power_fraction(host.power, kernel.unthrottled);
    const Seconds total = max(kernel.unthrottled, kernel.total - (1 - fraction) * kernel.power);
    const double throttled = kernel.unthrottled > 0 * s ? total / kernel.unthrottled : 1;
    return with_launch(kernel.unthrottled - rest + throttled * rest, host);
}

MeasuringHosts load_measuring_hosts(const std::filesystem::path& file) {
    const toml::table document = parse_toml_file(file);
    TableReader reader(document, file.string());
    HostDescriptions hosts;
    std::vector<HostStack>& stacks = hosts.stacks;
    for (auto& table : reader.tables("host")) {
        std::vector<TableReader> variants = table.variants("variant");
        const HostStack host = read_stack(table);
        for (auto& variant : variants) {
            stacks.push_back(read_stack(variant));
            if (stacks.back().software == host.software && stacks.back().gpus == host.gpus && stacks.back().weights == host.weights)
                throw variant.error("gpus", "the variant matches everything that its host matches", {},
                                    "gpus, software or weights of its own");
            if (stacks.back().source != host.source) throw variant.error("source", "not that of the variant's host", {}, host.source);
            if (stacks.back().launch_included != host.launch_included)
                throw variant.error("launch", "not that of the variant's host", {}, host.launch_included ? "included" : "excluded");
        }
        stacks.push_back(host);
    }
    for (auto& table : reader.tables("machine")) hosts.machines.push_back(read_machine(table));
    for (auto& table : reader.tables("rows")) hosts.meanings.push_back(read_meaning(table));
    reader.finish();
    return std::make_shared<const HostDescriptions>(std::move(hosts));
}

const HostStack* host_of(const std::vector<HostStack>& stacks, const KernelRow& row) {
    return closest(stacks, {row.origin.source, row.gpu, row.origin.software, weight_format(row), row.launch_included});
}

const HostStack* host_of(const std::vector<HostStack>& stacks, const ModelRow& row) {
    const std::string weights = row.weights ? name(*row.weights) : std::string(name(*row.precision));
    return closest(stacks, {row.origin.source, row.gpu, row.origin.software, weights, row.block->launch_included});
}

HostLaunch block_launch(const HostStack& host, const MeasuredBlock& block) {
    return {by_name(host.floors, block.function, block.op_name, host.floor),
            by_name(host.arounds, block.function, block.op_name, host.around), host.power};
}

namespace {

PowerLoad power_load(const HostStack& host, const KernelRow& row) {
    PowerLoad load = host.power;
    const auto precision = gemm_precision(row.op);
    for (const auto& [of, fraction] : host.power_fractions) {
        if (of == precision) load.fraction = fraction;
    }
    return load;
}

}  // namespace

HostLaunch host_launch(const MeasuringHosts& hosts, const KernelRow& row) {
    const HostStack* chosen = hosts ? host_of(hosts->stacks, row) : nullptr;
    if (chosen == nullptr) return {};
    return {by_name(chosen->floors, row.function, row.op_name, chosen->floor),
            by_name(chosen->arounds, row.function, row.op_name, chosen->around), power_load(*chosen, row)};
}

}  // namespace roofcast
