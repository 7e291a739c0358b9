#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <map>
#include <new>
#include <sstream>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/option_names.hpp"
#include "cli/output.hpp"
#include "cli/program.hpp"
#include "io/printable.hpp"
#include "io/write_error.hpp"
#include "roofcast/error.hpp"
#include "roofcast/version.hpp"

namespace {

using roofcast::did_you_mean;
using roofcast::ErrorDetail;

using roofcast::cli::ExitCode;

/// The innermost command that the user named.
const CLI::App& chosen(const CLI::App& app) {
    const auto named = app.get_subcommands();
    return named.empty() ? app : chosen(*named.front());
}

/// Names that could have stood in place of `word`: options, or commands.
std::vector<std::string> known_names(const CLI::App& command, const std::string& word) {
    std::vector<std::string> names;
    if (word.starts_with('-')) {
        for (const CLI::Option* option : command.get_options()) names.push_back(option->get_name());
    } else {
        for (const CLI::App* inner : command.get_subcommands([](const CLI::App*) { return true; })) names.push_back(inner->get_name());
    }
    return names;
}

/// The option that other tools of the field call `word`; empty: none.
std::string usual_option(const std::string& word) {
    static const std::map<std::string, std::string> others{{"--dtype", "--precision"},
                                                           {"--quantization", "--weights"},
                                                           {"--quant", "--weights"},
                                                           {"--kv-cache-dtype", "--kv"},
                                                           {"--kv-precision", "--kv"},
                                                           {"--batch-size", "--batch"},
                                                           {"--bs", "--batch"},
                                                           {"--input-len", "--prompt"},
                                                           {"--prompt-tokens", "--prompt"},
                                                           {"--isl", "--prompt"},
                                                           {"--output-len", "--generate"},
                                                           {"--max-tokens", "--generate"},
                                                           {"--max-new-tokens", "--generate"},
                                                           {"--osl", "--generate"},
                                                           {"--tensor-parallel-size", "--tp"},
                                                           {"--tensor-parallel", "--tp"},
                                                           {"--pipeline-parallel-size", "--pp"},
                                                           {"--data-parallel-size", "--dp"},
                                                           {"--enable-dp-attention", "--attention-dp"},
                                                           {"--num-gpus", "--gpus"},
                                                           {"--gpu-count", "--gpus"},
                                                           {"--engine", "--software"},
                                                           {"--backend", "--software"},
                                                           {"--request-rate", "--rate"},
                                                           {"--qps", "--rate"},
                                                           {"--max-concurrency", "--concurrency"},
                                                           {"--json", "--format json"},
                                                           {"--csv", "--format csv"}};
    const auto found = others.find(word.substr(0, word.find('=')));
    return found == others.end() ? std::string() : found->second;
}

/// What was probably meant by `word`, among the options or commands that `command` has.
std::string meant(const CLI::App& command, const std::string& word) {
    const auto names = known_names(command, word);
    const std::string usual = usual_option(word);
    const bool known = std::find(names.begin(), names.end(), usual.substr(0, usual.find(' '))) != names.end();
    return known ? fmt::format("did you mean {}?", usual) : did_you_mean(word, names);
}

/// What a value that could not be converted should have been: "1e3" is a whole number to people, though not to an option.
std::string written_out(const CLI::App& command, const std::string& message) {
    const auto equals = message.rfind("= "), name = message.find("--");
    if (equals == std::string::npos) return {};
    if (name < equals) {
        const CLI::Option* option = command.get_option_no_throw(message.substr(name, message.find(' ', name) - name));
        if (option != nullptr && option->get_type_name().starts_with("FLOAT")) return "a number is needed";
    }
    const std::string word = message.substr(equals + 2);
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    constexpr double largest = 1e15;
    if (end == word.c_str() || *end != '\0' || !(std::abs(value) < largest) || value != std::floor(value))
        return "a whole number is needed";
    return fmt::format("did you mean {:.0f}?", value);
}

/// One message for a wrong command line.
std::string message(const CLI::App& app, const CLI::ParseError& e) {
    const CLI::App& command = chosen(app);
    const auto left = app.remaining(true);
    ErrorDetail detail{.what = roofcast::printable(e.what())};
    if (!left.empty()) {
        detail.what = left.front().starts_with('-') ? "unknown option" : &command == &app ? "unknown command" : "unexpected argument";
        detail.found = left.front();
        detail.suggestion = meant(command, left.front());
    } else if (dynamic_cast<const CLI::ConversionError*>(&e) != nullptr) {
        detail.suggestion = written_out(command, e.what());
    }
    std::string prefix;
    for (const CLI::App* inner = &command; inner != &app; inner = inner->get_parent()) prefix = inner->get_name() + " " + prefix;
    if (!detail.suggestion.empty()) detail.suggestion += "; ";
    detail.suggestion += fmt::format("see roofcast {}--help", prefix);
    return roofcast::Error(detail).what();
}

/// "010" is ten to people and eight to the parser.
void refuse_leading_zeros(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        std::string value = word.starts_with("--") ? word.substr(std::min(word.size(), word.find('=') + 1)) : word;
        if (value.starts_with('+') || value.starts_with('-')) value.erase(0, 1);
        const bool digits = std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
        if (value.size() < 2 || value.front() != '0' || !digits) continue;
        throw roofcast::Error(
            {.what = "a number with a leading zero",
             .found = word,
             .suggestion = fmt::format("write {}", value.substr(std::min(value.find_first_not_of('0'), value.size() - 1)))});
    }
}

