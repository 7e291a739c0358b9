#include "report/describe.hpp"

#include <fmt/format.h>

namespace roofcast {

std::string weights_text(const Run& run) {
    const std::string format(name(run.weight_format()));
    return run.expert_weights ? fmt::format("{}, experts {}", format, name(*run.expert_weights)) : format;
}

std::string parallel_text(const Parallelism& p) {
    if (p.gpus() == 1) return {};
    return fmt::format(", {} GPUs (tp {}, pp {}, dp {}{}{})", p.gpus(), p.tensor, p.pipeline, p.data,
                       p.expert > 1 ? fmt::format(", ep {}", p.expert) : "",
                       p.attention_data > 1 ? fmt::format(", attention dp {}", p.attention_data) : "");
}

nlohmann::ordered_json parallel_json(const Parallelism& p) {
    return {{"gpus", p.gpus()}, {"tensor", p.tensor}, {"pipeline", p.pipeline},
            {"data", p.data},   {"expert", p.expert}, {"attention_data", p.attention_data}};
}

}  // namespace roofcast
