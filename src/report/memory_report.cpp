#include "report/memory_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "report/charts/charts.hpp"

namespace roofcast {

namespace {

/// "123,456".
std::string with_commas(std::int64_t number) {
    std::string text = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

std::string_view meaning(FractionOf fraction) {
    switch (fraction) {
        case FractionOf::board:
            return "of all memory, for weights, activations and KV cache";
        case FractionOf::free_at_load:
            return "of memory free before loading, for weights and KV cache";
        case FractionOf::left:
            return "of memory that weights and activations leave, for the KV cache";
        case FractionOf::none:
            break;
    }
    return "";
}

Table parts(const NamedMemory& named) {
    const EngineMemoryReport& m = named.memory;
    Table table{.title = fmt::format("{} on {}{}, {}: memory of one GPU", named.model_name,
                                     named.gpus > 1 ? fmt::format("{} × ", named.gpus) : "", named.gpu_name, named.software),
                .columns = {{"part", "part"}, {"gib", "GiB"}, {"percent", "% of GPU"}}};
    const auto add = [&](std::string part, Bytes size) {
        const auto hundredths = [](double value) { return std::round(100 * value) / 100; };  // as logs print them
        table.rows.push_back({std::move(part), hundredths(size.in(gib)), std::round(1000 * (size / m.board)) / 10});
    };
    add(m.padding > Bytes{} ? fmt::format("weights, {:.2f} of padding", m.padding.in(gib)) : "weights", m.weights);
    add("activation peak", m.activations);
    add("framework", m.framework);
    add("KV cache", m.cache);
    if (m.graphs > Bytes{}) add("CUDA graphs", m.graphs);
    add("left over", m.board - m.weights - m.activations - m.framework - m.cache - m.graphs);
    return table;
}

std::string origin(bool given) {
    return given ? "" : " (default)";
}

std::vector<std::string> lines(const NamedMemory& named) {
    const EngineMemoryReport& m = named.memory;
    std::vector<std::string> lines;
    if (!m.fits()) {
        lines.push_back(fmt::format("does not fit: not even one sequence of {} tokens", with_commas(m.context)));
        if (m.largest_context > 0) lines.push_back(fmt::format("largest context: {} tokens", with_commas(m.largest_context)));
        return lines;
    }
    if (m.fraction_of == FractionOf::board) {
        for (std::string& line : log_lines(m)) lines.push_back(std::move(line));
    } else {
        lines.push_back(fmt::format("KV cache: {} tokens", with_commas(m.cache_tokens)));
    }
    lines.push_back(fmt::format("sequences of {} tokens: {}", with_commas(m.context), with_commas(m.sequences)));
    lines.push_back(fmt::format("largest context: {} tokens", with_commas(m.largest_context)));
    return lines;
}

std::vector<std::string> settings(const NamedMemory& named) {
    const EngineMemoryReport& m = named.memory;
    std::vector<std::string> lines;
    if (m.fraction_of != FractionOf::none)
        lines.push_back(fmt::format("fraction {:.4g}{} {}", m.fraction, origin(named.given.fraction.has_value()), meaning(m.fraction_of)));
    lines.push_back(fmt::format("steps of {} tokens{}, {} sequences{}", with_commas(m.max_tokens),
                                origin(named.given.max_tokens.has_value()), with_commas(m.max_sequences),
                                origin(named.given.max_sequences.has_value())));
    lines.push_back(fmt::format("weights {}, KV cache {}; facts of {} in software/engines/", named.weights, named.cache, m.engine));
    return lines;
}

nlohmann::ordered_json as_json(const NamedMemory& named) {
    const EngineMemoryReport& m = named.memory;
    return {{"model", named.model_id},
            {"gpu", named.gpu_id},
            {"software", named.software},
            {"engine", m.engine},
            {"gpus", named.gpus},
            {"weights", named.weights},
            {"kv_precision", named.cache},
            {"memory_fraction", m.fraction_of == FractionOf::none ? nlohmann::ordered_json() : nlohmann::ordered_json(m.fraction)},
            {"max_tokens", m.max_tokens},
            {"max_seqs", m.max_sequences},
            {"context_tokens", m.context},
            {"board_gib", m.board.in(gib)},
            {"weights_gib", m.weights.in(gib)},
            {"padding_gib", m.padding.in(gib)},
            {"activations_gib", m.activations.in(gib)},
            {"framework_gib", m.framework.in(gib)},
            {"graphs_gib", m.graphs.in(gib)},
            {"kv_cache_gib", m.cache.in(gib)},
            {"kv_cache_tokens", m.cache_tokens},
            {"concurrency", m.concurrency},
            {"sequences", m.sequences},
            {"largest_context", m.largest_context},
            {"fits", m.fits()},
            {"remedies", named.remedies}};
}

Table as_row(const std::vector<NamedMemory>& all) {
    Table table;
    for (const NamedMemory& named : all) {
        std::vector<Cell> row;
        const nlohmann::ordered_json object = as_json(named);
        for (const auto& [key, value] : object.items()) {
            if (key == "remedies") continue;
            if (table.rows.empty()) table.columns.push_back({key, key});
            if (value.is_string())
                row.emplace_back(value.get<std::string>());
            else if (value.is_boolean())
                row.emplace_back(value.get<bool>());
            else if (value.is_number_integer())
                row.emplace_back(value.get<std::int64_t>());
            else if (value.is_number())
                row.emplace_back(value.get<double>());
            else
                row.emplace_back();
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

}  // namespace

std::vector<std::string> log_lines(const EngineMemoryReport& memory) {
    return {fmt::format("GPU KV cache size: {} tokens", with_commas(memory.cache_tokens)),
            fmt::format("Maximum concurrency for {} tokens per request: {:.2f}x", with_commas(memory.context), memory.concurrency)};
}

Report memory_report(const std::vector<NamedMemory>& all) {
    Report report;
    report.document["engines"] = nlohmann::ordered_json::array();
    for (const NamedMemory& named : all) {
        report.document["engines"].push_back(as_json(named));
        report.tables.push_back(parts(named));
        const std::string prefix = all.size() > 1 ? fmt::format("{} on {}: ", named.model_id, named.gpu_id) : std::string();
        for (const std::string& line : lines(named)) report.after.push_back(prefix + line);
        for (const std::string& remedy : named.remedies) report.after.push_back(fmt::format("{}would fit: {}", prefix, remedy));
        for (const std::string& line : settings(named)) report.after.push_back(prefix + line);
    }
    report.csv = as_row(all);
    report.charts = memory_charts(all);
    return report;
}

}  // namespace roofcast
