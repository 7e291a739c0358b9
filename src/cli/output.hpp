#pragma once
/// The one place that writes to standard output, to standard error and to files.

#include <filesystem>
#include <string_view>

namespace roofcast::cli {

/// Before anything else: a closed standard descriptor is taken, so that no file that is opened later gets its number and what is printed
/// there; and what the system answers to a failed write is left to those who write.
void prepare_output();

/// Writes to standard output. Throws WriteError with the system's reason. Ends the program, as usual, where nobody reads any more.
void print(std::string_view text);

/// A line on standard error, with control characters spelled out. A message that cannot be written is lost: there is nowhere to say so.
void message(std::string_view text) noexcept;

/// Raw text on standard error where that is a terminal, such as a progress bar.
void draw(std::string_view text) noexcept;

/// Writes a file as a whole; a signal leaves nothing beside it. Throws as AtomicFile does.
void write_file(const std::filesystem::path& file, std::string_view text);

}  // namespace roofcast::cli
