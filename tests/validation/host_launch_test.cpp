#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "roofcast/error.hpp"
#include "roofcast/validation.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "validation/row_request.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

KernelRow eager_row(const char* gpu, const char* function) {
    KernelRow row;
    row.gpu = gpu;
    row.op_name = "elementwise";
    row.function = function;
    row.launch_included = true;
    row.origin.source = "lab";
    return row;
}

constexpr const char* two_hosts =
    "[[host]]\nsource = \"lab\"\naround_us = 10\nfloor_us = 26\n[host.floors_us]\nrelu = 31\nelementwise = 27\n"
    "[[host]]\nsource = \"lab\"\ngpus = [\"slow\"]\naround_us = 20\nfloor_us = 43\n";

}  // namespace

TEST_CASE("a call takes the host's time or the kernel's and what surrounds it, the longer") {
    const HostLaunch host{26 * us, 10 * us};
    CHECK(with_launch(2 * us, host).in(us) == rel(26, 1e-12));
    CHECK(with_launch(16 * us, host).in(us) == rel(26, 1e-12));
    CHECK(with_launch(90 * us, host).in(us) == rel(100, 1e-12));
    CHECK(with_launch(5 * us, {}).in(us) == rel(5, 1e-12));
}

TEST_CASE("a burst of each call runs before the power limit takes hold") {
    KernelCost kernel;
    kernel.unthrottled = 800 * us;
    kernel.total = 1600 * us;  // half the speed
    CHECK(with_launch(kernel, {}).in(us) == rel(1600, 1e-12));
    // 500 us at full speed, 300 us of work at half.
    CHECK(with_launch(kernel, {.floor = {}, .around = 10 * us, .power = {.burst = 500 * us}}).in(us) == rel(500 + 600 + 10, 1e-12));
    CHECK(with_launch(kernel, {.floor = {}, .around = {}, .power = {.burst = 900 * us}}).in(us) == rel(800, 1e-12));
}

TEST_CASE("operands that draw less power are throttled less") {
    KernelCost kernel;
    kernel.unthrottled = 800 * us;
    kernel.total = 1600 * us;
    kernel.power = 1590 * us;
    CHECK(with_launch(kernel, {.floor = {}, .around = {}, .power = {.fraction = 0.6}}).in(us) == rel(1600 - 0.4 * 1590, 1e-12));
    CHECK(with_launch(kernel, {.floor = {}, .around = {}, .power = {.fraction = 0.1}}).in(us) == rel(800, 1e-12));
    // 500 us at full speed, 300 us of work at 964 / 800 of its time.
    CHECK(with_launch(kernel, {.floor = {}, .around = {}, .power = {.fraction = 0.6, .burst = 500 * us}}).in(us) ==
          rel(500 + 300 * 964 / 800.0, 1e-12));
}

TEST_CASE("power is averaged over the pauses before calls, though a GPU draws only so much for a moment") {
    KernelCost kernel;
    kernel.unthrottled = 800 * us;
    kernel.total = 1600 * us;
    kernel.power = 1590 * us;
    const auto loop = [&](PowerLoad load) { return with_launch(kernel, {.floor = {}, .around = {}, .power = load}).in(us); };
    // Kernels run for 800 of 1250 us, and take √0.64 of the time under sustained load.
    CHECK(loop({.pause = 450 * us}) == rel(1600 - 0.2 * 1590, 1e-12));
    CHECK(loop({.fraction = 0.9, .pause = 450 * us}) == rel(1600 - (1 - 0.9 * 0.8) * 1590, 1e-12));
    CHECK(loop({.pause = 450 * us, .least_fraction = 0.95}) == rel(1600 - 0.05 * 1590, 1e-12));
    CHECK(loop({.pause = 1 * s}) == rel(800, 1e-12));
    kernel.unthrottled = 80 * ms;  // hardly a pause
    kernel.total = 160 * ms;
    kernel.power = 159 * ms;
    CHECK(loop({.pause = 450 * us}) == rel(160e3 - (1 - std::sqrt(80 / 80.45)) * 159e3, 1e-12));
}

TEST_CASE("a least fraction of power needs a pause") {
    const std::string host = "[[host]]\nsource = \"lab\"\naround_us = 1\nfloor_us = 2\n";
    const test::TemporaryFile file("hosts.toml", host + "pause_us = 400\nleast_power_fraction = 0.88\n");
    const PowerLoad load = host_launch(load_measuring_hosts(file.path()), eager_row("any", "relu")).power;
    CHECK(load.pause.in(us) == rel(400, 1e-12));
    CHECK(load.least_fraction == 0.88);
    for (const std::string alone : {"least_power_fraction = 0.88\n", "pause_us = 4\nleast_power_fraction = 1.5\n"}) {
        CAPTURE(alone);
        const test::TemporaryFile broken("hosts.toml", host + alone);
        CHECK_THROWS_AS(load_measuring_hosts(broken.path()), Error);
    }
}

