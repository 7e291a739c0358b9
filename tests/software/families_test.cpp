#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "kernels/family.hpp"
#include "roofcast/error.hpp"
#include "roofcast/validation.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

/// Shipped software with one library of families in place of the shipped ones.
SoftwareStacks with_families(const std::string& families, const std::string& engine_lines = "") {
    const test::TemporaryFile ways("execution.toml", test::text_of(test::software_dir() / "execution.toml"));
    const auto folder = ways.path().parent_path();
    std::filesystem::create_directory(folder / "engines");
    std::filesystem::create_directory(folder / "libraries");
    std::ofstream(folder / "libraries" / "maker.toml") << "name = \"maker\"\nsource = \"a test\"\n" << families;
    std::ofstream(folder / "engines" / "card.toml")
        << "[[engine]]\nname = \"card\"\nmatch = [\"card\"]\nexecution = [\"eager\"]\nsource = \"a test\"\n"
        << engine_lines;
    return load_software(folder);
}

const std::string fast =
    "[[family]]\nname = \"fast-fp8\"\nop = \"gemm\"\nkernels = [\"fast_kernel\"]\nengines = [\"maker\"]\n"
    "precisions = [\"fp8\"]\nweights = [\"fp8_block\"]\nrows_include_quantization = true\nsource = \"a test\"\n";

Gemm gemm(Precision precision, bool block_scales) {
    return {
        .m = 16, .n = 4096, .k = 4096, .precision = precision, .weight_bits = native_weights(precision).bits, .block_scales = block_scales};
}

KernelRow row_of(const Op& op, std::string kernel, std::string software) {
    KernelRow row;
    row.op = op;
    row.kernel = std::move(kernel);
    row.origin.software = std::move(software);
    return row;
}

/// An H200 on which the family was found to take `factor` of the bandwidth.
Gpu fitted(const std::string& family, double bandwidth_fraction) {
    Gpu gpu = load_gpu(test::gpus_dir(), "h200-sxm-141gb");
    FamilyParameters own{family, gpu.parameters.values, {}};
    own.values.gemm[index(MathUnit::tensor8)].bandwidth_fraction = bandwidth_fraction;
    gpu.parameters.families = {own};
    return gpu;
}

}  // namespace

TEST_CASE("a family takes GEMMs of its formats alone") {
    const SoftwareStacks software = with_families(fast);
    REQUIRE(software.families.size() == 1);
    const KernelFamily& family = *software.families.front();
    CHECK(takes(family, gemm(Precision::fp8, true)));
    CHECK_FALSE(takes(family, gemm(Precision::fp8, false)));
    CHECK_FALSE(takes(family, gemm(Precision::bf16, false)));
    CHECK_FALSE(takes(family, Elementwise{.elements = 5}));
}

TEST_CASE("a run needs the fits of its engine's families alone, in whatever execution mode") {
    const SoftwareStacks software = load_software(test::software_dir());
    for (const char* engine : {"", "vllm", "sglang", "tensorrt-llm", "pytorch 2.11"}) {
        CAPTURE(engine);
        const std::vector<std::string> names = software.families_of(engine, "NVIDIA");
        for (std::size_t way = 0; way < execution_count; ++way) {
            for (const auto& family : software.find(static_cast<Execution>(way), engine, "NVIDIA").families)
                CHECK(std::count(names.begin(), names.end(), family->name) == 1);
        }
    }
    CHECK(software.families_of("vllm", "NVIDIA").size() < software.families.size());
}

TEST_CASE("an engine's GEMM runs on the parameters of the family that takes it, others on the GPU's") {
    const SoftwareStacks software = with_families(fast, "families = [\"fast-fp8\"]\n");
    const SoftwareStack& stack = software.find(Execution::eager, "card");
    const Gpu device = fitted("fast-fp8", 0.4), plain = load_gpu(test::gpus_dir(), "h200-sxm-141gb");
    const Gpu gpu = as_software_sees(device, stack);
    REQUIRE(gpu.families.size() == 1);
    const Op block = gemm(Precision::fp8, true), other = gemm(Precision::fp8, false);
    CHECK(cost(block, gpu, Cache::cold).total > cost(block, plain, Cache::cold).total);
    CHECK(cost(other, gpu, Cache::cold).total == cost(other, plain, Cache::cold).total);
    // A GPU on which the family was not fitted keeps what it was fitted to itself.
    CHECK(as_software_sees(plain, stack).families.empty());
    CHECK(as_software_sees(device, software.find(Execution::eager, "pytorch 2.11")).families.empty());
}

TEST_CASE("a measured row is of the family that lists its kernel, of the engine named") {
    const SoftwareStacks software = with_families(fast);
    std::vector<KernelRow> rows{
        row_of(gemm(Precision::fp8, true), "fast_kernel", "maker 1.2"), row_of(gemm(Precision::fp8, true), "fast_kernel", "another 1.2"),
        row_of(gemm(Precision::fp8, true), "slow_kernel", "maker 1.2"), row_of(gemm(Precision::bf16, false), "fast_kernel", "maker 1.2"),
        row_of(gemm(Precision::fp8, true), "", "maker 1.2")};
    mark_rows(software, {}, rows);
    REQUIRE(rows[0].family);
    CHECK(rows[0].family->name == "fast-fp8");
    CHECK(std::get<Gemm>(rows[0].op).dynamic_quantized);
    for (std::size_t i = 1; i < rows.size(); ++i) {
        CAPTURE(i);
        CHECK_FALSE(rows[i].family);
        CHECK_FALSE(std::get<Gemm>(rows[i].op).dynamic_quantized);
    }
}

