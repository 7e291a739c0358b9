#include "document/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "document/chart_axis.hpp"
#include "document/chart_json.hpp"
#include "document/condensed.hpp"
#include "document/markup.hpp"
#include "document/palette.hpp"
#include "document/web_assets.hpp"
#include "roofcast/version.hpp"

namespace roofcast {

namespace {

/// The number that a cell sorts by.
std::optional<double> sorted_by(const Cell& cell) {
    if (const auto* number = std::get_if<double>(&cell)) return std::isfinite(*number) ? std::optional(*number) : std::nullopt;
    if (const auto* count = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*count);
    return {};
}

constexpr std::size_t most_unwrapped = 28;  ///< bytes of text that stays in one line: ids, names of formats

std::string_view width_class(std::string_view text) {
    return text.size() <= most_unwrapped ? "short" : "long";
}

std::string table_head(const Table& table, const std::vector<bool>& numeric) {
    std::string out = "<thead><tr>";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const Column& column = table.columns[c];
        out += fmt::format("<th scope=\"col\" data-key=\"{}\" class=\"{}{}\"><button type=\"button\">{}</button></th>", escaped(column.key),
                           width_class(column.title), numeric[c] ? " number" : "", escaped(column.title));
    }
    return out + "</tr></thead>\n";
}

std::string table_row(const Table& table, const std::vector<Cell>& row, const std::vector<bool>& numeric) {
    std::string out = "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
        const std::string text = cell_text(row[c], table.columns[c].digits);
        const std::optional<double> value = sorted_by(row[c]);
        const std::string tag = c == 0 ? "th scope=\"row\"" : "td";
        const std::string number = value ? fmt::format(" data-value=\"{}\"", *value) : "";
        const std::string_view kind = numeric[c] ? "number" : width_class(text);
        out += fmt::format("<{} class=\"{}\"{}>{}</{}>", tag, kind, number, escaped(text), c == 0 ? "th" : "td");
    }
    return out + "</tr>\n";
}

/// Head and body.
std::string table_parts(const Table& table) {
    std::vector<bool> numeric;
    for (std::size_t c = 0; c < table.columns.size(); ++c) numeric.push_back(is_numeric_column(table, c));
    std::string out = table_head(table, numeric) + "<tbody>\n";
    for (const auto& row : table.rows) out += table_row(table, row, numeric);
    return out + "</tbody>";
}

std::string table_html(const Table& whole, std::size_t number) {
    const auto [table, same] = condensed(whole);
    const std::string id = fmt::format("table-{}", number);
    std::string out = fmt::format("<section{}>\n", table.title.empty() ? "" : fmt::format(" aria-labelledby=\"{}\"", id));
    if (!table.title.empty()) out += fmt::format("<h2 id=\"{}\">{}</h2>\n", id, escaped(table.title));
    if (!same.empty()) out += fmt::format("<p>In every row: {}.</p>\n", escaped(same));
    const std::string name = table.title.empty() ? "Table" : table.title;
    out += fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n<table class=\"data\">\n", escaped(name));
    return out + table_parts(table) + "</table></div>\n</section>\n";
}

/// The points of a chart, for readers who cannot see it.
Table points_table(const Chart& chart) {
    Table table;
    if (chart.series.size() > 1) table.columns.push_back({"series", "series"});
    if (chart.by_category()) table.columns.push_back({"category", chart.y.title.empty() ? "category" : chart.y.title});
    table.columns.push_back({"x", axis_text(chart.x)});
    if (!chart.by_category()) table.columns.push_back({"y", axis_text(chart.y)});
    bool intervals = false, labels = false;
    for (const ChartSeries& series : chart.series) {
        for (const ChartPoint& point : series.points) {
            intervals = intervals || point.low || point.high;
            labels = labels || !point.label.empty();
        }
    }
    if (intervals) table.columns.insert(table.columns.end(), {{"low", "low"}, {"high", "high"}});
    if (labels) table.columns.push_back({"label", "point"});
    const auto optional = [](const std::optional<double>& value) { return value ? Cell(*value) : Cell(); };
    for (const ChartSeries& series : chart.series) {
        for (const ChartPoint& point : series.points) {
            std::vector<Cell> row;
            if (chart.series.size() > 1) row.emplace_back(series.name);
            if (chart.by_category()) row.emplace_back(chart.categories.at(static_cast<std::size_t>(point.y)));
            row.emplace_back(point.x);
            if (!chart.by_category()) row.emplace_back(point.y);
            if (intervals) row.insert(row.end(), {optional(point.low), optional(point.high)});
            if (labels) row.emplace_back(point.label);
            table.rows.push_back(std::move(row));
        }
    }
    return table;
}

constexpr std::size_t most_listed = 500;  ///< points of a chart that its table lists; the page would be slow with thousands

std::string points_html(const Chart& chart) {
    Table table = points_table(chart);
    const std::size_t all = table.rows.size();
    if (all > most_listed) table.rows.resize(most_listed);
    std::string out = all > most_listed ? fmt::format("<details><summary>Data: the first {} of {} points</summary>\n", most_listed, all)
                                        : "<details><summary>Data</summary>\n";
    out += fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n<table class=\"points\">\n",
                       escaped("Data of the chart: " + chart.title));
    return out + table_parts(table) + "</table></div></details>\n";
}

