#include "cli/help_page.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofcast::cli {

namespace {

std::string described(const CLI::Option& option) {
    std::string text = option.get_description();
    if (!text.empty() && text.back() == '.') text.pop_back();
    std::string standard = option.get_default_str();
    if (standard.starts_with('[') && standard.ends_with(']')) standard = standard.substr(1, standard.size() - 2);  // of a list
    if (!standard.empty() && text.find("(default") == std::string::npos) text += fmt::format(" (default: {})", standard);
    return text;
}

HelpOption help_option(const CLI::Option& option, const std::string& command) {
    const OptionDoc* doc = find_option_doc(option, command);
    HelpOption shown{.names = fmt::format("{}", fmt::join(flags_of(option), ", ")),
                     .value = doc != nullptr                         ? std::string(doc->value)
                              : option.get_items_expected_max() == 0 ? ""
                                                                     : "VALUE",
                     .description = described(option),
                     .choices = choices_of(option, doc),
                     .kind = doc != nullptr ? doc->kind : ValueKind::free,
                     .required = option.get_required(),
                     .option = &option};
    if (shown.kind == ValueKind::free && !shown.choices.empty()) shown.kind = ValueKind::words;
    if (!shown.value.empty() && shown.repeats()) shown.value += command == "sweep" && !shown.positional() ? ",..." : "...";
    return shown;
}

std::vector<HelpGroup> groups_of(const CLI::App& command, const std::string& name) {
    std::vector<HelpGroup> groups;
    for (const std::string_view title : option_groups()) groups.push_back({std::string(title), {}});
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_group().empty()) continue;
        const OptionDoc* doc = find_option_doc(*option, name);
        const std::string_view title = doc != nullptr ? doc->group : other_options;
        const auto group = std::find_if(groups.begin(), groups.end(), [title](const HelpGroup& one) { return one.title == title; });
        group->options.push_back(help_option(*option, name));
    }
    for (HelpGroup& group : groups) {  // --help is the parser's first option and the reader's last
        std::stable_partition(group.options.begin(), group.options.end(),
                              [](const HelpOption& o) { return o.option->get_name() != "--help" && o.option->get_name() != "--version"; });
    }
    std::erase_if(groups, [](const HelpGroup& group) { return group.options.empty(); });
    return groups;
}

std::string usage_of(const HelpPage& page) {
    std::string usage = "roofcast" + (page.name.empty() ? "" : " " + page.name);
    if (!page.commands.empty()) return usage + " COMMAND [OPTIONS]";
    std::string positionals;
    bool others = false;
    for (const HelpGroup& group : page.groups) {
        for (const HelpOption& option : group.options) {
            const std::string name = option.names.substr(option.names.find("--") == std::string::npos ? 0 : option.names.find("--"));
            if (option.positional())
                positionals += option.required ? " " + option.value : " [" + option.value + "]";
            else if (option.required)
                usage += fmt::format(" {} {}", name, option.value);
            else
                others = true;
        }
    }
    return usage + (others ? " [OPTIONS]" : "") + positionals;
}

std::string summary_of(const CLI::App& command) {
    const CommandDoc* doc = find_command_doc(command_name(command));
    return doc != nullptr ? std::string(doc->summary) : command.get_description();
}

std::vector<HelpCommands> subcommands_of(const CLI::App& command) {
    std::vector<HelpCommands> groups;
    if (command.get_parent() == nullptr) {
        for (const std::string_view task : tasks) groups.push_back({std::string(task), {}});
    }
    groups.push_back({"Commands", {}});
    for (const CLI::App* inner : shown_subcommands(command)) {
        const CommandDoc* doc = find_command_doc(command_name(*inner));
        const auto group =
            std::find_if(groups.begin(), groups.end(), [doc](const HelpCommands& one) { return doc != nullptr && one.title == doc->task; });
        (group == groups.end() ? groups.back() : *group).commands.push_back({inner->get_name(), summary_of(*inner)});
    }
    std::erase_if(groups, [](const HelpCommands& group) { return group.commands.empty(); });
    return groups;
}

std::size_t place(const CLI::App& command) {
    const CommandDoc* doc = find_command_doc(command_name(command));
    return doc == nullptr ? command_docs().size() : static_cast<std::size_t>(doc - command_docs().data());
}

/// Of the program itself.
constexpr CommandExample first_examples[] = {
    {"roofcast predict -g h100 -m llama-3.1-8b -p fp8 -b 16", "how fast one GPU runs a model"},
    {"roofcast memory -m llama-3.1-70b -g h100 --tp 4", "whether it fits four GPUs"},
    {"roofcast recommend -m llama-3.1-8b --slo ttft=500ms,tpot=30ms --rate 5/s", "the cheapest GPU for a load"},
};

}  // namespace

std::vector<std::string> flags_of(const CLI::Option& option) {
    std::vector<std::string> flags;
    for (const std::string& name : option.get_snames()) flags.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) flags.push_back("--" + name);
    return flags;
}

std::string command_name(const CLI::App& command) {
    if (command.get_parent() == nullptr) return {};
    const std::string before = command_name(*command.get_parent());
    return before + (before.empty() ? "" : " ") + command.get_name();
}

std::vector<const CLI::App*> shown_subcommands(const CLI::App& command) {
    std::vector<const CLI::App*> shown = command.get_subcommands([](const CLI::App* inner) { return !inner->get_group().empty(); });
    std::stable_sort(shown.begin(), shown.end(), [](const CLI::App* a, const CLI::App* b) { return place(*a) < place(*b); });
    return shown;
}

std::vector<const CLI::App*> all_commands(const CLI::App& command) {
    std::vector<const CLI::App*> all{&command};
    for (const CLI::App* inner : shown_subcommands(command)) {
        const auto below = all_commands(*inner);
        all.insert(all.end(), below.begin(), below.end());
    }
    return all;
}

HelpPage help_page(const CLI::App& command) {
    HelpPage page{.name = command_name(command),
                  .usage = {},
                  .summary = summary_of(command),
                  .description = {},
                  .commands = subcommands_of(command),
                  .groups = {},
                  .examples = {}};
    page.groups = groups_of(command, page.name);
    page.usage = usage_of(page);
    if (const CommandDoc* doc = find_command_doc(page.name)) {
        page.description = doc->description;
        page.examples.assign(doc->examples.begin(), doc->examples.end());
    }
    if (page.name.empty()) page.examples.assign(std::begin(first_examples), std::end(first_examples));
    return page;
}

}  // namespace roofcast::cli
