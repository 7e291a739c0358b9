/// 0: measurements; 1: timings of any harness; 2: requests of a serving engine.

#include "fuzz/input.hpp"
#include "fuzz/targets.hpp"
#include "roofcast/bench.hpp"
#include "roofcast/measurement.hpp"
#include "roofcast/serving.hpp"

namespace roofcast {

int fuzz::csv(const std::uint8_t* data, std::size_t size) {
    constexpr std::array<fuzz::Reader, 3> readers{
        [](std::string_view text) { static_cast<void>(read_measurements_text(text, "rows.csv")); },
        [](std::string_view text) { static_cast<void>(standings(read_bench_text(text, "rows.csv").series)); },
        [](std::string_view text) { static_cast<void>(read_trace_text(text, "trace.csv")); },
    };
    return fuzz::read(data, size, readers);
}

}  // namespace roofcast
