#include "profile/profile_skeleton.hpp"

#include <fmt/format.h>

#include "io/identifier.hpp"
#include "io/text_file.hpp"
#include "profile/architecture_names.hpp"

namespace roofcast {

std::string profile_skeleton(const std::string& name, const std::filesystem::path& gpus_folder) {
    std::string quoted;
    for (const char c : name) {
        const bool control = static_cast<unsigned char>(c) < ' ' || c == 0x7f;
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += control ? ' ' : c;
    }
    const std::string skeleton = read_text_file(gpus_folder / "new-profile.txt"), id = identifier_of(name);
    return fmt::format(fmt::runtime(skeleton), fmt::arg("id", id.empty() ? "my-gpu" : id), fmt::arg("name", quoted),
                       fmt::arg("architectures", fmt::join(known_architectures(gpus_folder), ", ")));
}

}  // namespace roofcast
