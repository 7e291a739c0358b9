#include <fmt/format.h>

#include "io/toml_reader.hpp"
#include "roofcast/execution.hpp"

namespace roofcast {

namespace {

constexpr std::array<std::string_view, execution_count> execution_names{"eager", "cuda_graph", "compiled", "tensorrt", "fused"};

KernelSet read_kernel_set(TableReader& table) {
    const std::string text = table.text("kernels");
    if (text == "framework") return KernelSet::framework;
    if (text == "engine") return KernelSet::engine;
    if (text == "fused") return KernelSet::fused;
    throw table.error("kernels", "unknown set of kernels", text, "framework, engine or fused",
                      did_you_mean(text, {"framework", "engine", "fused"}));
}

SoftwareStack read_stack(TableReader table, Execution execution) {
    SoftwareStack stack;
    stack.execution = execution;
    stack.kernels = read_kernel_set(table);
    stack.host_per_kernel = table.number("host_us_per_kernel", non_negative) * us;
    stack.host_per_pass = table.number("host_us_per_pass", non_negative) * us;
    stack.device_gap = table.number("device_gap_us", non_negative) * us;
    stack.channels_last = table.flag_if("channels_last").value_or(true);
    stack.fused_attention = table.flag_if("fused_attention").value_or(true);
    stack.memory_overhead = table.number("memory_overhead_mb", non_negative) * mb;
    stack.cold_context = table.number("cold_context_ms", non_negative) * ms;
    stack.cold_per_kernel = table.number("cold_ms_per_kernel", non_negative) * ms;
    stack.source = table.text("source");
    table.finish();
    return stack;
}

}  // namespace

std::string_view name(Execution e) {
    return execution_names[index(e)];
}

std::optional<Execution> parse_execution(std::string_view text) {
    for (std::size_t i = 0; i < execution_count; ++i) {
        if (text == execution_names[i]) return static_cast<Execution>(i);
    }
    return std::nullopt;
}

SoftwareStacks load_software(const std::filesystem::path& gpus_folder) {
    const auto file = gpus_folder / "software.toml";
    const toml::table root = parse_toml_file(file);
    TableReader reader(root, file.string());
    SoftwareStacks stacks;
    for (std::size_t i = 0; i < execution_count; ++i) stacks[i] = read_stack(reader.table(execution_names[i]), static_cast<Execution>(i));
    reader.finish();
    return stacks;
}

}  // namespace roofcast
