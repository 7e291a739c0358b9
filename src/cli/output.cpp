#include "cli/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "cli/temporary_files.hpp"
#include "io/atomic_file.hpp"
#include "io/printable.hpp"
#include "io/write_all.hpp"
#include "io/write_error.hpp"

namespace roofcast::cli {

void prepare_output() {
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(standard, F_GETFD) >= 0) continue;
        // Read only, so that what is written there still fails. It gets the number that is looked at: all smaller ones are open.
        static_cast<void>(::open("/dev/null", O_RDONLY));
    }
    std::signal(SIGXFSZ, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
    remove_temporary_files_at_signals();
}

void print(std::string_view text) {
    const int error = write_all(STDOUT_FILENO, text);
    if (error == 0) return;
    if (error == EPIPE) {
        std::signal(SIGPIPE, SIG_DFL);
        static_cast<void>(std::raise(SIGPIPE));
    }
    throw WriteError({.what = "standard output cannot be written: " + system_reason(error), .suggestion = remedy(error)});
}

void message(std::string_view text) noexcept {
    try {
        static_cast<void>(write_all(STDERR_FILENO, printable(text, "\n") + '\n'));
    } catch (...) {
        // Out of memory: the text as it is would be obeyed by a terminal.
        static_cast<void>(write_all(STDERR_FILENO, "roofcast: out of memory\n"));
    }
}

void draw(std::string_view text) noexcept {
    static_cast<void>(write_all(STDERR_FILENO, text));
}

void write_file(const std::filesystem::path& file, std::string_view text) {
    write_file_atomically(file, text, &temporary_files());
}

}  // namespace roofcast::cli
