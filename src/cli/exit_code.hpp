#pragma once
/// What the program tells its caller: one rule for all commands, in docs/reference/exit-codes.md too.

namespace roofcast::cli {

enum class ExitCode {
    answered = 0,   ///< some row of what was asked has an answer
    no = 1,         ///< none has: nothing fits, meets the objective or is usable; a check found something; the result cannot be written
    bad_input = 2,  ///< the command line or a file is wrong
};

/// Ends a command whose report is written, with `code`. Its last call: it does not return unless all was answered.
void end_with(ExitCode code);

}  // namespace roofcast::cli
