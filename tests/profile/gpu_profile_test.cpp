#include "roofcast/gpu_profile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using doctest::Contains;
using roofcast::test::gpus_dir;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;

namespace {

const std::string minimal = R"(name = "My card"
architecture = "ampere"
memory_gb = 80
compute_tflops = 312
memory_bandwidth_gbps = 2039
)";

GpuProfile load(const std::string& text) {
    const TemporaryFile file("my-card.toml", text);
    return load_gpu_profile(file.path(), gpus_dir());
}

std::string with(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

bool is_assumed(const GpuProfile& gpu, const std::string& key) {
    return std::any_of(gpu.assumed.begin(), gpu.assumed.end(), [&](const Assumption& a) { return a.key == key; });
}

}  // namespace

TEST_CASE("a minimal profile loads, and what it does not say is derived from its architecture and marked assumed") {
    const GpuProfile gpu = load(minimal);
    CHECK(gpu.id == "my-card");
    CHECK(gpu.capacity->in(gib) == 80);
    CHECK(gpu.bandwidth.in(gb_per_s) == 2039);
    CHECK(gpu.tensor_peak[index(Precision::fp16)]->in(tflops) == rel(312, 1e-12));
    // A100: 312 TFLOPS / (2048 FLOP x 1.41 GHz) = 108.04 SMs; fp32 2 x 64 CUDA cores x 108.04 x 1.41 GHz = 19.5; tf32 half of fp16.
    CHECK(gpu.sm_count == 108);
    CHECK(gpu.vector_peak[index(Precision::fp32)]->in(tflops) == rel(19.5, 1e-3));
    CHECK(gpu.tensor_peak[index(Precision::tf32)]->in(tflops) == rel(156, 1e-3));
    CHECK(gpu.tensor_peak[index(Precision::int8)]->in(tflops) == rel(624, 1e-3));
    CHECK_FALSE(gpu.supports(Precision::fp8));
    CHECK(gpu.l2.in(mib) == rel(40, 0.01));
    for (const char* key : {"compute_capability", "compute_precision", "compute.sm_count", "compute.fp32_tflops", "compute.boost_clock_mhz",
                            "compute.int8_tensor_tops", "memory.l2_mib", "power.tdp_watts"}) {
        CAPTURE(key);
        CHECK(is_assumed(gpu, key));
    }
    CHECK_FALSE(is_assumed(gpu, "compute.fp16_tensor_tflops"));
    CHECK(check_gpu_profile(gpu).empty());
}

TEST_CASE("idle power that a profile does not state is a fraction of TDP, and what its memory draws") {
    const std::string power = minimal + "[power]\ntdp_watts = 300\n";
    // 0.1 of 300 W, and 0.005 W for each of 2039 GB/s.
    const GpuProfile hbm = load(power + "[memory]\ntype = \"HBM2e\"\n");
    CHECK(hbm.idle.in(watt) == rel(30 + 10.195, 1e-6));
    CHECK(is_assumed(hbm, "power.idle_watts"));
    // Without a type, that of the A100 whose figures these are.
    CHECK(load(power).idle.in(watt) == rel(30 + 10.195, 1e-6));
    // 0.06 W a GB/s would be more than half of TDP.
    CHECK(load(power + "[memory]\ntype = \"GDDR6\"\n").idle.in(watt) == rel(150, 1e-6));
    // 0.015 W a GB/s of GDDR7, which "GDDR" begins too.
    CHECK(load(power + "[memory]\ntype = \"GDDR7\"\n").idle.in(watt) == rel(30 + 30.585, 1e-6));
    const GpuProfile stated = load(power + "idle_watts = 50\nidle_source = \"nvidia-smi\"\n");
    CHECK(stated.idle.in(watt) == rel(50, 1e-12));
    CHECK_FALSE(is_assumed(stated, "power.idle_watts"));
}

TEST_CASE("the process is the architecture's, unless the profile states another") {
    CHECK(load(minimal).process_nm == 7);
    CHECK(load(minimal + "[compute]\nprocess_nm = 6\n").process_nm == 6);
}

TEST_CASE("a minimal profile may say which peak it gives") {
    const GpuProfile gpu = load(with(minimal, "compute_tflops = 312", "compute_tflops = 19.5\ncompute_precision = \"fp32\""));
    CHECK(gpu.sm_count == 108);
    CHECK(gpu.vector_peak[index(Precision::fp32)]->in(tflops) == rel(19.5, 1e-12));
    CHECK(gpu.tensor_peak[index(Precision::fp16)]->in(tflops) == rel(312, 2e-3));
    CHECK_FALSE(is_assumed(gpu, "compute_precision"));
    CHECK_FALSE(is_assumed(gpu, "compute.fp32_tflops"));
}

