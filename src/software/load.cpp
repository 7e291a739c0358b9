#include <fmt/format.h>

#include <algorithm>

#include "io/files_in.hpp"
#include "io/identifier.hpp"
#include "io/toml_reader.hpp"
#include "roofcast/software.hpp"
#include "software/engine_memory.hpp"
#include "software/families.hpp"
#include "software/keys.hpp"
#include "software/library_facts.hpp"

namespace roofcast {

namespace {

constexpr std::array<std::string_view, execution_count> execution_names{"eager", "cuda_graph", "compiled", "tensorrt", "fused"};

Execution read_execution(TableReader& table, std::string_view key, const std::string& text) {
    if (const auto e = parse_execution(text)) return *e;
    const std::vector<std::string> known(execution_names.begin(), execution_names.end());
    throw table.error(key, "unknown execution mode", text, fmt::format("{}", fmt::join(known, ", ")), did_you_mean(text, known));
}

/// Keys by which an engine is known, which another does not take over.
bool is_own(std::string_view key) {
    constexpr std::string_view own[] = {"name", "match", "execution", "vendor", "versions", "source"};
    return std::find(std::begin(own), std::end(own), key) != std::end(own);
}

/// What an engine has where its own table says nothing: what the one that it is `like` says, else its first execution mode.
toml::table defaults_of(TableReader& own, const toml::array& engines, const toml::table& mode) {
    toml::table defaults = mode;
    const auto like = own.text_if("like");
    if (!like) return defaults;
    std::vector<std::string> known;
    for (const auto& node : engines) {
        const toml::table& engine = *node.as_table();
        if (engine.contains("like")) continue;
        known.push_back(engine["name"].value_or(std::string()));
        if (known.back() != *like) continue;
        for (const auto& [key, value] : engine) {
            if (!is_own(key)) defaults.insert_or_assign(key, value);
        }
        return defaults;
    }
    throw own.error("like", "no such engine in this file, or it uses `like` itself", *like, fmt::format("{}", fmt::join(known, ", ")),
                    did_you_mean(*like, known));
}

std::optional<KnownVersions> read_versions(TableReader& table) {
    if (!table.has("versions")) return std::nullopt;
    const std::vector<std::string> ends = table.texts_if("versions");
    if (ends.size() != 2)
        throw table.error("versions", "not a range of versions", fmt::format("{}", fmt::join(ends, ", ")), "[first, last]");
    return KnownVersions{ends[0], ends[1]};
}

/// What engines may name.
struct Libraries {
    const KernelLibraries& all;
    const KernelFamilies& families;
};

std::shared_ptr<const KernelLibrary> named_library(TableReader& table, std::string_view key, const KernelLibraries& libraries) {
    const auto wanted = table.text_if(key);
    if (!wanted) return nullptr;
    if (auto library = find_library(libraries, *wanted)) return library;
    std::vector<std::string> known;
    for (const auto& library : libraries) known.push_back(library->name);
    throw table.error(key, "unknown kernel library", *wanted, fmt::format("{}", fmt::join(known, ", ")), did_you_mean(*wanted, known));
}

/// `own` over what it has by default.
Engine read_engine(const toml::table& own, const toml::array& engines, const toml::table& modes, const std::string& file,
                   std::size_t number, const Libraries& libraries) {
    TableReader names(own, file, fmt::format("engine[{}]", number));
    Engine engine;
    engine.match = names.texts_if("match");
    for (const auto& text : names.texts_if("execution")) engine.executions.push_back(read_execution(names, "execution", text));
    engine.vendor = names.text_if("vendor").value_or("");
    if (engine.match.empty()) throw names.missing("match", "first words of the software column");
    if (engine.executions.empty()) throw names.missing("execution", "execution modes");
    const Execution first = engine.executions.front();
    const toml::table defaults = defaults_of(names, engines, *modes[name(first)].as_table());
    TableReader table(own, file, fmt::format("engine[{}]", number), &defaults);
    engine.stack.execution = first;
    engine.stack.name = required_identifier(table, "name", table.text("name"));
    engine.versions = read_versions(table);
    for (const std::string_view key : {"match", "execution"}) static_cast<void>(table.texts_if(key));
    for (const std::string_view key : {"vendor", "like"}) static_cast<void>(table.text_if(key));
    engine.stack.families = named_families(table, "families", libraries.families);
    engine.stack.all_reduce = named_library(table, "all_reduce", libraries.all);
    read_software_keys(table, engine.stack);
    table.finish();
    return engine;
}

/// Those of one file; what it says of memory is added to `memory`.
std::vector<Engine> read_engines(const std::filesystem::path& file, const toml::table& modes, const Libraries& libraries,
                                 std::vector<EngineMemory>& memory) {
    const toml::table root = parse_toml_file(file);
    TableReader reader(root, file.string());
    for (EngineMemory& table : read_engine_memory(reader, root)) memory.push_back(std::move(table));
    std::vector<Engine> engines;
    if (!reader.tables("engine").empty()) {
        const toml::array& tables = *root["engine"].as_array();
        for (const auto& node : tables) {
            engines.push_back(read_engine(*node.as_table(), tables, modes, file.string(), engines.size(), libraries));
            engines.back().family = file.stem().string();
        }
    }
    reader.finish();
    return engines;
}

/// Facts of the libraries that run by default, and which attention does; none where the folder has no such file.
std::vector<LibraryFactsTable> default_facts(const std::filesystem::path& file, const KernelLibraries& libraries) {
    std::vector<LibraryFactsTable> tables;
    std::error_code ec;
    if (!std::filesystem::is_regular_file(file, ec)) return tables;
    const toml::table root = parse_toml_file(file);
    TableReader table(root, file.string());
    std::vector<std::string> known;
    std::vector<NamedAttention> designs;
    for (const auto& library : libraries) {
        known.push_back(library->name);
        designs.insert(designs.end(), library->attention.begin(), library->attention.end());
    }
    for (const std::string& name : table.texts_if("libraries")) {
        const auto library = find_library(libraries, name);
        if (!library) throw table.error("libraries", "unknown kernel library", name, "files of libraries/", did_you_mean(name, known));
        tables.insert(tables.end(), library->facts.begin(), library->facts.end());
    }
    for (TableReader& choice : table.tables("attention")) tables.push_back(read_attention_choice(choice, designs));
    table.finish();
    return tables;
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

SoftwareStacks load_software(const std::filesystem::path& software_folder) {
    const auto modes_file = software_folder / "execution.toml";
    const toml::table modes = parse_toml_file(modes_file);
    TableReader reader(modes, modes_file.string());
    SoftwareStacks stacks;
    stacks.libraries = load_kernel_libraries(software_folder / "libraries");
    stacks.families = families_of(stacks.libraries);
    stacks.library_facts =
        std::make_shared<const std::vector<LibraryFactsTable>>(default_facts(software_folder / "libraries.toml", stacks.libraries));
    for (std::size_t i = 0; i < execution_count; ++i) {
        TableReader table = reader.table(execution_names[i]);
        SoftwareStack& stack = stacks.by_execution[i];
        stack.name = execution_names[i];
        stack.execution = static_cast<Execution>(i);
        stack.library_facts = stacks.library_facts;
        read_software_keys(table, stack);
        table.finish();
    }
    reader.finish();
    for (const auto& file : files_in(software_folder / "engines", ".toml")) {
        for (Engine& engine : read_engines(file, modes, {stacks.libraries, stacks.families}, stacks.memory)) {
            engine.stack.library_facts = stacks.library_facts;
            stacks.engines.push_back(std::move(engine));
        }
    }
    return stacks;
}

}  // namespace roofcast
