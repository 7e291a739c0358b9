#include "golden/measured.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

namespace roofcast::test {

Measured::Measured(const std::vector<std::filesystem::path>& files) : measurements_(read_measurements(files)) {
    const MeasuringHosts hosts = load_measuring_hosts(software_dir() / "hosts.toml");
    Predictors with;
    with.gpu = [this](const std::string& id) {
        const auto known = gpus_.find(id);
        if (known != gpus_.end()) return static_cast<const Gpu*>(&known->second);
        return static_cast<const Gpu*>(&gpus_.emplace(id, test::shipped_gpu(id)).first->second);
    };
    mark_rows(load_software(software_dir()), hosts, measurements_.kernels,
              [&with](const std::string& id) { return &with.gpu(id)->profile; });
    with.host_launch = [&hosts](const KernelRow& row) { return host_launch(hosts, row); };
    if (!measurements_.models.empty())
        with.model = model_predictor(load_workload_catalogue(models_dir()), load_software(software_dir()), hosts);
    validation_ = judge(measurements_, with);
}

const AccuracyGroup& group_of(const std::vector<AccuracyGroup>& groups, const std::vector<std::string>& values) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const AccuracyGroup& group) { return group.values == values; });
    REQUIRE(found != groups.end());
    return *found;
}

}  // namespace roofcast::test