TEST_CASE("a minimal profile of an architecture without tensor cores gives its fp32 peak") {
    const GpuProfile gpu = load(with(with(with(with(minimal, "\"ampere\"", "\"Pascal\""), "312", "11.34"), "80", "11"), "2039", "484"));
    CHECK(gpu.vector_peak[index(Precision::fp32)]->in(tflops) == rel(11.34, 1e-12));
    CHECK(gpu.math_unit(Precision::fp16) == MathUnit::simt);
    // Compute capability 6.1 has fp16 CUDA cores at 1/64 of fp32: GEMMs are done in fp32 instead.
    CHECK(gpu.matmul_peak(Precision::fp16)->in(tflops) == rel(11.34, 1e-12));
}

TEST_CASE("an architecture without a file of its own is taken for a current GPU and says so") {
    const GpuProfile gpu = load(with(minimal, "\"ampere\"", "\"amphere\""));
    REQUIRE(is_assumed(gpu, "architecture"));
    CHECK(gpu.assumed.front().reason.find("did you mean ampere?") != std::string::npos);
}

TEST_CASE("an architecture may be written as vendors write it") {
    CHECK(load(with(minimal, "ampere", "Ada Lovelace")).architecture == "ada");
    CHECK(load(with(with(minimal, "ampere", "Blackwell Ultra"), "312", "225")).architecture == "blackwell");
    CHECK(load(with(minimal, "ampere", "CDNA 3")).architecture == "cdna3");
}

TEST_CASE("peaks that follow from one peak agree with SMs, clocks and ratios, whatever that peak") {
    int derived = 0;
    for (const char* peak : {"5", "20", "165", "1000"}) {
        for (const char* architecture : {"volta", "turing", "ampere", "ada", "hopper", "blackwell", "cdna3", "rdna3", "pascal", "apple"}) {
            CAPTURE(peak);
            CAPTURE(architecture);
            try {
                for (const ProfileFinding& f : check_gpu_profile(load(with(with(minimal, "312", peak), "ampere", architecture)))) {
                    CAPTURE(f.key);
                    CHECK_FALSE(f.key.ends_with("tflops"));
                    CHECK_FALSE(f.key.ends_with("tops"));
                }
                ++derived;
            } catch (const Error& e) {
                CHECK(std::string(e.what()).find("two readings") != std::string::npos);
            }
        }
    }
    CHECK(derived > 20);
}

TEST_CASE("what programs can allocate is counted in 2^30 bytes, less check bits among the data and the driver's part") {
    CHECK(load(minimal).usable_memory()->in(gib) == rel(80 * 0.985, 1e-12));
    CHECK(load(minimal + "[memory]\ntype = \"GDDR6\"\ninline_ecc = true\n").usable_memory()->in(gib) == rel(75 * 0.985, 1e-12));
    CHECK_FALSE(load(with(minimal, "memory_gb = 80\n", "")).usable_memory());
}

TEST_CASE("check bits among the data and slow memory controllers take bandwidth from the data") {
    const GpuProfile plain = load(minimal);
    CHECK(plain.data_bandwidth(Traffic::read) == plain.bandwidth);
    CHECK(plain.data_bandwidth(Traffic::copied) == plain.bandwidth);
    const GpuProfile checked = load(minimal + "[memory]\ntype = \"GDDR6\"\ninline_ecc = true\n");
    CHECK(checked.bandwidth == plain.bandwidth);
    CHECK(checked.bandwidth / checked.data_bandwidth(Traffic::read) == rel(1.0625, 1e-12));
    CHECK(checked.bandwidth / checked.data_bandwidth(Traffic::copied) == rel(1.19, 1e-12));
    const GpuProfile slow = load(minimal + "[memory]\ndelivered_fraction = 0.8\ndelivered_source = \"STREAM\"\n");
    CHECK(slow.data_bandwidth(Traffic::read) / slow.bandwidth == rel(0.8, 1e-12));
    CHECK(slow.data_bandwidth(Traffic::copied) / slow.bandwidth == rel(0.8, 1e-12));
    CHECK(slow.delivered_source == "STREAM");
}

