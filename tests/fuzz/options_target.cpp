/// Command lines, parsed and not run: lines of the input are words. Parsing ends in a parse error or in a command.

#include <CLI/CLI.hpp>

#include "cli/command.hpp"
#include "cli/help_command.hpp"
#include "fuzz/input.hpp"
#include "fuzz/targets.hpp"

namespace roofcast {

namespace {

/// No command runs: parsing ends with the last of its options. Its own callback stays, as it owns what options write to.
void stop_after_parsing(CLI::App& app) {
    app.parse_complete_callback([] { throw CLI::Success(); });
    for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) stop_after_parsing(*command);
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const auto end = text.find('\n');
        words.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return words;
}

}  // namespace

int fuzz::options(const std::uint8_t* data, std::size_t size) {
    CLI::App app{"roofcast", "roofcast"};
    app.require_subcommand(1);
    constexpr std::array commands{cli::add_gpu_command,       cli::add_predict_command,   cli::add_memory_command,
                                  cli::add_validate_command,  cli::add_calibrate_command, cli::add_model_command,
                                  cli::add_bench_command,     cli::add_sweep_command,     cli::add_pipeline_command,
                                  cli::add_cost_command,      cli::add_compare_command,   cli::add_serve_sim_command,
                                  cli::add_recommend_command, cli::add_software_command,  cli::add_help_commands};
    for (const auto add : commands) add(app);
    for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) stop_after_parsing(*command);
    std::vector<std::string> words = words_of({reinterpret_cast<const char*>(data), size});
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    try {
        app.parse(words);
    } catch (const CLI::ParseError&) {
    } catch (const Error&) {
    }
    return 0;
}

}  // namespace roofcast
