/// 0: GPU profiles; 1: facts and parameters of architectures; 2: fit files; 3: models; 4: software stacks; 5: host stacks; 6: pipelines.

#include "fuzz/input.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/targets.hpp"
#include "profile/architecture_facts.hpp"
#include "roofcast/calibration.hpp"
#include "roofcast/execution.hpp"
#include "roofcast/gpu_profile.hpp"
#include "roofcast/pipeline.hpp"
#include "roofcast/validation.hpp"
#include "workload/catalogue.hpp"

namespace roofcast {

namespace {

/// Two architectures of the shipped ones, with and without compute capabilities: reading all of them for each input would be slow.
/// Never changed.
const fuzz::PrivateFolder& architectures() {
    static const fuzz::PrivateFolder shipped;
    static const bool copied = [] {
        std::filesystem::create_directory(shipped.path() / "arch");
        for (const char* name : {"_default.toml", "hopper.toml", "ampere.toml"})
            std::filesystem::copy_file(fuzz::source_dir() / "gpus" / "arch" / name, shipped.path() / "arch" / name);
        return true;
    }();
    static_cast<void>(copied);
    return shipped;
}

/// What a name may become a path of: no folder, and none above.
void require_plain_id(std::string_view id, const char* of) {
    fuzz::require(!id.empty() && id.find('/') == std::string_view::npos && id.find('\\') == std::string_view::npos && id.front() != '.',
                  std::string("the id of a ") + of + " leads elsewhere: " + std::string(id));
}

void read_profile(std::string_view text) {
    const GpuProfile profile = load_gpu_profile(fuzz::folder().file("gpu.toml", text), architectures().path());
    require_plain_id(profile.id, "profile");
    static_cast<void>(check_gpu_profile(profile));
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
    for (const Workload& workload : load_workloads(file)) {
        require_plain_id(workload.id, "model");
        fuzz::require_sound_runs(workload);
    }
}

void read_software(std::string_view text) {
    try {
        static_cast<void>(load_kernel_libraries(fuzz::folder().file("libraries/x.toml", text).parent_path()));
    } catch (const Error&) {  // most texts are no library
    }
    std::filesystem::remove_all(fuzz::folder().path() / "libraries");
    static_cast<void>(fuzz::folder().file("execution.toml", text));
    static_cast<void>(load_software(fuzz::folder().path()).engine(Execution::eager, "engine 1.0"));
}

void read_hosts(std::string_view text) {
    static_cast<void>(load_measuring_hosts(fuzz::folder().file("hosts.toml", text)));
}

void read_pipeline(std::string_view text) {
    static_cast<void>(load_pipeline(fuzz::folder().file("pipeline.toml", text)));
}

}  // namespace

int fuzz::toml(const std::uint8_t* data, std::size_t size) {
    constexpr std::array<fuzz::Reader, 7> readers{read_profile,  read_architecture, read_fit,     read_models,
                                                  read_software, read_hosts,        read_pipeline};
    return fuzz::read(data, size, readers);
}

}  // namespace roofcast
