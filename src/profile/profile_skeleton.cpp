#include "profile/profile_skeleton.hpp"

#include <fmt/format.h>

#include <cctype>

#include "io/text_file.hpp"
#include "profile/architecture_names.hpp"

namespace roofcast {

std::string profile_id(const std::string& name) {
    std::string id;
    for (const char c : name) {
        const auto letter = static_cast<unsigned char>(c);
        if (std::isalnum(letter) != 0)
            id += static_cast<char>(std::tolower(letter));
        else if (!id.empty() && id.back() != '-')
            id += '-';
    }
    while (!id.empty() && id.back() == '-') id.pop_back();
    return id.empty() ? "my-gpu" : id;
}

std::string profile_skeleton(const std::string& name, const std::filesystem::path& gpus_folder) {
    std::string quoted;
    for (const char c : name) {
        const bool control = static_cast<unsigned char>(c) < ' ' || c == 0x7f;
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += control ? ' ' : c;
    }
    const std::string skeleton = read_text_file(gpus_folder / "new-profile.txt");
    return fmt::format(fmt::runtime(skeleton), fmt::arg("id", profile_id(name)), fmt::arg("name", quoted),
                       fmt::arg("architectures", fmt::join(known_architectures(gpus_folder), ", ")));
}

}  // namespace roofcast
