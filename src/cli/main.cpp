
#include <exception>
#include <new>
#include <sstream>

#include "cli/command.hpp"
#include "cli/command_line.hpp"
#include "cli/exit_code.hpp"
#include "cli/help_command.hpp"
#include "cli/option_names.hpp"
#include "cli/output.hpp"
#include "cli/program.hpp"
#include "cli/terminal.hpp"
#include "document/text_table.hpp"
#include "io/write_error.hpp"
#include "roofcast/error.hpp"
#include "roofcast/version.hpp"

namespace {

using roofcast::cli::ExitCode;

ExitCode complaint(const std::string& what, ExitCode code) {
    roofcast::cli::message(roofcast::wrapped("roofcast: " + what, roofcast::cli::message_width(), 2));
    return code;
}

/// An error of the command that ran, which says options where the library says fields.
ExitCode complaint(const roofcast::Error& e, const CLI::App& app, ExitCode code) {
    const CLI::App& command = roofcast::cli::chosen_command(app);
    return complaint(roofcast::Error(roofcast::cli::with_options(e.detail(), command)).what(), code);
}

ExitCode run(CLI::App& app, int argc, char** argv) {
    roofcast::cli::check_words(argc, argv);
    roofcast::cli::set_help_format(app);
    app.set_version_flag("--version", std::string(roofcast::named_version()), "Print the version and exit");
    app.require_subcommand(1);
    roofcast::cli::add_commands(app);
    if (argc <= 1) {
        roofcast::cli::print_overview(app);
        return ExitCode::answered;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::RuntimeError& e) {
        return static_cast<ExitCode>(e.get_exit_code());
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) {
            std::ostringstream help, nothing;
            app.exit(e, help, nothing);
            roofcast::cli::print(help.str());
            return ExitCode::answered;
        }
        return complaint(roofcast::cli::parse_error_text(app, e), ExitCode::bad_input);
    }
    return ExitCode::answered;
}

ExitCode exit_code_of_run(int argc, char** argv) {
    CLI::App app{"Predict how fast a model runs on a GPU, how much memory it takes, and why", "roofcast"};
    try {
        return run(app, argc, argv);
    } catch (const roofcast::WriteError& e) {
        return complaint(e, app, ExitCode::no);
    } catch (const roofcast::NoAnswer& e) {
        return complaint(e, app, ExitCode::no);
    } catch (const roofcast::Error& e) {
        return complaint(e, app, ExitCode::bad_input);
    } catch (const std::bad_alloc&) {
        roofcast::cli::message("roofcast: out of memory: ask for less at once, or give this program more");
        return ExitCode::no;
    } catch (const std::exception& e) {
        return complaint(e.what(), ExitCode::no);
    }
}

}  // namespace

void roofcast::cli::add_commands(CLI::App& app) {
    add_gpu_command(app);
    add_predict_command(app);
    add_memory_command(app);
    add_validate_command(app);
    add_calibrate_command(app);
    add_accuracy_command(app);
    add_model_command(app);
    add_software_command(app);
    add_bench_command(app);
    add_sweep_command(app);
    add_pipeline_command(app);
    add_cost_command(app);
    add_compare_command(app);
    add_serve_sim_command(app);
    add_recommend_command(app);
    add_help_commands(app);
}

int roofcast::cli::program(int argc, char** argv) {
    prepare_output();
    return static_cast<int>(exit_code_of_run(argc, argv));
}
