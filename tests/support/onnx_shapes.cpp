/// Compares the shapes that nets of tensors have in a run with those that their files state.
///
///     onnx_shapes FILE...    files with all sizes fixed, of which the ONNX library has stated those between operators

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "graph/tensor/known.hpp"
#include "roofcast/workload.hpp"

namespace {

/// How many tensors were compared; differences are printed, and counted in `different`.
int compare(const char* file, int& different) {
    const roofcast::Workload workload = roofcast::load_workload(file);
    const auto& net = std::get<roofcast::TensorNet>(workload.architecture);
    const auto known = roofcast::known_tensors(net, {});
    const roofcast::Symbols symbols(net, {});
    int compared = 0;
    for (std::size_t t = 0; t < net.tensors.size(); ++t) {
        const auto stated = symbols.shape_of(net.tensors[t]);
        if (!stated || net.tensors[t].constant || !known[t].known) continue;
        ++compared;
        if (*stated == known[t].shape) continue;
        ++different;
        fmt::print("{}: {} is [{}], not [{}]\n", file, net.tensors[t].name, fmt::join(*stated, ", "), fmt::join(known[t].shape, ", "));
    }
    return compared;
}

}  // namespace

int main(int argc, char** argv) {
    int compared = 0, different = 0;
    for (int i = 1; i < argc; ++i) {
        try {
            compared += compare(argv[i], different);
        } catch (const std::exception& e) {
            fmt::print("{}: {}\n", argv[i], e.what());
        }
    }
    fmt::print("{} shapes compared, {} differ\n", compared, different);
    return compared > 0 && different == 0 ? 0 : 1;
}
