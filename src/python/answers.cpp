#include "cli/answer.hpp"
#include "cli/help_page.hpp"
#include "cli/option_docs.hpp"
#include "python/bindings.hpp"

namespace roofcast::python {

namespace {

/// What a command says, with the reports that objects of Python keep.
py::tuple answered(const std::vector<std::string>& words) {
    cli::Answer answer;
    {
        const py::gil_scoped_release others;
        answer = cli::answer(words);
        for (Report& report : answer.reports) report = with_keywords(std::move(report));
    }
    py::list reports, notes;
    for (Report& report : answer.reports) reports.append(std::make_shared<Report>(std::move(report)));
    for (const std::string& note : answer.notes) notes.append(with_keywords(note));
    return py::make_tuple(reports, notes, static_cast<int>(answer.code));
}

/// An option as functions of Python take it.
py::dict keyword(const CLI::Option& option, const std::string& command) {
    py::dict known;
    const cli::OptionDoc* doc = cli::find_option_doc(option, command);
    known["name"] = option.get_lnames().front();
    known["flag"] = option.get_expected_max() == 0;
    known["many"] = option.get_items_expected_max() > 1;
    known["choices"] = cli::choices_of(option, doc);
    known["type"] = option.get_type_name();
    known["help"] = with_keywords(option.get_description());
    known["value"] = doc == nullptr ? std::string() : std::string(doc->value);
    known["default"] = option.get_default_str();
    return known;
}

py::list options(const std::vector<std::string>& words) {
    py::list all;
    cli::with_command(words, [&all](const CLI::App& command) {
        for (const CLI::Option* option : command.get_options()) {
            if (!option->get_lnames().empty()) all.append(keyword(*option, cli::command_name(command)));
        }
    });
    return all;
}

}  // namespace

void bind_answers(py::module_& m) {
    m.def("answer", &answered, "Reports, notes and exit code of a command line.");
    m.def("options", &options, "Options of a command.");
    m.def("did_you_mean", &did_you_mean, "The nearest of the known names, as a question; empty: none is near.");
}

}  // namespace roofcast::python
