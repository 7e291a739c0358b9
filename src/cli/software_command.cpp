
#include <memory>

#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "report/data_reports.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

struct SoftwareOptions {
    CommonOptions common;
    std::string name;
};

void show(const SoftwareOptions& options) {
    const SoftwareStacks software = load_software(options.common.software());
    const std::vector<const Engine*> engines = software.named(options.name);
    if (!engines.empty()) return write(software_report(engines), options.common);
    const auto mode = parse_execution(options.name);
    if (!mode) throw unknown_engine("name", options.name, software);
    write(software_report(software.by_execution[index(*mode)]), options.common);
}

}  // namespace

void add_software_command(CLI::App& app) {
    CLI::App* software = app.add_subcommand("software");
    software->require_subcommand(1);
    auto options = std::make_shared<SoftwareOptions>();
    CLI::App* list = software->add_subcommand("list");
    add_common_options(*list, options->common);
    list->callback([options] { write(software_list_report(load_software(options->common.software())), options->common); });
    CLI::App* shown = software->add_subcommand("show");
    add_common_options(*shown, options->common);
    shown->add_option("name", options->name, "Family, engine, engine with a version, or execution mode")->required();
    shown->callback([options] { show(*options); });
    CLI::App* keys = software->add_subcommand("keys");
    add_common_options(*keys, options->common);
    keys->callback([options] { write(software_keys_report(), options->common); });
}

}  // namespace roofcast::cli
