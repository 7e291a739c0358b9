#include "document/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "document/condensed.hpp"
#include "io/printable.hpp"

namespace roofcast {

namespace {

constexpr std::size_t gap = 2;           ///< blanks between columns
constexpr std::size_t prose_width = 16;  ///< that long text needs to be read
constexpr std::size_t least_width = 8;   ///< of a column that is wrapped because nothing else helps

std::size_t longest_word(std::string_view text) {
    std::size_t longest = 0;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(' ', start), text.size());
        longest = std::max(longest, text_width(text.substr(start, end - start)));
        start = end + 1;
    }
    return longest;
}

std::vector<std::string> lines_of(const std::string& text, std::size_t width) {
    std::vector<std::string> lines;
    const std::string all = wrapped(text, width, 0);
    for (std::size_t start = 0; start <= all.size();) {
        const std::size_t end = std::min(all.find('\n', start), all.size());
        lines.push_back(all.substr(start, end - start));
        start = end + 1;
    }
    return lines;
}

std::string_view color_of(Tone tone) {
    switch (tone) {
        case Tone::good:
            return "\x1b[32m";
        case Tone::warning:
            return "\x1b[33m";
        case Tone::bad:
            return "\x1b[31m";
        case Tone::plain:
            break;
    }
    return {};
}

/// A column as it is drawn.
struct Drawn {
    Column column;
    std::vector<std::string> texts;  ///< of the rows
    bool numeric = false;
    std::size_t natural = 0;  ///< width of the longest text, without the heading
    std::size_t width = 0;    ///< that it gets

    [[nodiscard]] std::size_t least() const {
        const std::size_t heading = longest_word(column.title);
        return std::max(heading, column.prose ? std::min(natural, prose_width) : natural);
    }
};

std::vector<Drawn> drawn_columns(const Table& table) {
    std::vector<Drawn> columns;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        Drawn d{.column = table.columns[c], .texts = {}};
        for (const std::vector<Cell>& row : table.rows) {
            d.texts.push_back(cell_text(row[c], d.column.digits));
            d.natural = std::max(d.natural, text_width(d.texts.back()));
        }
        d.numeric = is_numeric_column(table, c);
        d.width = std::max(d.natural, text_width(d.column.title));
        columns.push_back(std::move(d));
    }
    return columns;
}

std::size_t total_width(const std::vector<Drawn>& columns) {
    const std::size_t gaps = columns.empty() ? 0 : gap * (columns.size() - 1);
    return std::accumulate(columns.begin(), columns.end(), gaps, [](std::size_t sum, const Drawn& d) { return sum + d.width; });
}

/// Gives columns that are narrower than their text what `width` leaves.
void widen(std::vector<Drawn>& columns, std::size_t width) {
    for (Drawn& d : columns) {
        const std::size_t total = total_width(columns), wanted = std::max(d.natural, text_width(d.column.title));
        if (total < width && d.width < wanted) d.width = std::min(wanted, d.width + width - total);
    }
}

/// Takes from the widest text until the rest fits.
void narrow(std::vector<Drawn>& columns, std::size_t width) {
    while (total_width(columns) > width) {
        const auto widest = std::max_element(columns.begin(), columns.end(), [](const Drawn& a, const Drawn& b) {
            return (a.numeric ? 0 : a.width) < (b.numeric ? 0 : b.width);
        });
        if (widest == columns.end() || widest->numeric || widest->width <= least_width) return;
        --widest->width;
    }
}

/// Whether a column is in every table. The first names its row.
bool stays(const std::vector<Drawn>& columns, std::size_t c) {
    return c == 0 || columns[c].column.show == Show::always || columns[c].column.show == Show::setting;
}

/// Fits `columns` into `width`: those that stay, then each other that there is room for, by priority. The number that was folded.
std::size_t fit(std::vector<Drawn>& columns, std::size_t width) {
    if (width == 0 || total_width(columns) <= width) return 0;
    std::vector<bool> shown(columns.size());
    std::size_t used = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        columns[c].width = columns[c].least();
        shown[c] = stays(columns, c);
        if (shown[c]) used += columns[c].width + (c > 0 ? gap : 0);
    }
    for (const Show show : {Show::usual, Show::wide}) {
        for (std::size_t c = 0; c < columns.size(); ++c) {
            if (shown[c] || columns[c].column.show != show || used + gap + columns[c].width > width) continue;
            shown[c] = true;
            used += gap + columns[c].width;
        }
    }
    std::size_t kept = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        if (shown[c] && kept++ != c) columns[kept - 1] = std::move(columns[c]);
    }
    const std::size_t folded = columns.size() - kept;
    columns.resize(kept);
    narrow(columns, width);
    widen(columns, width);
    return folded;
}

