#include <fmt/format.h>

#include <algorithm>

#include "document/field.hpp"
#include "report/data_reports.hpp"

namespace roofcast {

namespace {

std::string modes_of(const Engine& engine) {
    std::vector<std::string_view> modes;
    for (const Execution mode : engine.executions) modes.push_back(name(mode));
    return fmt::format("{}", fmt::join(modes, ", "));
}

/// Some are known by the source of a measurement, in brackets, which nobody types.
std::vector<std::string> typed_names(const Engine& engine) {
    std::vector<std::string> names;
    for (const std::string& match : engine.match) {
        if (match.find('(') == std::string::npos) names.push_back(match);
    }
    return names;
}

struct KeyRow {
    std::string_view key;
    std::string value;
    std::string_view unit, meaning;
};

Table keys_of(const SoftwareStack& stack, std::string title) {
    static const std::vector<SoftwareKeyInfo> infos = software_keys();
    const Fields<KeyRow> fields{{{"key", "key", Show::always}, &KeyRow::key},
                                {{"value", "value", Show::always, true}, &KeyRow::value},
                                {{"unit", "unit"}, &KeyRow::unit},
                                {{"meaning", "meaning", Show::wide, true}, &KeyRow::meaning}};
    std::vector<KeyRow> rows;
    for (const auto& [key, value] : stated_keys(stack)) {
        const auto info = std::find_if(infos.begin(), infos.end(), [key = key](const SoftwareKeyInfo& i) { return i.name == key; });
        rows.push_back({key, value, info->unit, info->meaning});
    }
    if (stack.all_reduce)
        rows.push_back({"all_reduce", stack.all_reduce->name, "", "library whose kernels run all-reduces; absent: the vendor's"});
    for (const auto& family : stack.families)
        rows.push_back({"families", family->name, "", "kernel family: the first fitted on the GPU's architecture that takes an operator"});
    return table_of(std::move(title), rows, fields);
}

/// The keys of `stack`, below `title`, and where they are from.
void add_stack(Report& report, const SoftwareStack& stack, std::string title, const std::string& source) {
    Table keys = keys_of(stack, std::move(title));
    report.document["software"].push_back(
        {{"name", stack.name}, {"execution", name(stack.execution)}, {"source", stack.source}, {"keys", as_json(keys)}});
    report.tables.push_back(std::move(keys));
    report.after.push_back(source);
}

}  // namespace

Report software_list_report(const SoftwareStacks& software) {
    const auto versions = [](const Engine& engine) {
        return engine.versions ? fmt::format("{} to {}", engine.versions->first, engine.versions->last) : std::string();
    };
    const Fields<Engine> fields{{{"family", "family", Show::always}, &Engine::family},
                                {{"name", "name", Show::always}, [](const Engine& engine) { return engine.stack.name; }},
                                {{"versions", "versions", Show::always}, versions},
                                {{"execution", "execution modes"}, modes_of}};
    Report report;
    for (const Engine& engine : software.engines) {
        report.document["software"].push_back(json_of(engine, fields));
        report.document["software"].back()["software"] = typed_names(engine);
    }
    report.tables = {table_of({}, software.engines, fields)};
    report.after = {"`roofcast software show NAME` prints what an engine or an execution mode does and what it costs."};
    return report;
}

Report software_report(const std::vector<const Engine*>& chosen) {
    Report report;
    report.document["software"] = Json::array();
    for (const Engine* engine : chosen) {
        const SoftwareStack& stack = engine->stack;
        add_stack(report, stack, fmt::format("{} ({}), family {}", stack.name, modes_of(*engine), engine->family),
                  fmt::format("{}: {}", stack.name, stack.source));
    }
    return report;
}

Report software_report(const SoftwareStack& mode) {
    Report report;
    add_stack(report, mode, fmt::format("{} (execution mode)", mode.name), mode.source);
    return report;
}

Report software_keys_report() {
    using Key = SoftwareKeyInfo;
    const Fields<Key> fields{{{"key", "key", Show::always}, &Key::name},
                             {{"unit", "unit"}, &Key::unit},
                             {{"default", "default", Show::always},
                              [](const Key& key) { return key.required           ? "required"
                                                          : key.fallback.empty() ? "absent"
                                                                                 : key.fallback; }},
                             {{"meaning", "meaning", Show::always, true}, &Key::meaning}};
    return table_report("keys", table_of({}, software_keys(), fields));
}

}  // namespace roofcast
