/// 0: GPU profiles; 1: facts and parameters of architectures; 2: fit files; 3: models; 4: software stacks; 5: host stacks; 6: pipelines.

#include "fuzz/input.hpp"
#include "profile/architecture_facts.hpp"
#include "roofcast/calibration.hpp"
#include "roofcast/execution.hpp"
#include "roofcast/gpu_profile.hpp"
#include "roofcast/op_graph.hpp"
#include "roofcast/pipeline.hpp"
#include "roofcast/validation.hpp"
#include "workload/catalogue.hpp"

using namespace roofcast;

namespace {

void read_profile(std::string_view text) {
    // Two architectures of the shipped ones, with and without compute capabilities: reading all of them for each input would be slow.
    static const bool architectures_are_there = [] {
        for (const char* name : {"_default.toml", "hopper.toml", "ampere.toml"}) {
            const std::filesystem::path shipped = std::filesystem::path(ROOFCAST_SOURCE_DIR) / "gpus" / "arch" / name;
            std::filesystem::copy_file(shipped, fuzz::folder().path() / "arch" / name, std::filesystem::copy_options::overwrite_existing);
        }
        return true;
    }();
    static_cast<void>(architectures_are_there);
    static_cast<void>(check_gpu_profile(load_gpu_profile(fuzz::folder().file("gpu.toml", text), fuzz::folder().path())));
}

void read_architecture(std::string_view text) {
    const auto file = fuzz::folder().file("arch/fuzzed.toml", text);
    static_cast<void>(check_parameter_file(file));
    check_architecture_facts(file);
}

/// Each of the readers sees every file: what one of them refuses another may accept.
void read_fit(std::string_view text) {
    const auto file = fuzz::folder().file("gpu.fit.toml", text);
    const auto try_reading = [&file](auto read) {
        try {
            static_cast<void>(read(file));
        } catch (const Error&) {
            return;
        }
    };
    try_reading(load_residual_intervals);
    try_reading(load_fit_summary);
    try_reading(check_parameter_file);
}

void read_models(std::string_view text) {
    const auto file = fuzz::folder().file("models.toml", text);
    static_cast<void>(workload_names(file));
    for (const Workload& workload : load_workloads(file)) static_cast<void>(forward_graph(workload, {}));
}

void read_software(std::string_view text) {
    static_cast<void>(fuzz::folder().file("software.toml", text));
    static_cast<void>(load_software(fuzz::folder().path()).engine(Execution::eager, "engine 1.0"));
}

void read_hosts(std::string_view text) {
    static_cast<void>(load_measuring_hosts(fuzz::folder().file("hosts.toml", text)));
}

void read_pipeline(std::string_view text) {
    static_cast<void>(load_pipeline(fuzz::folder().file("pipeline.toml", text)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::array<fuzz::Reader, 7> readers{read_profile,  read_architecture, read_fit,     read_models,
                                                  read_software, read_hosts,        read_pipeline};
    return fuzz::read(data, size, readers);
}
