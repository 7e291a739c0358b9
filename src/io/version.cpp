#include "roofcast/version.hpp"

namespace roofcast {

std::string_view named_version() {
    return "roofcast " ROOFCAST_VERSION;
}

}  // namespace roofcast
