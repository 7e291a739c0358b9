#include "document/html_fragment.hpp"

#include <doctest/doctest.h>

using namespace roofcast;

TEST_CASE("html fragment: one element without scripts, in which texts of others are text") {
    const std::string hostile = "</div><script>alert('x')</script>";
    Report report;
    report.before = {hostile};
    report.facts = {{"latency", hostile}};
    report.after = {hostile};
    report.tables = {{.title = hostile, .columns = {{"name", "the name"}, {"time_ms", "time ms", 3}}, .rows = {{hostile, 1.23456}}}};
    report.charts.push_back({.key = "speed",
                             .kind = ChartKind::bar,
                             .title = hostile,
                             .x = {"time", "ms"},
                             .categories = {hostile},
                             .series = {{hostile, {{.x = 3, .y = 0, .label = hostile}}}}});
    const std::string html = as_html_fragment(report);
    CHECK(html.starts_with("<div class=\"roofcast\">"));
    CHECK(html.ends_with("</div>\n"));
    CHECK(html.find("<script") == std::string::npos);
    CHECK(html.find("</div>") == html.size() - 7);
    CHECK(html.find("<svg") != std::string::npos);
    CHECK(html.find(">1.23</td>") != std::string::npos);
}

TEST_CASE("html fragment: a long table shows its first sixty rows, and how many there are") {
    Report report;
    report.tables = {{.title = {}, .columns = {{"n", "n"}}, .rows = {}}};
    for (std::int64_t n = 1; n <= 61; ++n) report.tables.front().rows.push_back({n});
    const std::string html = as_html_fragment(report);
    CHECK(html.find(">60</td>") != std::string::npos);
    CHECK(html.find(">61</td>") == std::string::npos);
    CHECK(html.find("<p>60 of 61 rows</p>") != std::string::npos);
    report.tables.front().rows.pop_back();
    CHECK(as_html_fragment(report).find("rows</p>") == std::string::npos);
}