TEST_CASE("bad profiles are refused with file, line, key, what was found and what was expected") {
    CHECK_THROWS_WITH_AS(load(with(minimal, "memory_gb", "memroy_gb")), Contains("my-card.toml:3: memroy_gb: unknown key"), Error);
    CHECK_THROWS_WITH_AS(load(with(minimal, "memory_gb", "memroy_gb")), Contains("did you mean memory_gb"), Error);
    CHECK_THROWS_WITH_AS(load(with(minimal, "312", "nan")), Contains("my-card.toml:4: compute_tflops: out of range; found nan"), Error);
    CHECK_THROWS_WITH_AS(load(with(minimal, "2039", "inf")), Contains("memory_bandwidth_gbps: out of range"), Error);
    CHECK_THROWS_WITH_AS(load(with(minimal, "80", "-80")),
                         Contains("memory_gb: out of range; found -80; expected a number of at least 0.01"), Error);
    CHECK_THROWS_WITH_AS(load(with(minimal, "2039", "1e308")), Contains("memory_bandwidth_gbps: out of range"), Error);
    CHECK_THROWS_WITH_AS(load(with(minimal, "312", "1e-300")), Contains("compute_tflops: out of range"), Error);
    CHECK_THROWS_WITH_AS(load(with(minimal, "80", "\"80\"")), Contains("memory_gb: wrong type"), Error);
    CHECK_THROWS_WITH_AS(load(with(minimal, "memory_bandwidth_gbps = 2039", "")),
                         Contains("memory.bandwidth_gb_s: a required key is missing"), Error);
    CHECK_THROWS_WITH_AS(load(with(minimal, "compute_tflops = 312", "")), Contains("neither fp32_tflops nor sm_count"), Error);
    CHECK_THROWS_WITH_AS(load(minimal + "[memory]\ncapacity_gb = 80\n"), Contains("given twice"), Error);
    CHECK_THROWS_WITH_AS(load(minimal + "[compute]\nbase_clock_mhz = 2000\nboost_clock_mhz = 1000\n"),
                         Contains("the base clock exceeds the boost clock"), Error);
    const std::string boost = minimal + "[compute]\nboost_clock_mhz = 1700\n", measured = "sustained_clock_source = \"a review\"\n";
    CHECK_THROWS_WITH_AS(load(boost + "sustained_clock_mhz = 1800\n"), Contains("compute.sustained_clock_source"), Error);
    CHECK_THROWS_WITH_AS(load(boost + measured), Contains("source of a clock that is not given"), Error);
    CHECK_THROWS_WITH_AS(load(boost + measured + "sustained_clock_mhz = 1600\n"),
                         Contains("sustained clock out of range; found 1600; expected from boost_clock_mhz (1700)"), Error);
    CHECK_THROWS_WITH_AS(load(minimal + "[compute]\n" + measured + "sustained_clock_mhz = 1800\n"), Contains("compute.boost_clock_mhz"),
                         Error);
    const std::string power = minimal + "[power]\ntdp_watts = 300\n", read = "idle_source = \"nvidia-smi\"\n";
    CHECK_THROWS_WITH_AS(load(power + "idle_watts = 40\n"), Contains("power.idle_source"), Error);
    CHECK_THROWS_WITH_AS(load(power + read), Contains("source of a power that is not given"), Error);
    CHECK_THROWS_WITH_AS(load(power + read + "idle_watts = 300\n"),
                         Contains("idle power out of range; found 300; expected less than tdp_watts (300)"), Error);
    CHECK_THROWS_WITH_AS(load(minimal + "[power]\n" + read + "idle_watts = 9000\n"), Contains("give power.tdp_watts"), Error);
    const std::string memory = minimal + "[memory]\n";
    CHECK_THROWS_WITH_AS(load(memory + "delivered_fraction = 0.8\n"), Contains("memory.delivered_source: a required key is missing"),
                         Error);
    CHECK_THROWS_WITH_AS(load(memory + "delivered_source = \"STREAM\"\n"), Contains("source of a share that is not given"), Error);
    CHECK_THROWS_WITH_AS(load(memory + "delivered_fraction = 1.2\n"), Contains("memory.delivered_fraction: out of range; found 1.2"),
                         Error);
    CHECK_THROWS_WITH_AS(load(memory + "type = \"HBM3\"\ninline_ecc = true\n"),
                         Contains("memory.inline_ecc: HBM3 stores ECC bits outside data memory; found true"), Error);
    CHECK_THROWS_WITH_AS(load(memory + "inline_ecc = 1\n"), Contains("memory.inline_ecc: wrong type"), Error);
    const std::string links = minimal + "[interconnect]\n";
    CHECK(load(links + "nvlink_gb_s = 600\nnvlink_gpus = 2\n").over_nvlink(2));
    CHECK_FALSE(load(links + "nvlink_gb_s = 600\nnvlink_gpus = 2\n").over_nvlink(3));
    CHECK_THROWS_WITH_AS(load(links + "nvlink_gb_s = 600\nnvlink_gpus = 1\n"), Contains("interconnect.nvlink_gpus: out of range"), Error);
    CHECK_THROWS_WITH_AS(load(links + "nvlink_gpus = 2\n"), Contains("interconnect.nvlink_gpus: applies to NVLink bridges"), Error);
    CHECK_THROWS_WITH_AS(load(links + "nvlink_gb_s = 600\nnvlink_switch = true\nnvlink_gpus = 2\n"), Contains("no nvlink_switch"), Error);
    CHECK_THROWS_WITH_AS(load(minimal + "[compute]\nprocess_nm = 0\n"), Contains("compute.process_nm"), Error);
    CHECK_THROWS_WITH_AS(load(minimal + "[[price]]\nkind = \"spot\"\nusd = 1\nsource = \"x\"\n"), Contains("unknown kind of price"), Error);
    CHECK_THROWS_WITH_AS(load("  \n"), Contains("the file is empty"), Error);
    CHECK_THROWS_WITH_AS(load("name = "), Contains("not valid TOML"), Error);
    CHECK_THROWS_WITH_AS(load_gpu_profile(gpus_dir()), Contains("this is a directory"), Error);
    CHECK_THROWS_WITH_AS(load_gpu_profile(gpus_dir() / "none.toml"), Contains("does not exist"), Error);
}