/// One row of several lines; `texts_of` and `tone_of` give a column's text and tone.
void draw_row(std::string& out, const std::vector<Drawn>& columns, const auto& texts_of, const auto& color) {
    std::vector<std::vector<std::string>> lines;
    std::size_t height = 1;
    for (const Drawn& d : columns) {
        lines.push_back(lines_of(texts_of(d), d.width));
        height = std::max(height, lines.back().size());
    }
    for (std::size_t l = 0; l < height; ++l) {
        std::string line;
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const std::string text = l < lines[c].size() ? lines[c][l] : "";
            const std::string padding(columns[c].width - std::min(columns[c].width, text_width(text)), ' ');
            const std::string_view begin = text.empty() ? std::string_view() : color(columns[c]);
            const std::string colored = begin.empty() ? text : fmt::format("{}{}\x1b[0m", begin, text);
            line += (c > 0 ? std::string(gap, ' ') : "") + (columns[c].numeric ? padding + colored : colored + padding);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    }
}

std::string as_card(const std::vector<Drawn>& columns, const TextStyle& style) {
    std::size_t names = 0;
    for (const Drawn& d : columns) names = std::max(names, text_width(d.column.title));
    std::string out;
    for (const Drawn& d : columns) {
        const std::string name = d.column.title + std::string(names - text_width(d.column.title) + gap, ' ');
        out += wrapped(name + d.texts.front(), style.width, names + gap) + '\n';
    }
    return out;
}

}  // namespace

std::size_t text_width(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
    std::string out(text);
    if (width == 0) return out;
    indent = std::min(indent, width / 2);  // each line takes some of the text
    std::size_t start = 0;
    while (text_width(std::string_view(out).substr(start)) > width) {
        // Bytes of the first `width` characters, and of those up to the last blank that can be given up.
        std::size_t end = start, characters = 0;
        for (; end < out.size() && characters <= width; ++end) {
            if ((static_cast<unsigned char>(out[end]) & 0xC0U) != 0x80U && ++characters > width) break;
        }
        const std::size_t first = out.find_first_not_of(' ', start + (start > 0 ? indent : 0));
        std::size_t blank = out.rfind(' ', end);
        const bool between_words = blank != std::string::npos && blank > start && blank > first;
        if (between_words) {
            out.replace(blank, 1, "\n" + std::string(indent, ' '));
        } else {
            // A word that is too long breaks behind a mark, else where it has to.
            const std::size_t mark = out.find_last_of("/,;=-_", end - 1);
            blank = mark != std::string::npos && mark > start + indent + width / 2 ? mark + 1 : end;
            out.insert(blank, "\n" + std::string(indent, ' '));
        }
        start = blank + 1;
    }
    return out;
}

std::string as_text(const Table& table, const TextStyle& style) {
    const Condensed shown = condensed(table);
    std::string out;
    if (style.headers && !table.title.empty()) out += wrapped(printable(table.title), style.width, 2) + '\n';
    if (style.headers && !shown.same.empty()) out += wrapped("in every row: " + shown.same, style.width, 2) + '\n';
    std::vector<Drawn> columns = drawn_columns(shown.table);
    if (columns.empty()) return out;
    std::vector<Drawn> fitted = columns;
    const std::size_t folded = fit(fitted, style.width);
    if (folded > 0 && table.rows.size() == 1 && style.headers) return out + as_card(columns, style);
    columns = std::move(fitted);
    const auto plain = [](const Drawn&) { return std::string_view(); };
    if (style.headers) {
        draw_row(
            out, columns, [](const Drawn& d) { return d.column.title; }, plain);
        draw_row(
            out, columns, [](const Drawn& d) { return std::string(d.width, '-'); }, plain);
    }
    for (std::size_t r = 0; r < shown.table.rows.size(); ++r) {
        const auto tone = [&](const Drawn& d) {
            const auto at = std::find_if(shown.table.columns.begin(), shown.table.columns.end(),
                                         [&d](const Column& c) { return c.key == d.column.key; });
            const Cell& cell = shown.table.rows[r][static_cast<std::size_t>(at - shown.table.columns.begin())];
            return style.color && d.column.tone ? color_of(d.column.tone(cell)) : std::string_view();
        };
        draw_row(
            out, columns, [r](const Drawn& d) { return d.texts[r]; }, tone);
    }
    if (folded > 0 && style.headers) out += fmt::format("+ {} column{}{}\n", folded, folded == 1 ? "" : "s", style.more);
    return out;
}

namespace {

std::string as_lines(const std::vector<std::string>& lines, std::size_t width) {
    std::string out;
    for (const std::string& line : lines) out += wrapped(printable(line, "\n"), width, 2) + '\n';
    return out;
}

std::string facts_text(const Report& report, std::size_t width) {
    std::size_t names = 0;
    for (const auto& [name, value] : report.facts) names = std::max(names, text_width(name));
    std::string out;
    for (const auto& [name, value] : report.facts) {
        const std::string line = printable(name) + std::string(names - text_width(name) + gap, ' ') + printable(value);
        out += wrapped(line, width, names + gap) + '\n';
    }
    return out;
}

}  // namespace

std::string as_text(const Report& report, const TextStyle& style) {
    std::string out;
    const auto add = [&out](const std::string& part) {
        if (part.empty()) return;
        out += (out.empty() ? "" : "\n") + part;
    };
    add(as_lines(report.before, style.width));
    add(facts_text(report, style.width));
    for (const Table& table : report.tables) add(as_text(table, style));
    add(as_lines(report.after, style.width));
    return out;
}

}  // namespace roofcast
