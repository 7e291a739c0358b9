#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "cli/output.hpp"

namespace roofcast::cli {

namespace {

constexpr std::size_t least_width = 40;  ///< narrower lines only break words

winsize screen(int descriptor = STDOUT_FILENO) {
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0) return {};
    return size;
}

bool prints_to_terminal() {
    return ::isatty(STDOUT_FILENO) == 1;
}

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

/// The pager's command; empty: none.
std::string pager() {
    if (variable("TERM").empty() || variable("TERM") == "dumb") return {};
    for (const char* name : {"ROOFCAST_PAGER", "PAGER"}) {
        const char* value = std::getenv(name);
        if (value == nullptr) continue;
        const std::string command = value;
        return command == "cat" || command.find_first_not_of(" \t") == std::string::npos ? std::string() : command;
    }
    return "less";
}

/// While a pager runs, an interrupt is for it alone.
class InterruptsIgnored {
public:
    InterruptsIgnored() : interrupt_(std::signal(SIGINT, SIG_IGN)), quit_(std::signal(SIGQUIT, SIG_IGN)) {}
    InterruptsIgnored(const InterruptsIgnored&) = delete;
    InterruptsIgnored& operator=(const InterruptsIgnored&) = delete;
    ~InterruptsIgnored() {
        std::signal(SIGINT, interrupt_);
        std::signal(SIGQUIT, quit_);
    }

private:
    void (*interrupt_)(int);
    void (*quit_)(int);
};

}  // namespace

std::size_t message_width() {
    const std::size_t columns = screen(STDERR_FILENO).ws_col;
    return columns == 0 ? 0 : std::max(least_width, columns);
}

std::size_t output_width() {
    std::size_t columns = 0;
    const std::string_view given = variable("COLUMNS");
    std::from_chars(given.data(), given.data() + given.size(), columns);
    if (columns == 0 && prints_to_terminal()) columns = screen().ws_col;
    return columns == 0 ? 0 : std::max(least_width, columns);
}

bool wants_color(std::string_view choice) {
    if (choice != "auto") return choice == "always";
    return prints_to_terminal() && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

void print_paged(const std::string& text) {
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    const std::string command = pager();
    const std::size_t rows = screen().ws_row;  // 0: the terminal does not say
    if (!prints_to_terminal() || rows == 0 || lines < rows || command.empty()) return print(text);
    ::setenv("LESS", "FRX", 0);  // leaves at once what fits the screen, shows colors, keeps the text on the screen
    FILE* pipe = ::popen(command.c_str(), "w");
    if (pipe == nullptr) return print(text);
    const InterruptsIgnored meanwhile;
    // A pager that is left before the end closes the pipe, which is no error.
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), pipe));
    constexpr int not_executable = 126, not_found = 127;  // of the shell
    const int status = ::pclose(pipe);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == not_executable || WEXITSTATUS(status) == not_found)) print(text);
}

}  // namespace roofcast::cli
