#pragma once
/// The terminal that standard output is shown on.

#include <cstddef>
#include <string>
#include <string_view>

namespace roofcast::cli {

/// Columns of text: those of the terminal, or of COLUMNS where that is set; 0 for a file or a pipe, which has no width.
std::size_t output_width();

/// Columns of the terminal that errors and notes are shown on; 0 where standard error is none.
std::size_t message_width();

/// Whether to color what is printed: `choice` is auto, always or never. auto: on a terminal where NO_COLOR is not set and TERM is not dumb.
bool wants_color(std::string_view choice);

/// Prints `text`, through a pager where it is longer than the screen of a terminal: ROOFCAST_PAGER, else PAGER, else less. A blank one,
/// `cat` and a dumb terminal print it directly.
void print_paged(const std::string& text);

}  // namespace roofcast::cli