TEST_CASE("a host's power fractions are those of GEMMs in the precisions that it names") {
    const std::string host = "[[host]]\nsource = \"lab\"\naround_us = 1\nfloor_us = 2\n[host.power_fractions]\n";
    const test::TemporaryFile file("hosts.toml", host + "fp16 = 0.6\n");
    const auto hosts = load_measuring_hosts(file.path());
    KernelRow row = eager_row("any", "relu");
    row.op = Elementwise{.elements = 8, .precision = Precision::fp16};
    CHECK(host_launch(hosts, row).power.fraction == 1);
    row.op = Gemm{.m = 8, .n = 8, .k = 8, .precision = Precision::fp16};
    CHECK(host_launch(hosts, row).power.fraction == 0.6);
    row.op = Gemm{.m = 8, .n = 8, .k = 8, .precision = Precision::fp32};
    CHECK(host_launch(hosts, row).power.fraction == 1);
    for (const std::string wrong : {"pf16 = 0.6\n", "fp16 = 1.5\n"}) {
        CAPTURE(wrong);
        const test::TemporaryFile broken("hosts.toml", host + wrong);
        CHECK_THROWS_AS(load_measuring_hosts(broken.path()), Error);
    }
}

TEST_CASE("the host is chosen by source, GPU and function") {
    const test::TemporaryFile file("hosts.toml", two_hosts);
    const auto hosts = load_measuring_hosts(file.path());
    REQUIRE(hosts->stacks.size() == 2);
    CHECK(host_launch(hosts, eager_row("any", "relu")).floor.in(us) == rel(31, 1e-12));
    CHECK(host_launch(hosts, eager_row("any", "tanh")).floor.in(us) == rel(27, 1e-12));
    CHECK(host_launch(hosts, eager_row("slow", "relu")).floor.in(us) == rel(43, 1e-12));
    KernelRow other = eager_row("any", "relu");
    other.origin.source = "elsewhere";
    CHECK(host_launch(hosts, other).floor.in(us) == 0);
    KernelRow graph = eager_row("any", "relu");
    graph.launch_included = false;
    CHECK(host_launch(hosts, graph).floor.in(us) == 0);
}

TEST_CASE("hosts stand for launches, weight formats and rotation") {
    const test::TemporaryFile file("hosts.toml",
                                   "[[host]]\nsource = \"lab\"\nlaunch = \"excluded\"\nweights = [\"int4\"]\naround_us = 6\nfloor_us = 0\n"
                                   "[[host]]\nsource = \"lab\"\nlaunch = \"excluded\"\nrotated = [\"gemm\"]\naround_us = 1\nfloor_us = 0\n"
                                   "split_ungrouped = false\nungated_software = [\"vllm 0.24\"]\n"
                                   "ungated_experts = [{ hidden = 64, intermediate = 32 }]\n[host.arounds_us]\nbmm = 2\n");
    const auto hosts = load_measuring_hosts(file.path());
    KernelRow row = eager_row("any", "linear");
    row.op_name = "gemm";
    row.launch_included = false;
    row.cache = Cache::cold;
    row.op = Gemm{.m = 16, .n = 16, .k = 16, .precision = Precision::fp16, .weight_bits = 4};
    CHECK(host_launch(hosts, row).around.in(us) == rel(6, 1e-12));
    std::get<Gemm>(row.op).weight_bits = 4.25;  // with the scales of groups
    CHECK(host_launch(hosts, row).around.in(us) == rel(6, 1e-12));
    const auto with_meanings = [&](const Op& op, std::string software = {}) {
        KernelRow read = row;
        read.op = op;
        read.origin.software = std::move(software);
        std::vector<KernelRow> rows{read};
        mark_rows({}, hosts, rows);
        return rows[0];
    };
    CHECK(with_meanings(row.op).cache == Cache::cold);
    row.function = "bmm";
    row.op = Gemm{.m = 16, .n = 16, .k = 16, .precision = Precision::fp16, .weight_bits = 16};
    CHECK(host_launch(hosts, row).around.in(us) == rel(2, 1e-12));
    CHECK(with_meanings(row.op).cache == Cache::rotated);
    const KernelRow attention = with_meanings(Attention{.heads = 1, .kv_heads = 1, .head_dim = 64, .query_len = 1, .kv_len = 64});
    CHECK_FALSE(attention.caller.splits_ungrouped);
    const auto gated = [&](const Moe& moe, const std::string& software) { return std::get<Moe>(with_meanings(moe, software).op).gated; };
    const Moe ungated{.tokens = 1, .hidden = 64, .intermediate = 32, .experts = 8, .top_k = 2};
    CHECK_FALSE(gated(ungated, "vllm 0.24.0"));
    CHECK(gated(ungated, "vllm 0.19.0"));
    CHECK(gated(Moe{.tokens = 1, .hidden = 64, .intermediate = 64, .experts = 8, .top_k = 2}, "vllm 0.24.0"));
    row.launch_included = true;
    CHECK(host_launch(hosts, row).around.in(us) == 0);
}

