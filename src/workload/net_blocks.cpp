#include "workload/net_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/data_folder.hpp"
#include "io/toml_reader.hpp"
#include "workload/convnet_vocabulary.hpp"

namespace roofcast {

namespace {

std::string trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
    return first == std::string_view::npos ? std::string{} : std::string(text.substr(first, last - first + 1));
}

bool is_primitive(std::string_view name) {
    return std::any_of(block_specs.begin(), block_specs.end(), [&](const BlockSpec& spec) { return spec.name == name; });
}

bool is_reserved(std::string_view name) {
    constexpr std::array<std::string_view, 9> words{"in", "channels", "if", "else", "and", "or", "not", "true", "false"};
    return is_primitive(name) || is_one_of(options_of_every_call, name) || is_one_of(words, name);
}

bool is_block_name(std::string_view name) {
    const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    return !name.empty() && name.front() >= 'a' && name.front() <= 'z' && std::all_of(name.begin(), name.end(), fits);
}

BlockArgument argument_of(const std::string& text, const TableReader& reader) {
    const auto equals = text.find('=');
    BlockArgument argument{.name = trimmed(std::string_view(text).substr(0, equals)), .standard = {}, .required = true};
    const bool reserved = is_reserved(argument.name) && argument.name != NetBlock::repeat;
    if (!is_block_name(argument.name) || reserved)
        throw reader.error("arguments", "an argument cannot have this name", argument.name,
                           "small letters, digits and _; no name of a primitive, of an option of every layer, or of a word of expressions");
    if (equals == std::string::npos) return argument;
    argument.required = false;
    argument.standard = trimmed(std::string_view(text).substr(equals + 1));
    if (argument.standard.empty()) throw reader.error("arguments", "the default is missing", text, "such as \"stride = 1\"");
    return argument;
}

NetBlock block_of(const std::string& name, TableReader reader, const FileBlocks& file) {
    if (!is_block_name(name) || is_reserved(name))
        throw Error({.what = "a block cannot have this name",
                     .file = reader.file(),
                     .line = reader.line(),
                     .key = fmt::format("blocks.{}", name),
                     .found = {},
                     .expected = "small letters, digits and _; no name of a primitive"});
    NetBlock block{.name = name, .arguments = {}, .layers = nullptr, .outputs = {}, .segment = false, .scaled = false, .file = &file};
    const toml::node* listed = reader.node("arguments");
    for (const std::string& text : reader.texts_if("arguments")) {
        block.arguments.push_back(argument_of(text, reader));
        const toml::array* items = listed->as_array();
        const toml::node& item = items == nullptr ? *listed : *items->get(block.arguments.size() - 1);
        block.arguments.back().line = static_cast<int>(item.source().begin.line);
        const auto same = [&](const BlockArgument& other) { return other.name == block.arguments.back().name; };
        if (std::count_if(block.arguments.begin(), block.arguments.end(), same) > 1)
            throw reader.error("arguments", "the argument is named twice", block.arguments.back().name);
    }
    const toml::node* layers = reader.node("layers");
    if (layers == nullptr) throw reader.missing("layers", "a list of layers");
    block.layers = layers->as_array();
    if (block.layers == nullptr || block.layers->empty()) throw reader.error("layers", "wrong type", {}, "a list of layers");
    block.outputs = reader.texts_if("outputs");
    block.segment = reader.flag_if("segment").value_or(false);
    block.scaled = reader.flag_if("scaled").value_or(false);
    reader.finish();
    return block;
}

}  // namespace

bool NetBlock::has_argument(std::string_view wanted) const {
    return std::any_of(arguments.begin(), arguments.end(), [wanted](const BlockArgument& argument) { return argument.name == wanted; });
}

FileBlocks::FileBlocks(const toml::node* blocks, std::string file) : file_(std::move(file)) {
    if (blocks == nullptr) return;
    const auto refuse = [this](const toml::node& node, std::string key) {
        throw Error({.what = "wrong type",
                     .file = file_,
                     .line = static_cast<int>(node.source().begin.line),
                     .key = std::move(key),
                     .expected = "tables [blocks.NAME]"});
    };
    if (!blocks->is_table()) refuse(*blocks, "blocks");
    for (const auto& [key, node] : *blocks->as_table()) {
        const std::string name(key.str()), place = fmt::format("blocks.{}", name);
        if (!node.is_table()) refuse(node, place);
        blocks_.emplace(name, block_of(name, TableReader(*node.as_table(), file_, place), *this));
    }
}

const NetBlock* FileBlocks::find(std::string_view name) const {
    const auto found = blocks_.find(name);
    return found == blocks_.end() ? nullptr : &found->second;
}

std::vector<std::string> FileBlocks::names() const {
    std::vector<std::string> names;
    for (const auto& [name, block] : blocks_) names.push_back(name);
    return names;
}

void BlockLibrary::add_folder(std::filesystem::path folder) {
    if (std::find(folders_.begin(), folders_.end(), folder) != folders_.end()) return;
    folders_.push_back(std::move(folder));
    std::erase_if(sources_, [](const auto& known) { return known.second == nullptr; });
}

const std::vector<std::filesystem::path>& BlockLibrary::with_shipped() {
    if (!has_shipped_) add_folder(data_folder(std::nullopt) / "models" / "blocks");
    has_shipped_ = true;
    return folders_;
}

std::unique_ptr<BlockLibrary::Source> BlockLibrary::source_of(const std::string& name, const std::filesystem::path& folder) {
    const auto file = folder / (name + ".toml");
    std::error_code ec;
    if (!std::filesystem::is_regular_file(file, ec)) return nullptr;
    auto source = std::make_unique<Source>();
    source->root = parse_toml_file(file);
    TableReader reader(source->root, file.string());
    source->blocks = std::make_unique<FileBlocks>(reader.node("blocks"), file.string());
    reader.text("source");
    reader.finish();
    if (source->blocks->find(name) == nullptr)
        throw reader.error("blocks", "the file lacks the block that it is named after", {}, fmt::format("[blocks.{}]", name));
    return source;
}

const NetBlock* BlockLibrary::find(const std::string& name) {
    if (!is_block_name(name)) return nullptr;
    auto known = sources_.find(name);
    if (known == sources_.end()) {
        std::unique_ptr<Source> source;
        const auto look_in = [&](const std::filesystem::path& folder) {
            if (source == nullptr) source = source_of(name, folder);
        };
        std::for_each(folders_.begin(), folders_.end(), look_in);
        if (source == nullptr && !has_shipped_) look_in(with_shipped().back());
        known = sources_.emplace(name, std::move(source)).first;
    }
    return known->second == nullptr ? nullptr : known->second->blocks->find(name);
}

std::vector<std::string> BlockLibrary::names() {
    std::vector<std::string> names;
    std::error_code ec;
    for (const auto& folder : with_shipped()) {
        for (const auto& entry : std::filesystem::directory_iterator(folder, ec)) {
            if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
        }
    }
    return names;
}

}  // namespace roofcast