TEST_CASE("a profile may not claim arithmetic that its compute capability does not have") {
    const std::string volta = with(minimal, "\"ampere\"", "\"volta\"") + "compute_capability = \"7.0\"\n[compute]\n";
    CHECK_THROWS_WITH_AS(load(volta + "bf16_tensor_tflops = 125\n"), Contains("compute capability 7.0 has no bf16 tensor cores"), Error);
    CHECK_THROWS_WITH_AS(load(volta + "fp8_tensor_tflops = 250\n"), Contains("compute.fp8_tensor_tflops"), Error);
    CHECK_THROWS_WITH_AS(load(minimal + "compute_capability = \"8.9\"\n"), Contains("expected one of 8.0, 8.6, 8.7"), Error);
    CHECK_THROWS_WITH_AS(load(minimal + "compute_capability = \"eight\"\n"), Contains("invalid compute capability"), Error);
}

TEST_CASE("precision support follows compute capability") {
    const auto supports = [](const char* id, Precision p) {
        return load_gpu_profile(gpus_dir() / (std::string(id) + ".toml")).supports(p);
    };
    CHECK_FALSE(supports("v100-sxm2-16gb", Precision::bf16));
    CHECK_FALSE(supports("v100-sxm2-16gb", Precision::tf32));
    CHECK_FALSE(supports("t4", Precision::bf16));
    CHECK(supports("t4", Precision::int4));
    CHECK(supports("a100-sxm4-80gb", Precision::bf16));
    CHECK(supports("a100-sxm4-80gb", Precision::tf32));
    CHECK_FALSE(supports("a100-sxm4-80gb", Precision::fp8));
    CHECK(supports("l4", Precision::fp8));
    CHECK_FALSE(supports("h200-sxm-141gb", Precision::fp4));
    CHECK_FALSE(supports("h200-sxm-141gb", Precision::int4));
    CHECK(supports("b200-sxm", Precision::fp4));
    CHECK(supports("rtx-5090", Precision::fp4));
}

TEST_CASE("an unsupported precision is an error that says what the GPU has and offers the nearest") {
    const auto v100 = load_gpu_profile(gpus_dir() / "v100-sxm2-16gb.toml");
    CHECK_NOTHROW(require_precision(v100, Precision::fp16));
    CHECK_THROWS_WITH_AS(require_precision(v100, Precision::bf16),
                         "precision: Tesla V100 SXM2 16GB (compute capability 7.0) has no bf16 arithmetic; found bf16; "
                         "expected one of fp64, fp32, fp16, int8; the nearest it has is fp16",
                         Error);
    CHECK_THROWS_WITH_AS(require_precision(v100, Precision::fp8), Contains("the nearest it has is fp16 or int8"), Error);
    const auto p100 = load_gpu_profile(gpus_dir() / "p100-pcie-16gb.toml");
    CHECK_THROWS_WITH_AS(require_precision(p100, Precision::int8), Contains("the nearest it has is fp16"), Error);
}

