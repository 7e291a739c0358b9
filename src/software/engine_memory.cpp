#include "software/engine_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/identifier.hpp"
#include "roofcast/software.hpp"
#include "software/tables.hpp"

namespace roofcast {

namespace {

constexpr std::string_view fraction_names[] = {"total", "free_at_load", "left", "none"};
constexpr std::string_view layout_names[] = {"groups", "growing", "pools", "sequences"};

template <class Kind, std::size_t count>
Kind read_choice(TableReader& table, std::string_view key, const std::string_view (&names)[count]) {
    const std::string text = table.text(key);
    const auto found = std::find(std::begin(names), std::end(names), text);
    if (found != std::end(names)) return static_cast<Kind>(found - std::begin(names));
    const std::vector<std::string> known(std::begin(names), std::end(names));
    throw table.error(key, "unknown value", text, fmt::format("{}", fmt::join(known, ", ")), did_you_mean(text, known));
}

Bytes mib_of(TableReader& table, std::string_view key) {
    return table.number_if(key, non_negative).value_or(0) * mib;
}

StepDefaults read_step(TableReader& table) {
    constexpr std::int64_t most = std::int64_t{1} << 20;
    StepDefaults step;
    step.from = table.number_if("from_gib", non_negative).value_or(0) * gib;
    step.except = table.texts_if("except");
    step.max_tokens = table.count("max_tokens", 1, most);
    step.max_sequences = table.count("max_sequences", 1, most);
    step.graph_sequences = table.count_if("graph_sequences", 0, most).value_or(0);
    table.finish();
    return step;
}

FractionReserve read_reserve(TableReader table) {
    FractionReserve reserve{.base = mib_of(table, "mib"),
                            .per_token = mib_of(table, "mib_per_token"),
                            .per_graph_sequence = mib_of(table, "mib_per_graph_sequence"),
                            .per_gpu = mib_of(table, "mib_per_gpu"),
                            .least = mib_of(table, "least_mib"),
                            .least_from = table.number_if("least_from_gib", non_negative).value_or(0) * gib,
                            .least_tokens = table.count_if("least_tokens", 1).value_or(1),
                            .least_fraction = table.number_if("least_fraction", {0, 1}).value_or(0)};
    table.finish();
    return reserve;
}

ExpertPadding read_padding(TableReader& table) {
    constexpr std::int64_t most = 4096;
    ExpertPadding padding{.formats = table.texts_if("formats"),
                          .architectures = table.texts_if("architectures"),
                          .hidden = table.count_if("hidden", 1, most).value_or(1),
                          .intermediate = table.count_if("intermediate", 1, most).value_or(1)};
    table.finish();
    return padding;
}

GraphSizes read_sizes_of_graphs(TableReader& table) {
    constexpr std::int64_t most = std::int64_t{1} << 20;
    GraphSizes sizes;
    sizes.from = table.count("from", 1, most);
    sizes.to = table.count("to", sizes.from, most);
    sizes.step = table.count_if("step", 1, most).value_or(1);
    table.finish();
    return sizes;
}

void read_sizes(TableReader& table, EngineMemory& memory) {
    memory.score_copies = table.number_if("score_copies", non_negative).value_or(0);
    memory.stored_scores = table.flag_if("stored_scores").value_or(false);
    memory.splits_scores = table.flag_if("splits_scores").value_or(false);
    memory.step_buffers = mib_of(table, "step_mib");
    memory.context = mib_of(table, "context_mib");
    memory.framework = mib_of(table, "framework_mib");
    memory.communication = mib_of(table, "communication_mib");
    for (TableReader& sizes : table.tables("graph_sizes")) memory.graph_sizes.push_back(read_sizes_of_graphs(sizes));
    memory.graphs = mib_of(table, "graphs_mib");
    memory.graphs_per_layer = mib_of(table, "graphs_mib_per_layer");
    memory.graphs_reserved = table.flag_if("graphs_reserved").value_or(false);
    memory.rope_tables = table.flag_if("rope_tables").value_or(false);
}

void read_cache(TableReader& table, EngineMemory& memory) {
    constexpr std::int64_t largest_block = 65'536;
    memory.layout = read_choice<CacheLayout>(table, "layout", layout_names);
    memory.block_tokens = table.count("block_tokens", 1, largest_block);
    memory.counts_requests = table.flag_if("counts_requests").value_or(false);
    memory.window_fraction = table.number_if("window_fraction", positive_fraction).value_or(1);
    memory.state_fraction = table.number_if("state_fraction", {0, 0.99}).value_or(0);
    memory.state_blocks = table.count_if("state_blocks", 1, 64).value_or(1);
}

EngineMemory read_memory(TableReader& table) {
    EngineMemory memory;
    memory.name = required_identifier(table, "name", table.text("name"));
    memory.source = table.text("source");
    memory.match = table.texts_if("match");
    if (memory.match.empty()) throw table.missing("match", "first words of the software's name");
    static_cast<void>(table.text_if("like"));
    memory.fraction_of = read_choice<FractionOf>(table, "fraction_of", fraction_names);
    memory.fraction = table.number_if("fraction", positive_fraction);
    if (table.has("reserve")) memory.reserve = read_reserve(table.table("reserve"));
    if (memory.fraction_of != FractionOf::none && !memory.fraction && !memory.reserve)
        throw table.missing("fraction", "the default fraction, or a table reserve that it follows from");
    for (TableReader& step : table.tables("steps")) memory.steps.push_back(read_step(step));
    if (memory.steps.empty()) throw table.missing("steps", "default sizes of a step");
    memory.joint_steps = table.flag_if("joint_steps").value_or(false);
    read_sizes(table, memory);
    read_cache(table, memory);
    for (TableReader& padding : table.tables("padding")) memory.padding.push_back(read_padding(padding));
    table.finish();
    return memory;
}

/// The table that `own` is like; nullptr: it stands for itself.
const toml::table* like_of(TableReader& own, const toml::array& tables) {
    const auto like = own.text_if("like");
    if (!like) return nullptr;
    std::vector<std::string> known;
    for (const auto& node : tables) {
        const toml::table& other = *node.as_table();
        if (other.contains("like")) continue;
        known.push_back(other["name"].value_or(std::string()));
        if (known.back() == *like) return &other;
    }
    throw own.error("like", "no such table [[memory]] in this file, or it uses `like` itself", *like,
                    fmt::format("{}", fmt::join(known, ", ")), did_you_mean(*like, known));
}

}  // namespace

std::vector<EngineMemory> read_engine_memory(TableReader& reader, const toml::table& root) {
    std::vector<EngineMemory> all;
    if (reader.tables("memory").empty()) return all;
    const toml::array& tables = *root["memory"].as_array();
    for (const auto& node : tables) {
        const std::string prefix = fmt::format("memory[{}]", all.size());
        TableReader names(*node.as_table(), reader.file(), prefix);
        TableReader table(*node.as_table(), reader.file(), prefix, like_of(names, tables));
        all.push_back(read_memory(table));
    }
    return all;
}

}  // namespace roofcast
