#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "report/run_parts.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/step_time.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;
using test::contains;
using test::gpus_dir;
using test::models_dir;
using test::rel;
using test::software_dir;

namespace {

struct Machine {
    SoftwareStacks software = load_software(software_dir());
    Workload llama = find_workload(models_dir(), "llama-3.1-70b");

    [[nodiscard]] Run request(std::int64_t gpus, std::optional<PcieTopology> pcie, const std::string& engine = "") const {
        Run request;
        request.batch = 4;
        request.prompt_tokens = 1024;
        request.generate_tokens = 8;
        request.precision = Precision::fp8;
        request.parallel.tensor = gpus;
        request.software = engine;
        request.pcie = pcie;
        return request;
    }
    [[nodiscard]] Prediction run(const Gpu& gpu, const Run& request) const { return predict(llama, gpu, request, software); }
};

/// Of one all-reduce of the longest phase's layers.
Seconds all_reduce_time(const Prediction& p) {
    for (const TimedOp& op : p.phases.front().timeline.ops) {
        if (op.node->name == "all_reduce") return op.kernel.communication;
    }
    return {};
}

std::string notes(const Prediction& p) {
    std::string all;
    for (const std::string& note : p.notes) all += note + "\n";
    return all;
}

}  // namespace

TEST_CASE("an all-reduce of eight L40S through the host bridge takes the contention of seven peers longer than through switches") {
    const Machine machine;
    const Gpu gpu = load_gpu(gpus_dir(), "l40s");
    const Prediction host = machine.run(gpu, machine.request(8, PcieTopology::host)),
                     switched = machine.run(gpu, machine.request(8, PcieTopology::switched));
    // 7 ^ contention, less what chunks hide and each rank's own part adds: over ten times for 67 MB.
    const double shared = std::pow(7.0, gpu.parameters.values.collective.pcie_contention);
    const double ratio = all_reduce_time(host) / all_reduce_time(switched);
    CHECK(ratio > 0.7 * shared);
    CHECK(ratio < shared);
    CHECK(host.ttft->in(s) > 3 * switched.ttft->in(s));
    CHECK(host.pcie == PcieTopology::host);
    CHECK(switched.pcie == PcieTopology::switched);
    CHECK(machine.run(gpu, machine.request(8, std::nullopt)).latency == host.latency);  // its profile says host
    const Prediction two_host = machine.run(gpu, machine.request(2, PcieTopology::host)),
                     two_switched = machine.run(gpu, machine.request(2, PcieTopology::switched));
    CHECK(two_host.latency == two_switched.latency);
}

TEST_CASE("no engine changes how GPUs share PCIe") {
    const Machine machine;
    const Gpu gpu = load_gpu(gpus_dir(), "l40s");
    for (const PcieTopology pcie : {PcieTopology::host, PcieTopology::switched}) {
        const Seconds any = all_reduce_time(machine.run(gpu, machine.request(8, pcie)));
        CHECK(any > Seconds{});
        for (const char* engine : {"tensorrt-llm", "tensorrt-llm 0.9.0", "tensorrt-llm 0.5", "vllm", "sglang"}) {
            CAPTURE(engine);
            CHECK(all_reduce_time(machine.run(gpu, machine.request(8, pcie, engine))) == any);
        }
    }
}

TEST_CASE("GPUs whose machines have switches are predicted so, and a run may say otherwise") {
    const Machine machine;
    const Gpu gpu = load_gpu(gpus_dir(), "rtx-pro-6000-blackwell-server");
    const Seconds plain = machine.run(gpu, machine.request(4, std::nullopt)).latency;
    CHECK(plain == machine.run(gpu, machine.request(4, PcieTopology::switched)).latency);
    CHECK(plain < machine.run(gpu, machine.request(4, PcieTopology::host)).latency);
}

TEST_CASE("steps of a serving engine and planned passes take the machine of their request") {
    const Machine machine;
    const Gpu gpu = load_gpu(gpus_dir(), "l40s");
    const StepMix mix{.prompts = 1, .prompt_tokens = 2048};
    const auto step = [&](PcieTopology pcie) {
        const Run request = completed(machine.request(8, pcie), machine.llama, gpu);
        return step_time(step_model(machine.llama, gpu, request, machine.software), mix);
    };
    CHECK(step(PcieTopology::host) > 2 * step(PcieTopology::switched));
}

TEST_CASE("a prediction says how its GPUs share PCIe where that matters, and that an option changes nothing where it does not") {
    const Machine machine;
    const Gpu l40s = load_gpu(gpus_dir(), "l40s"), l4 = load_gpu(gpus_dir(), "l4"), h100 = load_gpu(gpus_dir(), "h100-sxm5-80gb");
    const auto said = [&](const Gpu& gpu, std::int64_t gpus, std::optional<PcieTopology> pcie) {
        return notes(machine.run(gpu, machine.request(gpus, pcie)));
    };
    const std::string shared = said(l40s, 8, std::nullopt), assumed = said(l4, 8, std::nullopt);
    for (const char* part : {"8 GPUs", "host bridge", "`pcie` switch changes that"}) CHECK(contains(shared, part));
    CHECK_FALSE(contains(shared, "assumed"));
    CHECK(contains(assumed, "(assumed); `pcie` switch"));
    CHECK(contains(said(l40s, 4, PcieTopology::switched), "full rate"));
    CHECK(contains(said(l40s, 2, PcieTopology::switched), "`pcie` switch changes nothing: no more than two GPUs"));
    CHECK_FALSE(contains(said(l40s, 2, std::nullopt), "PCIe"));
    CHECK(contains(said(h100, 8, PcieTopology::host), "`pcie` host changes nothing: no GPUs of this run"));
    CHECK_FALSE(contains(said(h100, 8, std::nullopt), "PCIe"));
    CHECK_FALSE(machine.run(h100, machine.request(8, std::nullopt)).pcie);
}

TEST_CASE("an explanation lists the contention of the host bridge only where GPUs share it") {
    const Machine machine;
    const Gpu gpu = load_gpu(gpus_dir(), "l40s");
    const auto lists = [&](PcieTopology pcie, std::string_view parameter) {
        const Table table = used_parameters(machine.run(gpu, machine.request(8, pcie)), gpu);
        return std::any_of(table.rows.begin(), table.rows.end(),
                           [&](const std::vector<Cell>& row) { return std::get<std::string>(row.front()) == parameter; });
    };
    CHECK(lists(PcieTopology::host, "collective.pcie_contention"));
    CHECK_FALSE(lists(PcieTopology::switched, "collective.pcie_contention"));
    CHECK(lists(PcieTopology::switched, "collective.pcie_fraction"));
}
