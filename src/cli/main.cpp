#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "cli/command.hpp"
#include "roofcast/error.hpp"

namespace {

constexpr int failed = 1, bad_input = 2;

int run(int argc, char** argv) {
    CLI::App app{"roofcast: how fast a model runs on a GPU, how much memory it takes, and why", "roofcast"};
    app.set_version_flag("--version", "roofcast 0.1.0");
    app.require_subcommand(1);
    roofcast::cli::add_gpu_command(app);
    roofcast::cli::add_predict_command(app);
    roofcast::cli::add_memory_command(app);
    roofcast::cli::add_validate_command(app);
    roofcast::cli::add_calibrate_command(app);
    roofcast::cli::add_model_command(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return e.get_exit_code() == 0 ? app.exit(e) : (app.exit(e), bad_input);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const roofcast::Error& e) {
        fmt::print(stderr, "roofcast: {}\n", e.what());
        return bad_input;
    } catch (const std::exception& e) {
        fmt::print(stderr, "roofcast: {}\n", e.what());
        return failed;
    }
}
