#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "roofcast/prediction.hpp"
#include "support/folder_without.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::FolderWithout;
using roofcast::test::gpus_dir;
using roofcast::test::models_dir;
using roofcast::test::software_dir;
using roofcast::test::TemporaryFile;

namespace {

/// The GPU `id` from five lines, as roofcast derives it without knowing that GPU.
Gpu from_five_lines(const std::string& id, const GpuProfile& full) {
    const FolderWithout folder({id});
    const TemporaryFile file("board.toml", fmt::format("name = \"A GPU\"\narchitecture = \"{}\"\nmemory_gb = {}\nmemory_bandwidth_gbps = "
                                                       "{}\ncompute_tflops = {}\n",
                                                       full.architecture, full.capacity->in(gib), full.bandwidth.in(gb_per_s),
                                                       full.tensor_peak[index(Precision::fp16)]->in(tflops)));
    Gpu gpu;
    gpu.profile = load_gpu_profile(file.path(), folder.path());
    gpu.parameters = load_parameters(gpus_dir(), gpu.profile);
    return gpu;
}

}  // namespace

TEST_CASE("the interval of a prediction from five lines holds the prediction from the whole data sheet") {
    const SoftwareStacks software = load_software(software_dir());
    for (const std::string id : {"rtx-4070-super", "rtx-4080", "rtx-5070-ti", "a100-pcie-80gb", "mi325x"}) {
        Gpu full = load_gpu(gpus_dir(), id);
        const Gpu small = from_five_lines(id, full.profile);
        full.parameters = small.parameters;  // profiles are compared, not fits
        for (const std::string model : {"llama-3.1-8b", "resnet50", "bert-large"}) {
            CAPTURE(id);
            CAPTURE(model);
            Run request;
            request.precision = Precision::fp16;
            const Workload workload = find_workload(models_dir(), model);
            const Prediction exact = predict(workload, full, request, software), derived = predict(workload, small, request, software);
            REQUIRE(derived.intervals);
            CHECK(exact.latency >= derived.latency * derived.intervals->latency.low);
            CHECK(exact.latency <= derived.latency * derived.intervals->latency.high);
            // Half the rates, as derived before readings were compared, would be off by a factor of two.
            CHECK(derived.latency / exact.latency > 0.8);
            CHECK(derived.latency / exact.latency < 1.25);
        }
    }
}
