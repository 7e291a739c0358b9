/// Engines under load: a guard against regressions of accuracy, on one load in twelve of those that are carried.
///
/// A third of the loads of InferenceX set three host times of each engine, so that this is no figure of unseen accuracy. Ceilings are 1.1
/// times the errors of the day they were written.

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "golden/measured.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

/// The header of `file`, and one row in `every`.
std::string thinned(const std::filesystem::path& file, int every) {
    std::ifstream in(file);
    std::string text, line;
    for (int row = 0; std::getline(in, line); ++row) {
        if (row % every == 0) text += line + '\n';
    }
    return text;
}

}  // namespace

TEST_CASE("served loads of current engines stay within their ceilings, TPOT apart from TTFT") {
    constexpr int every = 12;
    const test::TemporaryFile loads("loads.csv",
                                    thinned(test::source_dir() / "validation_data" / "serving" / "current_engines.csv", every));
    const test::Measured measured({loads.path()});
    const auto groups = measured.by({GroupKey::metric});
    const AccuracyGroup &tpot = test::group_of(groups, {"tpot_ms"}), &ttft = test::group_of(groups, {"ttft_ms"});
    CHECK(tpot.ours.rows >= 120);
    CHECK(tpot.ours.median_ape_percent < 9.8);
    CHECK(ttft.ours.rows >= 120);
    CHECK(ttft.ours.median_ape_percent < 27.8);
}