/// Nothing that an option takes can be empty; the parser would take an empty value for an absent or a zero one.
void refuse_empty_values(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i], before = argv[i - 1];
        const bool inside = word.starts_with("--") && word.ends_with('=');
        if (!word.empty() && !inside) continue;
        throw roofcast::Error({.what = "the value is empty",
                               .key = inside                    ? word.substr(0, word.size() - 1)
                                      : before.starts_with('-') ? before
                                                                : "",
                               .suggestion = "give a value, or leave it out"});
    }
}

ExitCode complaint(const std::string& what, ExitCode code) {
    roofcast::cli::message("roofcast: " + what);
    return code;
}

/// An error of the command that ran, which says options where the library says fields.
ExitCode complaint(const roofcast::Error& e, const CLI::App& app, ExitCode code) {
    return complaint(roofcast::Error(roofcast::cli::with_options(e.detail(), chosen(app))).what(), code);
}

ExitCode run(CLI::App& app, int argc, char** argv) {
    refuse_empty_values(argc, argv);
    refuse_leading_zeros(argc, argv);
    app.set_version_flag("--version", std::string(roofcast::named_version()));
    app.require_subcommand(1);
    roofcast::cli::add_gpu_command(app);
    roofcast::cli::add_predict_command(app);
    roofcast::cli::add_memory_command(app);
    roofcast::cli::add_validate_command(app);
    roofcast::cli::add_calibrate_command(app);
    roofcast::cli::add_accuracy_command(app);
    roofcast::cli::add_model_command(app);
    roofcast::cli::add_software_command(app);
    roofcast::cli::add_bench_command(app);
    roofcast::cli::add_sweep_command(app);
    roofcast::cli::add_pipeline_command(app);
    roofcast::cli::add_cost_command(app);
    roofcast::cli::add_compare_command(app);
    roofcast::cli::add_serve_sim_command(app);
    roofcast::cli::add_recommend_command(app);
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
        return complaint(message(app, e), ExitCode::bad_input);
    }
    return ExitCode::answered;
}

ExitCode exit_code_of_run(int argc, char** argv) {
    CLI::App app{"roofcast: how fast a model runs on a GPU, how much memory it takes, and why", "roofcast"};
    try {
        return run(app, argc, argv);
    } catch (const roofcast::WriteError& e) {
        return complaint(e, app, ExitCode::no);
    } catch (const roofcast::NoAnswer& e) {
        return complaint(e, app, ExitCode::no);
    } catch (const roofcast::Error& e) {
        return complaint(e, app, ExitCode::bad_input);
    } catch (const std::bad_alloc&) {
        return complaint("out of memory: ask for less at once, or give this program more", ExitCode::no);
    } catch (const std::exception& e) {
        return complaint(e.what(), ExitCode::no);
    }
}

}  // namespace

int roofcast::cli::program(int argc, char** argv) {
    prepare_output();
    return static_cast<int>(exit_code_of_run(argc, argv));
}
