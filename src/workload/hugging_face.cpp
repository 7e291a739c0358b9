#include "workload/hugging_face.hpp"

#include "roofcast/error.hpp"

namespace roofcast {

Workload load_hugging_face_config(const std::filesystem::path& file) {
    throw Error({.what = "Hugging Face configs cannot be read yet", .file = file.string()});
}

}  // namespace roofcast