std::string chart_html(const Chart& chart) {
    const std::string note = chart.note.empty() ? "" : fmt::format("<p class=\"note\">{}</p>", escaped(chart.note));
    return fmt::format(
               "<figure id=\"chart-{0}\">\n<figcaption><h2>{1}</h2>{2}</figcaption>\n<div class=\"chart\"><canvas role=\"img\" "
               "aria-label=\"{3}\" data-chart=\"{0}\"></canvas></div>\n",
               escaped(chart.key), escaped(chart.title), note, escaped(described(chart))) +
           points_html(chart) + "</figure>\n";
}

std::string charts_html(const std::vector<Chart>& charts) {
    std::string out;
    for (const Chart& chart : charts) {
        if (chart.has_points()) out += chart_html(chart);
    }
    return out.empty() ? out : "<div class=\"charts\">\n" + out + "</div>\n";
}

std::string facts_html(const Report& report) {
    std::string out;
    for (const auto& [name, value] : report.facts)
        out += fmt::format("<p class=\"pair\"><span>{}</span> <span>{}</span></p>\n", escaped(name), escaped(value));
    return out.empty() ? out : fmt::format("<div class=\"lines\">\n{}</div>\n", out);
}

/// A paragraph a line; empty lines part nothing that paragraphs do not part already.
std::string lines_html(const std::vector<std::string>& lines, std::string_view css) {
    std::string out;
    for (const std::string& line : lines) {
        if (!line.empty()) out += fmt::format("<p>{}</p>\n", escaped(line));
    }
    return out.empty() ? out : fmt::format("<div class=\"{}\">\n{}</div>\n", css, out);
}

/// The models of the rows: "resnet50, bert-base"; empty where they have none.
std::string models_of(const Table& rows) {
    const auto column = std::find_if(rows.columns.begin(), rows.columns.end(), [](const Column& c) { return c.key == "model"; });
    if (column == rows.columns.end()) return {};
    std::vector<std::string> models;
    for (const auto& row : rows.rows) {
        const auto* model = std::get_if<std::string>(&row[static_cast<std::size_t>(column - rows.columns.begin())]);
        if (model != nullptr) add_once(models, {*model});
    }
    constexpr std::size_t most = 5;
    return models.size() > most ? fmt::format("{} models", models.size()) : fmt::format("{}", fmt::join(models, ", "));
}

/// The report's own headline; without one, its model or those of its rows; without those, `title`.
std::string headline_of(const Report& report, const std::string& title) {
    if (!report.before.empty()) return report.before.front();
    if (!report.facts.empty() && report.facts.front().first == "model") return report.facts.front().second;
    const std::string models = models_of(report.data());
    return models.empty() ? title : models;
}

std::string page_body(const Report& report) {
    const auto rest = report.before.begin() + (report.before.empty() ? 0 : 1);
    std::string out = lines_html({rest, report.before.end()}, "lines") + facts_html(report) + charts_html(report.charts);
    for (std::size_t i = 0; i < report.tables.size(); ++i) out += table_html(report.tables[i], i + 1);
    return out + lines_html(report.after, "lines notes");
}

/// As custom properties of CSS, whose names begin with two dashes.
std::string css_colors(const PageColors& colors) {
    return fmt::format("{0}background:{1};{0}text:{2};{0}muted:{3};{0}line:{4};", "--", colors.background, colors.text, colors.muted,
                       colors.grid);
}

/// The page with each "{{name}}" replaced; what is put in is not looked at again.
std::string filled(std::string_view page, const std::vector<std::pair<std::string_view, std::string>>& parts) {
    std::string out;
    while (!page.empty()) {
        const auto open = page.find("{{"), close = page.find("}}", open);
        out += page.substr(0, open);
        if (open == std::string_view::npos || close == std::string_view::npos) break;
        const std::string_view name = page.substr(open + 2, close - open - 2);
        for (const auto& [key, text] : parts) {
            if (key == name) out += text;
        }
        page.remove_prefix(close + 2);
    }
    return out;
}

std::string chart_scripts() {
    return fmt::format("<script>\n{}</script>\n<script>\n{}</script>\n", web_chart_library, web_chart_script);
}

}  // namespace

std::string as_html(const Report& report, const std::string& title) {
    std::vector<Chart> drawn;
    for (const Chart& chart : report.charts) {
        if (chart.has_points()) drawn.push_back(chart);
    }
    const Json charts{{"colors", colors_json()}, {"charts", charts_json(drawn)}};
    const auto replace = Json::error_handler_t::replace;
    return filled(web_page, {{"title", escaped(title)},
                             {"headline", escaped(headline_of(report, title))},
                             {"version", escaped(named_version())},
                             {"schema", fmt::format("{}", schema_version)},
                             {"light", css_colors(light_colors)},
                             {"dark", css_colors(dark_colors)},
                             {"style", std::string(web_style)},
                             {"body", page_body(report)},
                             {"data", script_json(json_text(report))},
                             {"charts", script_json(charts.dump(-1, ' ', false, replace))},
                             {"tables", std::string(web_table_script)},
                             {"chart-scripts", drawn.empty() ? "" : chart_scripts()}});
}

}  // namespace roofcast
