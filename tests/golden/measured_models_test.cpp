/// Whole models that others measured, by family and phase: a guard against regressions of accuracy.
///
/// GPUs with a fit saw most of these rows, so that this is no figure of unseen accuracy; docs/accuracy/ has those. Ceilings are 1.1 times
/// the errors of the day they were written.

#include <doctest/doctest.h>

#include <string>

#include "golden/measured.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

struct Ceiling {
    const char *family, *phase;
    std::int64_t rows;    ///< that there are at least: rows must not leave by silence
    double mape_percent;  ///< that accuracy must stay below
};

}  // namespace

TEST_CASE("measured models stay within their ceilings by family and phase, and far from what the data sheet alone would say") {
    const test::Measured measured({test::source_dir() / "validation_data" / "models"});
    const auto groups = measured.by({GroupKey::family, GroupKey::phase});
    // Rows without a phase are memory, which has no roofline.
    for (const Ceiling& ceiling :
         {Ceiling{"llm", "decode", 370, 10.1}, Ceiling{"llm", "prefill", 230, 15.1}, Ceiling{"llm", "generate", 210, 7.1},
          Ceiling{"encoder", "forward", 1490, 8.8}, Ceiling{"cnn", "forward", 1460, 8.5}, Ceiling{"detector", "forward", 109, 22},
          Ceiling{"vit", "forward", 570, 9.1}, Ceiling{"hybrid", "forward", 310, 4.9}, Ceiling{"diffusion", "forward", 104, 9.3},
          Ceiling{"vlm", "decode", 34, 12.1}, Ceiling{"llm", "", 97, 6.3}, Ceiling{"vlm", "", 16, 11.9}, Ceiling{"encoder", "", 6, 16.3}}) {
        CAPTURE(std::string(ceiling.family));
        CAPTURE(std::string(ceiling.phase));
        const AccuracyGroup& group = test::group_of(groups, {ceiling.family, ceiling.phase});
        CHECK(group.ours.rows >= ceiling.rows);
        CHECK(group.ours.mape_percent < ceiling.mape_percent);
        if (group.roofline.rows > 0) CHECK(group.ours.mape_percent < 0.6 * group.roofline.mape_percent);
    }
}