TEST_CASE("attention's families tell formats, caches and windows apart") {
    const SoftwareStacks software = with_families(
        "[[family]]\nname = \"windows\"\nop = \"attention\"\nwindowed = true\ncached = true\n"
        "precisions = [\"bf16\"]\nsharing_groups = [2, 8]\nsource = \"a test\"\n");
    const KernelFamily& family = *software.families.front();
    Attention op{.batch = 1,
                 .heads = 32,
                 .kv_heads = 8,
                 .head_dim = 128,
                 .query_len = 1,
                 .kv_len = 4096,
                 .window = 128,
                 .precision = Precision::bf16,
                 .kv_precision = Precision::bf16};
    CHECK(takes(family, op));
    op.cached = false;
    CHECK_FALSE(takes(family, op));
    op.cached = true;
    op.window = 0;
    CHECK_FALSE(takes(family, op));
}

TEST_CASE("families that are named twice, misspelt or of unknown formats are refused") {
    const auto refusal = [](const std::string& families, const std::string& lines = "") -> std::string {
        try {
            with_families(families, lines);
        } catch (const Error& e) {
            return e.what();
        }
        return {};
    };
    CHECK(refusal(fast).empty());
    CHECK(refusal(fast + fast).find("two kernel families have the same name") != std::string::npos);
    CHECK(refusal(fast, "families = [\"fast-fp\"]\n").find("did you mean fast-fp8") != std::string::npos);
    CHECK(refusal("[[family]]\nname = \"x\"\nop = \"gemm\"\nprecisions = [\"fp9\"]\nsource = \"t\"\n").find("maker.toml:6") !=
          std::string::npos);
    CHECK(refusal("[[family]]\nname = \"x\"\nop = \"gemm\"\nweights = [\"q\"]\nsource = \"t\"\n").find("weights") != std::string::npos);
    CHECK(refusal("[[family]]\nname = \"x\"\nop = \"attention\"\nattention = \"q\"\nsource = \"t\"\n").find("unknown attention design") !=
          std::string::npos);
}

TEST_CASE("every fit of a family is of one that the software describes, and reads back") {
    const SoftwareStacks software = load_software(test::software_dir());
    std::set<std::string> names;
    for (const auto& family : software.families) names.insert(family->name);
    std::size_t fits = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(test::gpus_dir() / "fits" / "arch")) {
        const std::string file = entry.path().filename().string();
        if (!entry.is_regular_file() || entry.path().parent_path().filename() == "arch") continue;
        CAPTURE(entry.path());
        CHECK(names.contains(file.substr(0, file.find(".fit."))));
        CHECK(check_parameter_file(entry.path()) > 0);
        ++fits;
    }
    CHECK(fits > 0);
}

TEST_CASE("a family takes attention of its phase, widths and groups, on its architectures") {
    const SoftwareStacks software = with_families(
        "[[family]]\nname = \"wide\"\nop = \"attention\"\nkernels = [\"own\"]\nprompts = false\nhead_dims = [128, 256]\ngroups = [33, 64]\n"
        "architectures = [\"ada\"]\nneeds_fit = false\n");
    const KernelFamily& family = *software.families.front();
    const Attention decoding{.batch = 4, .heads = 64, .kv_heads = 1, .head_dim = 128, .query_len = 1, .kv_len = 100, .cached = true};
    CHECK(takes(family, decoding));
    const auto changed = [&decoding](auto&& change) {
        Attention op = decoding;
        change(op);
        return op;
    };
    CHECK_FALSE(takes(family, changed([](Attention& op) { op.kv_len = 1; })));  // a prompt of one token
    CHECK_FALSE(takes(family, changed([](Attention& op) { op.query_len = 2; })));
    CHECK_FALSE(takes(family, changed([](Attention& op) { op.head_dim = 64; })));
    CHECK_FALSE(takes(family, changed([](Attention& op) { op.kv_heads = 2; })));

    const Gpu h200 = load_gpu(test::gpus_dir(), "h200-sxm-141gb"), l40s = load_gpu(test::gpus_dir(), "l40s");
    std::vector<KernelRow> rows{row_of(decoding, "own", "maker 1.2"), row_of(decoding, "own", "maker 1.2"),
                                row_of(decoding, "own", "maker 1.2")};
    rows[0].gpu = "l40s";
    rows[1].gpu = "h200-sxm-141gb";
    rows[2].gpu = "unknown";
    mark_rows(software, {}, rows, [&](const std::string& id) -> const GpuProfile* {
        return id == "l40s" ? &l40s.profile : id == h200.profile.id ? &h200.profile : nullptr;
    });
    CHECK(rows[0].family != nullptr);
    CHECK(rows[1].family == nullptr);
    CHECK(rows[2].family != nullptr);
    CHECK(has_parameters(family, l40s));  // without a fit of it
}

TEST_CASE("a range of groups that begins after its end is an error") {
    CHECK_THROWS_AS((void)with_families("[[family]]\nname = \"wide\"\nop = \"attention\"\nkernels = [\"own\"]\ngroups = [8, 2]\n"), Error);
}
