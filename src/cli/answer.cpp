#include "cli/answer.hpp"

#include "cli/command_line.hpp"
#include "cli/option_names.hpp"
#include "cli/program.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

/// A program that keeps what its commands say.
class AnsweringApp : public CLI::App {
public:
    AnsweringApp() : CLI::App("", "roofcast") {
        require_subcommand(1);
        add_commands(*this);
    }
    Answer answer;
};

const CLI::App& root_of(const CLI::App& command) {
    const CLI::App* parent = command.get_parent();
    return parent == nullptr ? command : root_of(*parent);
}

void parse_words(AnsweringApp& app, const std::vector<std::string>& words) {
    std::vector<std::string> texts{"roofcast"};
    texts.insert(texts.end(), words.begin(), words.end());
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    check_words(static_cast<int>(pointers.size()), pointers.data());
    try {
        app.parse(static_cast<int>(pointers.size()), pointers.data());
    } catch (const CLI::RuntimeError& e) {
        app.answer.code = static_cast<ExitCode>(e.get_exit_code());
    } catch (const CLI::ParseError& e) {
        throw Error(parse_error_detail(app, e));
    }
}

}  // namespace

Answer answer(const std::vector<std::string>& words) {
    AnsweringApp app;
    try {
        parse_words(app, words);
    } catch (const NoAnswer& e) {
        throw NoAnswer(with_options(e.detail(), chosen_command(app)));
    } catch (const Error& e) {
        throw Error(with_options(e.detail(), chosen_command(app)));
    }
    return std::move(app.answer);
}

Answer* answer_of(const CLI::App& command) {
    const auto* app = dynamic_cast<const AnsweringApp*>(&root_of(command));
    return app == nullptr ? nullptr : &const_cast<AnsweringApp*>(app)->answer;
}

void with_command(const std::vector<std::string>& words, const std::function<void(const CLI::App&)>& use) {
    AnsweringApp app;
    const CLI::App* command = &app;
    try {
        for (const std::string& word : words) command = command->get_subcommand(word);
    } catch (const CLI::OptionNotFound&) {
        throw Error({.what = "unknown command", .found = words.front()});
    }
    use(*command);
}

}  // namespace roofcast::cli
