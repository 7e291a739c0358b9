#include "report/software_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofcast {

namespace {

std::string modes_of(const Engine& engine) {
    std::vector<std::string_view> modes;
    for (const Execution mode : engine.executions) modes.push_back(name(mode));
    return fmt::format("{}", fmt::join(modes, ", "));
}

std::string versions_of(const Engine& engine) {
    return engine.versions ? fmt::format("{} to {}", engine.versions->first, engine.versions->last) : std::string();
}

/// Some are known by the source of a measurement, in brackets, which nobody types.
std::vector<std::string> typed_names(const Engine& engine) {
    std::vector<std::string> names;
    for (const std::string& match : engine.match) {
        if (match.find('(') == std::string::npos) names.push_back(match);
    }
    return names;
}

Table keys_of(const SoftwareStack& stack, std::string title) {
    static const std::vector<SoftwareKeyInfo> infos = software_keys();
    Table table{.title = std::move(title),
                .columns = {{"key", "key", 4, Show::always},
                            {"value", "value", 4, Show::always, true},
                            {"unit", "unit"},
                            {"meaning", "meaning", 4, Show::wide, true}},
                .rows = {}};
    for (const auto& stated : stated_keys(stack)) {
        const auto info = std::find_if(infos.begin(), infos.end(), [&stated](const SoftwareKeyInfo& i) { return i.name == stated.first; });
        table.rows.push_back({std::string(stated.first), stated.second, std::string(info->unit), std::string(info->meaning)});
    }
    if (stack.all_reduce)
        table.rows.push_back({"all_reduce", stack.all_reduce->name, "", "library whose kernels run all-reduces; absent: the vendor's"});
    for (const auto& family : stack.families)
        table.rows.push_back(
            {"families", family->name, "", "kernel family: the first fitted on the GPU's architecture that takes an operator"});
    return table;
}

nlohmann::ordered_json document_of(const SoftwareStack& stack, const Table& keys) {
    nlohmann::ordered_json document{{"name", stack.name}, {"execution", name(stack.execution)}, {"source", stack.source}};
    document["keys"] = as_json(keys);
    return document;
}

}  // namespace

Report software_list_report(const SoftwareStacks& software) {
    Table table{.title = "",
                .columns = {{"family", "family", 4, Show::always},
                            {"name", "name", 4, Show::always},
                            {"versions", "versions", 4, Show::always},
                            {"execution", "execution modes"}},
                .rows = {}};
    Report report;
    for (const Engine& engine : software.engines) {
        const std::vector<std::string> names = typed_names(engine);
        table.rows.push_back({engine.family, engine.stack.name, versions_of(engine), modes_of(engine)});
        report.document["software"].push_back({{"family", engine.family},
                                               {"name", engine.stack.name},
                                               {"versions", versions_of(engine)},
                                               {"execution", modes_of(engine)},
                                               {"software", names}});
    }
    report.tables.push_back(std::move(table));
    report.after.emplace_back("`roofcast software show NAME` prints what an engine or an execution mode does and what it costs.");
    return report;
}

Report software_report(const std::vector<const Engine*>& chosen) {
    Report report;
    report.document["software"] = nlohmann::ordered_json::array();
    for (const Engine* engine : chosen) {
        Table keys = keys_of(engine->stack, fmt::format("{} ({}), family {}", engine->stack.name, modes_of(*engine), engine->family));
        report.document["software"].push_back(document_of(engine->stack, keys));
        report.tables.push_back(std::move(keys));
        report.after.push_back(fmt::format("{}: {}", engine->stack.name, engine->stack.source));
    }
    return report;
}

Report software_report(const SoftwareStack& mode) {
    Report report;
    Table keys = keys_of(mode, fmt::format("{} (execution mode)", mode.name));
    report.document["software"] = nlohmann::ordered_json::array({document_of(mode, keys)});
    report.tables.push_back(std::move(keys));
    report.after.push_back(mode.source);
    return report;
}

Report software_keys_report() {
    Table table{.title = "",
                .columns = {{"key", "key", 4, Show::always},
                            {"unit", "unit"},
                            {"default", "default", 4, Show::always},
                            {"meaning", "meaning", 4, Show::always, true}},
                .rows = {}};
    for (const SoftwareKeyInfo& key : software_keys())
        table.rows.push_back({std::string(key.name), std::string(key.unit),
                              key.required           ? "required"
                              : key.fallback.empty() ? "absent"
                                                     : key.fallback,
                              std::string(key.meaning)});
    Report report;
    report.document["keys"] = as_json(table);
    report.tables.push_back(std::move(table));
    return report;
}

}  // namespace roofcast
