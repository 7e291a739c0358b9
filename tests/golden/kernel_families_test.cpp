/// Kernels of several engines, by the fits of their families: a guard against regressions of accuracy.
///
/// Fits saw these rows, so that this is no figure of unseen accuracy; docs/decisions/kernel-families.md has those. Ceilings are 1.1 times
/// the error of the day they were written.

#include <doctest/doctest.h>

#include <string>

#include "golden/measured.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

struct FileCeiling {
    const char* file;
    std::int64_t rows;    ///< that there are at least
    double mape_percent;  ///< that accuracy must stay below
};

void check_ceilings(std::initializer_list<FileCeiling> ceilings) {
    for (const FileCeiling& ceiling : ceilings) {
        CAPTURE(std::string(ceiling.file));
        const test::Measured measured(
            {test::source_dir() / "validation_data" / "kernels_by_family" / (std::string(ceiling.file) + ".csv")});
        const auto groups = measured.by({});
        REQUIRE(groups.size() == 1);
        CHECK(measured.validation().impossible.empty());
        CHECK(groups[0].ours.rows >= ceiling.rows);
        CHECK(groups[0].ours.mape_percent < ceiling.mape_percent);
        CHECK(groups[0].ours.mape_percent < 0.2 * groups[0].roofline.mape_percent);
    }
}

}  // namespace

TEST_CASE("attention blocks of models stay within their ceilings") {
    check_ceilings({{"mla_module", 2'980, 12.3}, {"sparse_attention_module", 2'930, 11.3}});
}

TEST_CASE("kernels of recurrent layers and hyper-connections stay within their ceilings") {
    check_ceilings({{"gated_delta", 1'852, 6.5}, {"kda", 821, 7.4}, {"mamba2", 460, 5.4}, {"mhc", 238, 6.5}});
}
