// Why a prediction has no times to show.
#include <fmt/format.h>

#include "roofcast/prediction.hpp"

namespace roofcast {

std::string needs_text(const MemoryEstimate& memory) {
    return fmt::format("needs {:.1f} GB, {:.1f} GB usable", memory.total().in(gb), memory.usable->in(gb));
}

std::string obstacle(const Prediction& prediction) {
    if (!prediction.withheld.empty()) return fmt::format("no kernel model covers {}", fmt::join(prediction.withheld, ", "));
    if (prediction.memory.fits() == false) return "does not fit: " + needs_text(prediction.memory);
    return {};
}

}  // namespace roofcast
