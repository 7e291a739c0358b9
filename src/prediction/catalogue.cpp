#include "roofcast/catalogue.hpp"

#include <utility>

#include "io/data_folder.hpp"

namespace roofcast {

Catalogue Catalogue::shipped() {
    return Catalogue(data_folder(std::nullopt));
}

Catalogue::Catalogue(std::filesystem::path folder)
    : folder_(data_folder(std::move(folder))), software_(std::make_shared<const SoftwareStacks>(load_software(folder_ / "software"))) {}

CatalogueGpu Catalogue::gpu(std::string_view id_or_file) const {
    Gpu gpu = load_gpu(folder_ / "gpus", id_or_file);
    gpu.profile = with_libraries(std::move(gpu.profile), *software_);
    return {std::move(gpu), software_};
}

Workload Catalogue::model(std::string_view id_or_file) const {
    return find_workload(folder_ / "models", id_or_file);
}

std::vector<GpuProfile> Catalogue::gpus() const {
    return load_gpu_catalogue(folder_ / "gpus");
}

Prediction predict(const Workload& workload, const CatalogueGpu& gpu, const Run& run) {
    return predict(workload, gpu, run, *gpu.software);
}

}  // namespace roofcast
