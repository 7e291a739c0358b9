#include <memory>

#include "cli/command.hpp"
#include "report/data_reports.hpp"

namespace roofcast::cli {

namespace {

struct BenchOptions {
    CommonOptions common;
    std::vector<std::string> files;
    std::vector<std::string> by{"file"};
};

std::vector<std::filesystem::path> paths(const BenchOptions& options) {
    return {options.files.begin(), options.files.end()};
}

void summarize(const BenchOptions& options) {
    write(bench_summary_report(read_bench(paths(options)), format_of(options.common)), options.common);
}

void compare_contestants(const BenchOptions& options) {
    const BenchData data = read_bench(paths(options));
    write(bench_comparison_report(compare(data.series, options.by), data.skipped), options.common);
}

CLI::App* add_subcommand(CLI::App& bench, const char* name, BenchOptions& options) {
    CLI::App* command = bench.add_subcommand(name);
    command
        ->add_option("files", options.files,
                     "Timings: measurement CSV of roofcast, JSON of google-benchmark, JSON or CSV of nvbench and llama-bench, times of "
                     "trtexec, or JSON of modes and metrics")
        ->required();
    add_common_options(*command, options.common);
    return command;
}

}  // namespace

void add_bench_command(CLI::App& app) {
    CLI::App* bench = app.add_subcommand("bench");
    bench->require_subcommand(1);

    auto of_summary = std::make_shared<BenchOptions>();
    CLI::App* summary = add_subcommand(*bench, "summarize", *of_summary);
    summary->callback([of_summary] { summarize(*of_summary); });

    auto of_comparison = std::make_shared<BenchOptions>();
    CLI::App* comparison = add_subcommand(*bench, "compare", *of_comparison);
    comparison
        ->add_option("--by", of_comparison->by, "Columns that tell contestants apart: file, gpu, precision, execution, mode or any other")
        ->delimiter(',')
        ->allow_extra_args(false)  // what follows is a file
        ->capture_default_str();
    comparison->callback([of_comparison] { compare_contestants(*of_comparison); });
}

}  // namespace roofcast::cli
