#include "io/field_names.hpp"

#include <doctest/doctest.h>

using namespace roofcast;

namespace {

std::optional<std::string> option(std::string_view field) {
    if (field == "batch") return "--batch";
    if (field == "parallel.tensor") return "--tp";
    return std::nullopt;
}

std::string renamed(std::string_view text) {
    return with_field_names(text, option, Backquotes::dropped);
}

}  // namespace

TEST_CASE("fields: those between backquotes get their other names, all else stays") {
    CHECK(renamed("use `parallel.tensor` 8 or a smaller `batch`") == "use --tp 8 or a smaller --batch");
    CHECK(with_field_names("a smaller `batch`", option, Backquotes::kept) == "a smaller `--batch`");
    for (const char* same :
         {"", "no field", "batch", "parallel.tensor: 3", "`roofcast gpu list`", "`batch", "batch`", "``", "`batch size`"}) {
        CAPTURE(std::string(same));
        CHECK(renamed(same) == same);
    }
}

TEST_CASE("fields: one is found behind other words between backquotes and behind a stray one") {
    CHECK(renamed("`unit = 2` or a smaller `batch`") == "`unit = 2` or a smaller --batch");
    CHECK(renamed("a stray ` and `batch`") == "a stray ` and --batch");
    CHECK(renamed("`batch``parallel.tensor`") == "--batch--tp");
}

TEST_CASE("fields: an error's key and texts are renamed, but neither a file's key nor what the user wrote") {
    const ErrorDetail detail{.what = "which `batch` must divide",
                             .key = "parallel.tensor",
                             .found = "`batch`",
                             .expected = "`batch`",
                             .suggestion = "`parallel.tensor` 2"};
    const ErrorDetail of_run = with_field_names(detail, option, Backquotes::dropped);
    CHECK(of_run.key == "--tp");
    CHECK(of_run.what == "which --batch must divide");
    CHECK(of_run.expected == "--batch");
    CHECK(of_run.suggestion == "--tp 2");
    CHECK(of_run.found == "`batch`");
    ErrorDetail in_file = detail;
    in_file.file = "run.toml";
    CHECK(with_field_names(in_file, option, Backquotes::dropped).key == "parallel.tensor");
}
