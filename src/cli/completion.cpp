#include "cli/completion.hpp"

#include <fmt/format.h>

#include "cli/help_page.hpp"

namespace roofcast::cli {

namespace {

std::vector<HelpOption> options_of(const HelpPage& page) {
    std::vector<HelpOption> all;
    for (const HelpGroup& group : page.groups) all.insert(all.end(), group.options.begin(), group.options.end());
    return all;
}

/// What bash calls to complete a value.
std::string bash_values(const HelpOption& option) {
    if (option.kind == ValueKind::file) return "files=1";
    if (const auto list = listed(option.kind); !list.empty())
        return fmt::format("words=$(roofcast completion --list {} 2>/dev/null)", list);
    return fmt::format("words='{}'", fmt::join(option.choices, " "));
}

/// Cases of bash: the words of a command, and how the values of its options are completed.
std::string bash_cases(const CLI::App& command) {
    const HelpPage page = help_page(command);
    std::vector<std::string> words;
    for (const CLI::App* inner : shown_subcommands(command)) words.push_back(inner->get_name());
    std::string values, positional;
    for (const HelpOption& option : options_of(page)) {
        if (option.positional()) {
            positional = bash_values(option);
            continue;
        }
        const auto names = flags_of(*option.option);
        words.insert(words.end(), names.begin(), names.end());
        if (option.value.empty()) continue;
        // Options of one value have it right behind them.
        const std::string distance = option.repeats() ? "*" : "1";
        for (const std::string& name : names)
            values += fmt::format("{}'{}':{}", values.empty() || values.back() == '\n' ? "            " : " | ", name, distance);
        values += fmt::format(") {}; return ;;\n", bash_values(option));
    }
    return fmt::format(
        "        '{}')\n            options='{}'\n            case $option:$distance in\n{}            esac\n{}            ;;\n", page.name,
        fmt::join(words, " "), values, positional.empty() ? "" : "            " + positional + '\n');
}

constexpr const char* bash_frame = R"(# bash completion of roofcast. Load it by: source <(roofcast completion bash)
_roofcast_values() {{
    local command=$1 option=$2 distance=$3
    options='' words='' files=''
    case $command in
{cases}    esac
}}

_roofcast() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} command='' option='' distance=0 i word options words files before=''
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        if [[ $word == = ]]; then continue; fi  # of --option=value, which bash cuts there
        case $command${{command:+ }}$word in
            {commands}) command=$command${{command:+ }}$word ;;
        esac
        ((distance++))
        if [[ $word == -* ]]; then option=$word distance=0; fi
    done
    ((distance++))
    if [[ $current == = ]]; then current=''; fi
    _roofcast_values "$command" "$option" "$distance"
    if [[ $current == -* || -z $words$files ]]; then words=$options files=''; fi
    if [[ -n $files ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
    fi
    # The last entry of a list with commas.
    if [[ $current == *,* ]]; then before=${{current%,*}}, current=${{current##*,}}; fi
    COMPREPLY=($(compgen -P "$before" -W "$words" -- "$current"))
}}
complete -F _roofcast roofcast
)";

}  // namespace

std::string_view listed(ValueKind kind) {
    if (kind == ValueKind::gpus) return "gpus";
    if (kind == ValueKind::models) return "models";
    if (kind == ValueKind::commands) return "commands";
    return kind == ValueKind::engines ? "engines" : "";
}

std::string bash_completion(const CLI::App& app) {
    std::string cases;
    std::vector<std::string> names;
    for (const CLI::App* command : all_commands(app)) {
        cases += bash_cases(*command);
        if (command != &app) names.push_back("'" + command_name(*command) + "'");
    }
    return fmt::format(fmt::runtime(bash_frame), fmt::arg("cases", cases), fmt::arg("commands", fmt::join(names, " | ")));
}

std::optional<std::string> completion_script(const CLI::App& app, std::string_view shell) {
    if (shell == "bash") return bash_completion(app);
    if (shell == "zsh") return zsh_completion(app);
    if (shell == "fish") return fish_completion(app);
    return std::nullopt;
}

}  // namespace roofcast::cli
