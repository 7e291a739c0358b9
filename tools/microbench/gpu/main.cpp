/// roofcast-microbench.

#include <unistd.h>

#include <cstdio>

#include "gpu/suites.hpp"
#include "gpu/timing.hpp"
#include "host/options.hpp"
#include "host/shapes_file.hpp"

namespace {

using namespace roofcast::microbench;

constexpr int failed = 1, bad_usage = 2;

/// Sends a case to its suite.
struct Dispatch {
    const Device& device;
    const Case& c;
    Outcome operator()(const Gemm& w) const { return measure_gemm(device, c, w); }
    Outcome operator()(const Convolution& w) const { return measure_convolution(device, c, w); }
    Outcome operator()(const Attention& w) const { return measure_attention(device, c, w); }
    Outcome operator()(const Elementwise& w) const { return measure_elementwise(device, c, w); }
    Outcome operator()(const RowWise& w) const { return measure_row_wise(device, c, w); }
    Outcome operator()(const Embedding& w) const { return measure_embedding(device, c, w); }
    Outcome operator()(const Memory& w) const { return measure_memory(device, c, w); }
    Outcome operator()(const Copy& w) const { return measure_copy(device, w); }
    Outcome operator()(const Launch& w) const { return measure_launch(device, w); }
    Outcome operator()(const Sustained& w) const { return measure_sustained(device, c, w); }
    Outcome operator()(const Collective& w) const { return measure_collective(device, w); }
};

void show_progress(std::size_t done, std::size_t of, double spent_s) {
    if (isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r%zu of %zu cases, %.0f s ", done, of, spent_s);
}

/// Of the file that the user named, else of the design. While measuring no budget limits the plan: cases that this GPU lacks take no time,
/// and what the budget holds shows as it is spent.
std::vector<PlannedCase> chosen_cases(const Options& options, std::optional<double> budget_s) {
    if (!options.shapes.empty()) return shapes_of_file(options.shapes, options.selection.seed);
    Selection selection = options.selection;
    selection.budget_s = budget_s;
    return plan(selection);
}

int measure(const Options& options) {
    const Device device(options.device);
    const std::string gpu = plain(options.gpu.empty() ? device.properties().name : options.gpu);
    RowFile kernels(options.output, kernel_format(), device.description(), options.resume);
    RowFile figures(options.device_file(), device_format(), device.description(), options.resume);
    const Surroundings surroundings{now_seconds, [](const std::string& text) { std::fprintf(stderr, "\r%s\n", text.c_str()); },
                                    show_progress};
    const auto result = run_campaign(
        chosen_cases(options, std::nullopt), options.selection.budget_s, gpu,
        [&](const Case& c) {
            return std::visit(Dispatch{device, c}, c.work);
        },
        kernels, figures, surroundings);
    std::fprintf(stderr, "\r%zu cases measured, %zu not possible, %zu already there%s; rows in %s and %s\n", result.measured, result.failed,
                 result.already_done, result.out_of_budget ? ", the budget is spent" : "", options.output.c_str(),
                 options.device_file().c_str());
    return result.measured + result.already_done > 0 ? 0 : failed;
}

int run(const std::vector<std::string>& arguments) {
    const Options options = parse_options(arguments);
    if (options.help) {
        std::fputs(help_text().data(), stdout);
        return 0;
    }
    if (options.list) {
        std::fputs(listing(chosen_cases(options, options.selection.budget_s)).c_str(), stdout);
        return 0;
    }
    return measure(options);
}

int report(const std::string& message, int code) {
    std::fprintf(stderr, "roofcast-microbench: %s\n", message.c_str());
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run({argv + 1, argv + argc});
    } catch (const UsageError& e) {
        return report(e.message, bad_usage);
    } catch (const FileError& e) {
        return report(e.message, bad_usage);
    } catch (const DeviceLost& e) {
        return report(std::string(e.what()) + "; the rows so far are kept: --resume continues", failed);
    } catch (const std::exception& e) {
        return report(e.what(), failed);
    }
}
