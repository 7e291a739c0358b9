/// 0: measurements; 1: timings of any harness.

#include "fuzz/input.hpp"
#include "roofcast/bench.hpp"
#include "roofcast/measurement.hpp"

using namespace roofcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::array<fuzz::Reader, 2> readers{
        [](std::string_view text) { static_cast<void>(read_measurements_text(text, "rows.csv")); },
        [](std::string_view text) { static_cast<void>(standings(read_bench_text(text, "rows.csv").series)); },
    };
    return fuzz::read(data, size, readers);
}
