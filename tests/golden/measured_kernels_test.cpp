/// Kernels that others measured, by operator and by file: a guard against regressions of accuracy.
///
/// GPUs and families with a fit saw these rows, so that this is no figure of unseen accuracy. Ceilings are 1.1 times the errors of the day
/// they were written.

#include <doctest/doctest.h>

#include <string>

#include "golden/measured.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

struct OperatorCeiling {
    const char* group;
    std::int64_t rows;    ///< that there are at least: rows must not leave by silence
    double mape_percent;  ///< that the error must stay below
};

void check_operators(const std::vector<AccuracyGroup>& groups, std::initializer_list<OperatorCeiling> ceilings) {
    for (const OperatorCeiling& ceiling : ceilings) {
        CAPTURE(std::string(ceiling.group));
        const AccuracyGroup& group = test::group_of(groups, {ceiling.group});
        CHECK(group.ours.rows >= ceiling.rows);
        CHECK(group.ours.mape_percent < ceiling.mape_percent);
    }
}

}  // namespace

TEST_CASE("measured kernels stay within their ceilings by operator") {
    const test::Measured measured({test::source_dir() / "validation_data" / "kernels"});
    check_operators(measured.by({GroupKey::op}), {{"gemm", 20400, 9.4},
                                                  {"attention", 5300, 7.5},
                                                  {"conv2d", 5300, 22},
                                                  {"elementwise", 3600, 4.3},
                                                  {"layernorm", 1050, 7.1},
                                                  {"softmax", 1050, 7.1},
                                                  {"rmsnorm", 250, 8.8},
                                                  {"moe", 1790, 9.3},
                                                  {"all_reduce", 450, 9.5},
                                                  {"all_gather", 189, 9.4},
                                                  {"all_to_all", 189, 11},
                                                  {"reduce_scatter", 189, 8.4}});
}

TEST_CASE("kernels of current engines stay within their ceilings by operator") {
    const test::Measured measured({test::source_dir() / "validation_data" / "kernels_by_family"});
    check_operators(measured.by({GroupKey::op}), {{"gemm", 2400, 11.4},
                                                  {"attention", 4900, 9.8},
                                                  {"mla", 3000, 12},
                                                  {"mla_bmm", 1700, 13},
                                                  {"moe", 3600, 17},
                                                  {"quantize", 1200, 9}});
}
