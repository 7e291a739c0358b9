#include "document/html.hpp"

#include <doctest/doctest.h>

#include "document/markup.hpp"

using namespace roofcast;

namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// What a user's file can be called.
const std::string hostile = "</script><script>alert('x')</script>&amp; \"q\" {{data}} \x1b[31m";

Report hostile_report() {
    Report report;
    report.document["name"] = hostile;
    report.before = {hostile, "latency      12 ms"};
    report.tables.push_back({.title = hostile,
                             .columns = {{"name", "the name"}, {"time_ms", "time ms", 3}, {"fits", "fits"}},
                             .rows = {{hostile, 1.23456, true}, {std::string("b"), std::int64_t{7}, Cell()}}});
    report.charts.push_back({.key = "speed",
                             .kind = ChartKind::bar,
                             .title = hostile,
                             .x = {"time", "ms"},
                             .categories = {hostile},
                             .series = {{hostile, {{.x = 3, .y = 0, .label = hostile}}}}});
    return report;
}

/// Between the `from` and the `to` after it.
std::string between(const std::string& text, const std::string& from, const std::string& to) {
    const auto begin = text.find(from);
    REQUIRE(begin != std::string::npos);
    return text.substr(begin + from.size(), text.find(to, begin + from.size()) - begin - from.size());
}

}  // namespace

TEST_CASE("a page obeys nothing that names of others hold") {
    const std::string page = as_html(hostile_report(), hostile);
    CHECK_FALSE(has(page, "<script>alert"));
    CHECK_FALSE(has(page, "\x1b"));
    CHECK(has(page, "&lt;/script&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp; &quot;q&quot; {{data}}"));
}

TEST_CASE("a page holds the JSON of its report") {
    const Report report = hostile_report();
    const std::string data = between(as_html(report, "t"), "<script type=\"application/json\" id=\"data\">", "</script>");
    CHECK(nlohmann::json::parse(data) == nlohmann::json::parse(json_text(report)));
    CHECK(nlohmann::json::parse(data).at("name") == hostile);
}

TEST_CASE("tables of a page are tables, with keys, scopes and the numbers in full") {
    const std::string page = as_html(hostile_report(), "t");
    CHECK(has(page, "<th scope=\"col\" data-key=\"time_ms\" class=\"short number\"><button type=\"button\">time ms</button></th>"));
    CHECK(has(page, "<td class=\"number\" data-value=\"1.23456\">1.23</td>"));
    CHECK(has(page, "<td class=\"number\" data-value=\"7\">7</td>"));
    const Table mixed{.columns = {{"property", "property"}, {"value", "value"}},
                      .rows = {{std::string("a"), 1.5}, {std::string("b"), std::string("text")}}};
    Report report{.document = {{"rows", as_json(mixed)}}, .tables = {mixed}, .before = {}, .after = {}};
    CHECK(has(as_html(report, "t"), "<td class=\"short\" data-value=\"1.5\">1.5</td>"));
    CHECK(has(page, "<td class=\"short\">yes</td>"));
    CHECK(has(page, "<th scope=\"row\" class=\"short\">b</th>"));
}

TEST_CASE("facts become two columns") {
    Report report = hostile_report();
    report.facts = {{"latency", "12 ms"}};
    CHECK(has(as_html(report, "t"), "<p class=\"pair\"><span>latency</span> <span>12 ms</span></p>"));
}

TEST_CASE("a page needs no network") {
    const std::string page = as_html(hostile_report(), "t");
    for (const char* outside : {"<link", "src=\"", "@import", "url(", "sourceMappingURL"}) CHECK_FALSE(has(page, outside));
    CHECK(has(page, "Chart.js v3"));
    CHECK(has(page, "Released under the MIT License"));
}

TEST_CASE("a chart comes with words and a table of its data, and a page without charts has no library") {
    const std::string page = as_html(hostile_report(), "t");
    CHECK(has(page, "<canvas role=\"img\" aria-label=\"Bar chart: "));
    CHECK(has(page, "<table class=\"points\">"));
    Report plain = hostile_report();
    plain.charts.clear();
    CHECK_FALSE(has(as_html(plain, "t"), "Chart.js v3"));
    CHECK_FALSE(has(as_html(plain, "t"), "<canvas"));
    Report empty = hostile_report();
    empty.charts[0].series[0].points.clear();
    CHECK_FALSE(has(as_html(empty, "t"), "<canvas"));
}

TEST_CASE("markup and script escape what would end them") {
    CHECK(escaped("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
    CHECK(escaped("\x01") == "\\x01");
    CHECK(script_json("[\"</script>\"]") == "[\"\\u003c/script>\"]");
}

TEST_CASE("a page without a headline is headed by the models of its rows") {
    Report report;
    report.document["rows"] = 3;
    report.tables.push_back({.title = {},
                             .columns = {{"model", "model"}, {"gpu", "GPU"}},
                             .rows = {{std::string("resnet50"), std::string("t4")},
                                      {std::string("bert-base"), std::string("t4")},
                                      {Cell(), std::string("t4")},
                                      {std::string("resnet50"), std::string("l4")}}});
    CHECK(has(as_html(report, "t"), "<h1>resnet50, bert-base</h1>"));
    report.facts = {{"model", "ResNet-50, batch 8"}};
    CHECK(has(as_html(report, "t"), "<h1>ResNet-50, batch 8</h1>"));
    report.before = {"headline"};
    CHECK(has(as_html(report, "t"), "<h1>headline</h1>"));
    report.before.clear();
    report.facts.clear();
    report.tables.clear();
    CHECK(has(as_html(report, "t"), "<h1>t</h1>"));
}
