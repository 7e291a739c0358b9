#pragma once
/// What people read about each command, in one place: help, man pages, the reference in docs/ and the overview come from it.

#include <array>
#include <span>
#include <string_view>

namespace roofcast::cli {

/// Tasks that the overview groups commands by, in its order.
inline constexpr std::array<std::string_view, 4> tasks{"Predict and size", "Serve and buy", "Measure and calibrate", "Look things up"};

/// A command line that runs as it stands, in a checkout of the repository, and what it shows.
struct CommandExample {
    std::string_view command, shows;
};

struct CommandDoc {
    std::string_view name;         ///< "gpu show"
    std::string_view task;         ///< of `tasks`; empty: a subcommand, listed by its command
    std::string_view summary;      ///< a verb phrase without a full stop
    std::string_view description;  ///< sentences
    std::array<CommandExample, 2> examples;
};

/// Every command, in the order of the overview.
std::span<const CommandDoc> command_docs();

/// nullptr: no row is about `name`.
const CommandDoc* find_command_doc(std::string_view name);

}  // namespace roofcast::cli