TEST_CASE("a variant of a host says only what differs, and one of weights goes before one of a GPU") {
    const std::string host = "[[host]]\nsource = \"lab\"\nlaunch = \"excluded\"\nrotated = [\"gemm\"]\naround_us = 1\nfloor_us = 2\n";
    const std::string variants =
        "[[host.variant]]\ngpus = [\"slow\"]\naround_us = 3\npower_fractions = { fp16 = 0.5 }\n"
        "[[host.variant]]\nweights = [\"int4\"]\naround_us = 6\n";
    const test::TemporaryFile file("hosts.toml", host + variants);
    const auto hosts = load_measuring_hosts(file.path());
    const auto launch = [&](const char* gpu, double weight_bits) {
        KernelRow row = eager_row(gpu, "linear");
        row.launch_included = false;
        row.op = Gemm{.m = 16, .n = 16, .k = 16, .precision = Precision::fp16, .weight_bits = weight_bits};
        return host_launch(hosts, row);
    };
    CHECK(launch("any", 16).around.in(us) == rel(1, 1e-12));
    CHECK(launch("any", 16).power.fraction == 1);
    CHECK(launch("slow", 16).around.in(us) == rel(3, 1e-12));
    CHECK(launch("slow", 16).floor.in(us) == rel(2, 1e-12));
    CHECK(launch("slow", 16).power.fraction == 0.5);
    CHECK(launch("slow", 4).around.in(us) == rel(6, 1e-12));
    CHECK(launch("slow", 4).power.fraction == 1);
    for (const HostStack& stack : hosts->stacks) CHECK(stack.rotated == std::vector<std::string>{"gemm"});
    for (const std::string wrong : {"around_us = 3\n", "gpus = [\"slow\"]\naround = 3\n", "gpus = [\"slow\"]\nlaunch = \"never\"\n",
                                    "gpus = [\"slow\"]\nlaunch = \"included\"\n", "gpus = [\"slow\"]\nsource = \"elsewhere\"\n"}) {
        CAPTURE(wrong);
        const test::TemporaryFile broken("hosts.toml", host + "[[host.variant]]\n" + wrong);
        CHECK_THROWS_AS(load_measuring_hosts(broken.path()), Error);
    }
}

TEST_CASE("GEMMs of a source that writes their reduction into column n are read that way") {
    const std::string host = "[[host]]\nsource = \"lab\"\naround_us = 1\nfloor_us = 2\n";
    const auto read = [&](const std::string& more) {
        const test::TemporaryFile file("hosts.toml", host + more);
        KernelRow row = eager_row("any", "bmm");
        row.op = Gemm{.batch = 2, .m = 3, .n = 5, .k = 7};
        std::vector<KernelRow> rows{row};
        const auto hosts = load_measuring_hosts(file.path());
        mark_rows({}, hosts, rows);
        return std::get<Gemm>(rows[0].op);
    };
    CHECK(read("").n == 5);
    CHECK(read("reduction = \"k\"\n").k == 7);
    CHECK(read("reduction = \"n\"\n").n == 7);
    CHECK(read("reduction = \"n\"\n").k == 5);
    CHECK(read("reduction = \"n\"\n").m == 3);
    CHECK_THROWS_WITH_AS(read("reduction = \"m\"\n"),
                         doctest::Contains("reduction: unknown column of the reduction; found m; expected k or n"), Error);
}

TEST_CASE("the shipped host costs are read") {
    const auto hosts = load_measuring_hosts(test::software_dir() / "hosts.toml");
    CHECK(hosts->stacks.size() >= 4);
    const test::TemporaryFile bad("hosts.toml", "[[host]]\nsource = \"lab\"\naround_us = -1\nfloor_us = 2\n");
    CHECK_THROWS_AS(load_measuring_hosts(bad.path()), Error);
}