TEST_CASE("GeForce tensor cores run at half rate with the fp32 accumulation that frameworks use") {
    const auto gpu = load_gpu_profile(gpus_dir() / "rtx-4090.toml");
    // Ada whitepaper: 330.3 TFLOPS with fp16 accumulation, 165.2 with fp32; fp8 660.6 and 330.3; int8 is not affected.
    CHECK(gpu.matmul_peak(Precision::fp16)->in(tflops) == rel(165.2, 1e-3));
    CHECK(gpu.fp16_accumulate_peak->in(tflops) == rel(330.3, 1e-3));
    CHECK(gpu.matmul_peak(Precision::fp8)->in(tflops) == rel(330.3, 1e-3));
    CHECK(gpu.matmul_peak(Precision::int8)->in(tflops) == rel(660.6, 1e-3));
    const auto pro = load_gpu_profile(gpus_dir() / "rtx-6000-ada.toml");
    CHECK(pro.matmul_peak(Precision::fp16)->in(tflops) == rel(364.2, 1e-3));
    CHECK_FALSE(pro.fp16_accumulate_peak.has_value());
}

TEST_CASE("a GTX 1660 is of compute capability 7.5 but has no tensor cores") {
    const auto gpu = load_gpu_profile(gpus_dir() / "gtx-1660.toml");
    CHECK(gpu.math_unit(Precision::fp16) == MathUnit::simt);
    CHECK(gpu.matmul_peak(Precision::fp16)->in(tflops) == rel(10.05, 1e-3));
}

TEST_CASE("gpu check finds what does not follow from SMs and clocks, and accepts a reason") {
    const std::string card = with(minimal, "compute_tflops = 312\n", "") +
                             "compute_capability = \"8.0\"\n[compute]\nsm_count = 108\nboost_clock_mhz = 1410\n"
                             "fp32_tflops = 19.5\nfp16_tensor_tflops = 280\n";
    const auto findings = check_gpu_profile(load(card));
    REQUIRE(findings.size() == 1);
    CHECK(findings.front().key == "fp16_tensor_tflops");
    // 108 SMs x 2048 FLOP x 1.41 GHz
    CHECK(findings.front().expected == "311.87 TFLOPS");
    CHECK_FALSE(findings.front().explained);
    const auto explained = check_gpu_profile(load(card + "[explained]\nfp16_tensor_tflops = \"measured part\"\n"));
    REQUIRE(explained.size() == 1);
    CHECK(explained.front().explained);
    CHECK(explained.front().reason == "measured part");
    const auto useless = check_gpu_profile(load(card + "[explained]\nfp16_tensor_tflops = \"x\"\nl2_mib = \"y\"\n"));
    REQUIRE(useless.size() == 2);
    CHECK(useless.back().rule == "nothing to explain");
}

TEST_CASE("gpu check knows what bandwidth a type of memory can have") {
    const auto findings = check_gpu_profile(load(minimal + "[memory]\ntype = \"GDDR6\"\n"));
    REQUIRE(findings.size() == 1);
    CHECK(findings.front().key == "bandwidth_gb_s");
}

TEST_CASE("a misspelt required key of a profile is named with its line") {
    const auto message = [](const std::string& text) -> std::string {
        try {
            load(text);
        } catch (const Error& e) {
            return e.what();
        }
        return "";
    };
    const std::string bandwidth = message(with(minimal, "bandwidth_gbps", "bandwidth_gbs"));
    CHECK(bandwidth.find("my-card.toml:5: memory_bandwidth_gbs: unknown key") != std::string::npos);
    CHECK(bandwidth.find("did you mean memory_bandwidth_gbps?") != std::string::npos);
    CHECK(message(with(minimal, "architecture", "architeture")).find("my-card.toml:2: architeture: unknown key") != std::string::npos);
    const std::string full = with(minimal, "memory_bandwidth_gbps = 2039", "[memory]\nbandwith_gb_s = 2039");
    CHECK(message(full).find("my-card.toml:6: memory.bandwith_gb_s: unknown key") != std::string::npos);
}

TEST_CASE("a GPU has CUDA cores, and the tensor cores that some format runs on") {
    GpuProfile gpu;
    gpu.vector_peak[index(Precision::fp32)] = 10 * tflops;
    CHECK(gpu.has_unit(MathUnit::simt));
    CHECK_FALSE(gpu.has_unit(MathUnit::tensor16));
    gpu.tensor_peak[index(Precision::int8)] = 100 * tflops;
    CHECK(gpu.has_unit(MathUnit::integer8));
    CHECK_FALSE(gpu.has_unit(MathUnit::tensor8));
    for (const Precision p : all_precisions) gpu.tensor_peak[index(p)] = 100 * tflops;
    for (const MathUnit unit : all_math_units) CHECK(gpu.has_unit(unit));
}
