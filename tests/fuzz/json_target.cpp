/// 0: Hugging Face configs; 1: timings of any harness.

#include "fuzz/input.hpp"
#include "roofcast/bench.hpp"
#include "roofcast/op_graph.hpp"
#include "workload/hugging_face.hpp"

using namespace roofcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::array<fuzz::Reader, 2> readers{
        [](std::string_view text) {
            static_cast<void>(forward_graph(load_hugging_face_config(fuzz::folder().file("config.json", text)), {}));
        },
        [](std::string_view text) { static_cast<void>(standings(read_bench_text(text, "times.json").series)); },
    };
    return fuzz::read(data, size, readers);
}
