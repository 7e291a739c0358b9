#pragma once
/// Commands as functions, for callers in the same process: what a command would print is handed to them.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "document/table.hpp"

namespace roofcast::cli {

/// What a command says.
struct Answer {
    std::vector<Report> reports;  ///< one, but of `calibrate` one for each fit
    std::vector<std::string> notes;
    ExitCode code = ExitCode::answered;
};

/// The answer of a command line without the program's name. Nothing is printed. Throws Error with options for keys, as the program words
/// it, and NoAnswer where the question is sound and has no answer.
Answer answer(const std::vector<std::string>& words);

/// Where a command leaves its answer; nullptr: it prints it.
Answer* answer_of(const CLI::App& command);

/// Gives `use` the command of these words, such as {"gpu", "show"}, with all its options. Throws Error for an unknown one.
void with_command(const std::vector<std::string>& words, const std::function<void(const CLI::App&)>& use);

}  // namespace roofcast::cli
