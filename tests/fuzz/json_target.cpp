/// 0: Hugging Face configs; 1: timings of any harness.

#include "fuzz/input.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/targets.hpp"
#include "roofcast/bench.hpp"
#include "workload/hugging_face.hpp"

namespace roofcast {

int fuzz::json(const std::uint8_t* data, std::size_t size) {
    constexpr std::array<fuzz::Reader, 2> readers{
        [](std::string_view text) { fuzz::require_sound_runs(load_hugging_face_config(fuzz::folder().file("config.json", text))); },
        [](std::string_view text) { static_cast<void>(standings(read_bench_text(text, "times.json").series)); },
    };
    return fuzz::read(data, size, readers);
}

}  // namespace roofcast
