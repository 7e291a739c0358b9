#pragma once
/// Blocks that convolutional nets are described with: lists of layers with arguments, from `[blocks.NAME]` of a file.

#include <toml++/toml.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// One entry of `arguments`: "stride = 1", or "inner" where a caller must say it.
struct BlockArgument {
    std::string name, standard;
    bool required = false;
    int line = 0;  ///< of the block's file
};

class FileBlocks;

struct NetBlock {
    std::string name;
    std::vector<BlockArgument> arguments;
    const toml::array* layers = nullptr;
    std::vector<std::string> outputs;  ///< names of the layers that give them; empty: the last one
    bool segment = false;              ///< its layers are one segment: compilers fuse them, and streams run side by side
    bool scaled = false;               ///< a part of a net: compound scaling is of what it lists, as of the net's own list
    const FileBlocks* file = nullptr;  ///< that defines it, and blocks that it may use

    static constexpr const char* repeat = "repeat";
    /// Whether the `repeat` of a call is an argument: what the block repeats lies inside.
    [[nodiscard]] bool repeats_inside() const { return has_argument(repeat); }
    [[nodiscard]] bool has_argument(std::string_view name) const;
};

/// The blocks of one file.
class FileBlocks {
public:
    /// `blocks`: the table of that name; null: none. Throws Error on a wrong definition.
    FileBlocks(const toml::node* blocks, std::string file);
    FileBlocks(const FileBlocks&) = delete;
    FileBlocks& operator=(const FileBlocks&) = delete;

    [[nodiscard]] const NetBlock* find(std::string_view name) const;
    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] std::vector<std::string> names() const;

private:
    std::string file_;
    std::map<std::string, NetBlock, std::less<>> blocks_;
};

/// Blocks that several files use: block NAME stands in `NAME.toml` of one of the folders, or of the shipped one. Files are read once.
class BlockLibrary {
public:
    explicit BlockLibrary(std::filesystem::path folder) { add_folder(std::move(folder)); }

    /// One more folder, which is asked after those before it.
    void add_folder(std::filesystem::path folder);
    [[nodiscard]] const std::vector<std::filesystem::path>& folders() const { return folders_; }
    /// nullptr: there is none. Throws Error on a file that is wrong, or where the data folder is needed and not found.
    const NetBlock* find(const std::string& name);
    [[nodiscard]] std::vector<std::string> names();

private:
    /// The shipped folder is looked for when the others lack a block.
    const std::vector<std::filesystem::path>& with_shipped();

    struct Source {
        toml::table root;
        std::unique_ptr<FileBlocks> blocks;
    };
    /// Block `name` of `folder`; null: it has none.
    static std::unique_ptr<Source> source_of(const std::string& name, const std::filesystem::path& folder);

    std::vector<std::filesystem::path> folders_;
    bool has_shipped_ = false;
    std::map<std::string, std::unique_ptr<Source>> sources_;  ///< null: no file has this name
};

}  // namespace roofcast
