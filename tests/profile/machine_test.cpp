#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "roofcast/gpu_profile.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;
using test::contains;
using test::gpus_dir;
using test::software_dir;
using test::TemporaryFile;

namespace {

GpuProfile minimal_card(const std::string& architecture, const std::string& more) {
    const TemporaryFile file("my-card.toml", "name = \"My card\"\narchitecture = \"" + architecture +
                                                 "\"\nmemory_gb = 80\ncompute_tflops = 312\nmemory_bandwidth_gbps = 2039\n" + more);
    return load_gpu_profile(file.path(), gpus_dir());
}

std::string machine_refusal(const Parallelism& parallel, const GpuProfile& gpu) {
    try {
        require_one_machine(parallel, gpu);
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

GpuProfile toy_machine(std::int64_t gpus, const char* source = "a data sheet") {
    GpuProfile gpu;
    gpu.name = "Toy";
    gpu.gpus_per_machine = gpus;
    gpu.gpus_per_machine_source = source;
    return gpu;
}

}  // namespace

TEST_CASE("shipped GPUs come in machines as their sources say") {
    // HGX A100 of 16, HGX H100 of 8, NVL72, one GPU on an Apple chip, 8 OAM modules.
    for (const auto& [id, gpus] : {std::pair{"a100-sxm4-40gb", 16}, std::pair{"h100-sxm5-80gb", 8}, std::pair{"gb200", 72},
                                   std::pair{"gh200", 1}, std::pair{"m4-max", 1}, std::pair{"gaudi2", 8}, std::pair{"mi300x", 8},
                                   std::pair{"rtx-3060", 8}, std::pair{"jetson-agx-orin", 1}, std::pair{"epyc-9654", 2}}) {
        CAPTURE(id);
        CHECK(load_gpu_profile(gpus_dir() / (std::string(id) + ".toml"), gpus_dir()).gpus_per_machine == gpus);
    }
    for (const GpuProfile& gpu : load_gpu_catalogue(gpus_dir())) {
        CAPTURE(gpu.id);
        CHECK(gpu.gpus_per_machine_source.size() > 5);
        CHECK(gpu.gpus_per_machine_source != "the profile");  // a number without a source
    }
}

TEST_CASE("a machine that the profile does not state is assumed from form factor and architecture") {
    const GpuProfile card = minimal_card("ampere", "");
    CHECK(card.gpus_per_machine == 8);
    CHECK(contains(card.gpus_per_machine_source, "assumed"));
    CHECK(minimal_card("ampere", "form_factor = \"SoM\"\n").gpus_per_machine == 1);
    CHECK(minimal_card("ampere", "form_factor = \"PCIe single-slot\"\n").gpus_per_machine == 8);
    CHECK(minimal_card("cpu", "").gpus_per_machine == 1);
    const GpuProfile stated = minimal_card("ampere", "[interconnect]\ngpus_per_machine = 10\n");
    CHECK(stated.gpus_per_machine == 10);
    CHECK_FALSE(contains(stated.gpus_per_machine_source, "assumed"));
    CHECK_THROWS_AS(minimal_card("ampere", "[interconnect]\ngpus_per_machine = 0\n"), Error);
    CHECK_THROWS_AS(minimal_card("ampere", "[interconnect]\ngpus_per_machine_source = \"x\"\n"), Error);
}

TEST_CASE("GPUs of one copy have to fit into one machine") {
    const GpuProfile gpu = toy_machine(8);
    for (const Parallelism& p :
         {Parallelism{}, Parallelism{.tensor = 8}, Parallelism{.tensor = 2, .pipeline = 4}, Parallelism{.tensor = 8, .data = 100},
          Parallelism{.tensor = 2, .data = 4, .expert = 8}, Parallelism{.tensor = 4, .data = 64, .expert = 4}})
        CHECK(machine_refusal(p, gpu).empty());
    const std::string wide = machine_refusal({.tensor = 64}, gpu);
    for (const char* part : {"parallel.tensor: ", "found 64", "one machine has 8 Toy", "does not model networks between machines",
                             "use `parallel.tensor` 8 or fewer"})
        CHECK(contains(wide, part));
    // 4 x 4 GPUs of a copy: 2 stages of 4 fit.
    const std::string deep = machine_refusal({.tensor = 4, .pipeline = 4}, gpu);
    for (const char* part : {"parallel.pipeline: ", "16 GPUs in one copy", "use `parallel.pipeline` 2 or fewer"})
        CHECK(contains(deep, part));
    // Experts that lie on all copies join them.
    const std::string spread = machine_refusal({.tensor = 1, .data = 16, .expert = 16}, gpu);
    for (const char* part : {"parallel.expert: ", "found 16", "use `parallel.expert` 8 or fewer"}) CHECK(contains(spread, part));
    CHECK(contains(machine_refusal({.tensor = 2, .pipeline = 2, .data = 4, .expert = 8}, gpu), "16 GPUs in one copy"));
    CHECK(contains(machine_refusal({.tensor = 2}, toy_machine(1)), "use `parallel.tensor` 1"));
    CHECK(contains(machine_refusal({.tensor = 16}, toy_machine(8, "assumed: usual for PCIe")), "gpus_per_machine"));
    CHECK_FALSE(machine_refusal({.tensor = std::int64_t{1} << 40, .pipeline = std::int64_t{1} << 40}, gpu).empty());
}

TEST_CASE("the topology of some GPUs of a machine is that of what joins them") {
    const auto topology = [](const char* id, std::int64_t gpus) {
        return load_gpu_profile(gpus_dir() / (std::string(id) + ".toml"), gpus_dir()).topology(gpus);
    };
    CHECK(topology("h100-sxm5-80gb", 8) == "NVLink switches");
    CHECK(topology("h100-sxm5-80gb", 1).empty());
    CHECK(topology("a40", 2) == "NVLink bridge");
    CHECK(topology("a40", 4) == "PCIe 4.0 x16");
    CHECK(topology("v100-sxm2-16gb", 8) == "NVLink");
    CHECK(topology("mi300x", 8) == "Infinity Fabric");
    CHECK(topology("rtx-3060", 2) == "PCIe 4.0 x16");
    CHECK(topology("rtx-pro-6000-blackwell-server", 8) == "PCIe 5.0 x16 switches");
}

TEST_CASE("how PCIe joins the GPUs of a machine has a source, or is assumed to be the host bridge") {
    const GpuProfile card = minimal_card("ampere", "");
    CHECK(card.pcie == PcieTopology::host);
    CHECK(card.pcie_source.starts_with("assumed"));
    const GpuProfile switched = minimal_card("ampere", "[interconnect]\npcie = \"switch\"\npcie_source = \"a manual\"\n");
    CHECK(switched.pcie == PcieTopology::switched);
    CHECK(switched.pcie_source == "a manual");
    CHECK_NOTHROW(minimal_card("ampere", "[interconnect]\nnvlink_gb_s = 600\nnvlink_gpus = 2\npcie = \"switch\"\n"));
    const auto refusal = [](const std::string& keys) -> std::string {
        try {
            minimal_card("ampere", "[interconnect]\n" + keys);
        } catch (const Error& e) {
            return e.what();
        }
        return "";
    };
    const std::string slip = refusal("pcie = \"swich\"\n"), linked = refusal("nvlink_gb_s = 600\npcie = \"switch\"\n");
    for (const char* part : {"interconnect.pcie", "found swich", "host or switch", "did you mean switch"}) CHECK(contains(slip, part));
    CHECK(contains(linked, "NVLink connects all GPUs"));
    CHECK(contains(refusal("pcie_source = \"a manual\"\n"), "interconnect.pcie"));
    for (const GpuProfile& gpu : load_gpu_catalogue(gpus_dir())) {
        CAPTURE(gpu.id);
        CHECK(gpu.pcie_source != "the profile");  // a topology without a source
        CHECK((gpu.pcie == PcieTopology::host || !gpu.pcie_source.starts_with("assumed")));
    }
}

TEST_CASE("the largest group that exchanges data over PCIe is that of tensor or expert parallelism, or two stages") {
    GpuProfile gpu = toy_machine(8);
    CHECK(gpus_over_pcie({}, gpu) == 1);
    CHECK(gpus_over_pcie({.data = 8}, gpu) == 1);
    CHECK(gpus_over_pcie({.pipeline = 8}, gpu) == 2);
    CHECK(gpus_over_pcie({.tensor = 4, .pipeline = 2}, gpu) == 4);
    CHECK(gpus_over_pcie({.tensor = 2, .data = 4, .expert = 8}, gpu) == 8);
    gpu.nvlink = 600 * gb_per_s;
    CHECK(gpus_over_pcie({.tensor = 8}, gpu) == 1);
    gpu.nvlink_gpus = 2;
    CHECK(gpus_over_pcie({.tensor = 2}, gpu) == 1);
    CHECK(gpus_over_pcie({.tensor = 4, .pipeline = 2}, gpu) == 4);
}
