/// Families of kernels of sparse attention, whose parameters libraries state.

#include <doctest/doctest.h>

#include "kernels/family.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/own_family.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::rel;

namespace {

const SparseAttention latent{.batch = 8,
                             .query_len = 1,
                             .heads = 16,
                             .head_dim = 576,
                             .value_dim = 512,
                             .keys = 100,
                             .most_keys = 2048,
                             .cached = 100,
                             .values_in_keys = true,
                             .decodes = true};

}  // namespace

TEST_CASE("a family takes sparse attention of its widths, caches and phase") {
    const SoftwareStacks software = test::with_own_family(
        "op = \"sparse_attention\"\nprompts = false\nkv_precisions = [\"fp8\"]\nhead_dims = [576]\nneeds_fit = false\n");
    const KernelFamily& family = *software.families.front();
    SparseAttention op = latent;
    CHECK_FALSE(takes(family, op));
    op.kv_precision = Precision::fp8;
    CHECK(takes(family, op));
    op.query_len = 2;  // verified
    CHECK(takes(family, op));
    op.decodes = false;
    CHECK_FALSE(takes(family, op));
    op.query_len = 1;  // a prompt of one token runs as decoding does
    CHECK(takes(family, op));
    op.head_dim = 512;
    CHECK_FALSE(takes(family, op));
}

TEST_CASE("a family without a fit runs on its own values and facts, and on the GPU's other parameters") {
    const SoftwareStacks software = test::with_own_family(
        "op = \"sparse_attention\"\nneeds_fit = false\npads_choice = true\nlatent_heads = 32\n"
        "values = { \"sparse_attention.decode.peak_fraction\" = 0.25 }\n");
    const Gpu device = test::shipped_gpu("h200-sxm-141gb");
    const Gpu seen = as_family_sees(device, *software.families.front());
    CHECK(seen.parameters.values.sparse.attention[1].peak_fraction == 0.25);
    CHECK(seen.parameters.values.sparse.attention[0].peak_fraction == device.parameters.values.sparse.attention[0].peak_fraction);
    CHECK(seen.profile.libraries.sparse.pads_choice);
    CHECK(seen.profile.libraries.sparse.latent_heads == 32);
}

TEST_CASE("values outside their bounds, and of no parameter, are refused") {
    CHECK_THROWS_AS(test::with_own_family("op = \"sparse_attention\"\nvalues = { \"sparse_attention.decode.peak_fraction\" = 1.5 }\n"),
                    Error);
    CHECK_THROWS_AS(test::with_own_family("op = \"sparse_attention\"\nvalues = { \"sparse_attention.decode.peak\" = 0.5 }\n"), Error);
}