TEST_CASE("experts without a gate need engines, and engines need experts") {
    const std::string host = "[[host]]\nsource = \"lab\"\naround_us = 1\nfloor_us = 2\n";
    const std::string experts = "ungated_experts = [{ hidden = 64, intermediate = 32 }]\n",
                      engines = "ungated_software = [\"vllm 0.24\"]\n";
    const auto load = [&](const std::string& more) {
        const test::TemporaryFile file("hosts.toml", host + more);
        return load_measuring_hosts(file.path());
    };
    CHECK(load(experts + engines)->stacks[0].ungated_experts.size() == 1);
    CHECK_THROWS_AS(load(experts), Error);
    CHECK_THROWS_AS(load(engines), Error);
    CHECK_THROWS_AS(load(experts + "ungated_software = [\"\"]\n"), Error);
    CHECK_THROWS_AS(load(engines + "ungated_experts = [{ hidden = 0, intermediate = 32 }]\n"), Error);
    KernelRow row = eager_row("any", "moe");
    row.op = Moe{.tokens = 1, .hidden = 64, .intermediate = 32, .experts = 8, .top_k = 2};
    row.origin.software = "vllm 0.240";
    std::vector<KernelRow> rows{row};
    mark_rows({}, load(experts + engines), rows);
    CHECK(std::get<Moe>(rows[0].op).gated);
}

TEST_CASE("machines that ran whole models are read with the hosts, and what they lack is named") {
    const auto load = [](const std::string& machine) {
        const test::TemporaryFile file("hosts.toml", "[[machine]]\n" + machine);
        return load_measuring_hosts(file.path())->machines;
    };
    const auto machines = load("source = \"lab\"\ngpus = [\"t4\"]\nsoftware = \"pytorch\"\nhost_time = 1.2\n");
    REQUIRE(machines.size() == 1);
    CHECK(machines[0].source == "lab");
    CHECK(machines[0].gpus == std::vector<std::string>{"t4"});
    CHECK(machines[0].software == "pytorch");
    CHECK(machines[0].host_time == 1.2);
    CHECK_THROWS_WITH_AS(load("source = \"lab\"\nhost_time = 1\n"), doctest::Contains("gpus: a machine has GPUs"), Error);
    CHECK_THROWS_WITH_AS(load("source = \"lab\"\ngpus = [\"t4\"]\n"), doctest::Contains("host_time"), Error);
    CHECK_THROWS_WITH_AS(load("source = \"lab\"\ngpus = [\"t4\"]\nhost_time = 20\n"), doctest::Contains("host_time"), Error);
    CHECK_THROWS_WITH_AS(load("source = \"lab\"\ngpus = [\"t4\"]\nhost_time = 1\nspeed = 1\n"), doctest::Contains("speed"), Error);
}

TEST_CASE("each machine that is shipped stands for rows that are shipped, and none hides another") {
    const auto machines = load_measuring_hosts(test::software_dir() / "hosts.toml")->machines;
    REQUIRE_FALSE(machines.empty());
    const Measurements measurements = read_measurements({test::source_dir() / "validation_data" / "models"});
    std::vector<int> rows(machines.size(), 0);
    for (const ModelRow& row : measurements.models) {
        const auto stands = [&row](const HostMachine& machine) { return stands_for(machine, row, row.gpu); };
        CHECK(std::count_if(machines.begin(), machines.end(), stands) <= 1);
        const auto first = std::find_if(machines.begin(), machines.end(), stands);
        if (first != machines.end()) ++rows[static_cast<std::size_t>(first - machines.begin())];
    }
    for (std::size_t i = 0; i < machines.size(); ++i) {
        CAPTURE(machines[i].source);
        CHECK(rows[i] > 0);
    }
}

TEST_CASE("rows of whole models may mean what their columns do not say, by their source and software") {
    const auto load = [](const std::string& text) {
        const test::TemporaryFile file("hosts.toml", text);
        return load_measuring_hosts(file.path())->meanings;
    };
    const auto meanings = load(
        "[[rows]]\nsource = \"lab\"\nsoftware = \"engine\"\nmeans = \"engine 0.2\"\nrates_of_whole_calls = true\n"
        "[[rows]]\nsoftware = \"pytorch * nhwc\"\nlayout = \"nhwc\"\n");
    ModelRow row;
    row.phase = "decode";
    row.metric = Metric::tokens_per_s;
    row.origin = {.software = "Engine", .source = "lab of 2023"};
    CHECK(with_meanings(row, meanings).origin.software == "engine 0.2");
    CHECK(with_meanings(row, meanings).phase == "generate");
    CHECK_FALSE(with_meanings(row, meanings).channels_last);
    row.metric = Metric::tpot_ms;
    CHECK(with_meanings(row, meanings).phase == "decode");
    row.origin = {.software = "pytorch 2.4 nhwc", .source = "another lab"};
    CHECK(with_meanings(row, meanings).channels_last == true);
    CHECK(with_meanings(row, meanings).origin.software == row.origin.software);
    CHECK_THROWS_WITH_AS(load("[[rows]]\nlayout = \"nhwc\"\n"), doctest::Contains("source"), Error);
    CHECK_THROWS_WITH_AS(load("[[rows]]\nsource = \"lab\"\nlayout = \"rows\"\n"),
                         doctest::Contains("layout: unknown layout; found rows; expected nhwc or nchw"), Error);
}
