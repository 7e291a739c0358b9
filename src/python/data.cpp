#include "charts/charts.hpp"
#include "cli/run_options.hpp"
#include "io/data_folder.hpp"
#include "python/bindings.hpp"
#include "report/run_reports.hpp"
#include "roofcast/run_settings.hpp"
#include "roofcast/workload.hpp"

namespace roofcast::python {

namespace {

std::shared_ptr<Data> load_data(const std::string& folder) {
    const py::gil_scoped_release others;
    auto data = std::make_shared<Data>();
    data->folder = data_folder(folder.empty() ? std::nullopt : std::optional<std::filesystem::path>(folder));
    data->own_fits = folder.empty();
    data->software = load_software(data->folder / "software");
    return data;
}

/// The GPU and what the user should know of how it was chosen.
py::tuple load_gpu_object(const Data& data, const std::string& id_or_file) {
    auto gpu = std::make_shared<Gpu>();
    cli::Notes notes;
    {
        const py::gil_scoped_release others;
        gpu->profile = cli::load_chosen_gpu(data.folder / "gpus", id_or_file, notes);
        gpu->parameters = load_parameters(data.folder / "gpus", gpu->profile, data.own_fits ? user_data_folder() : std::filesystem::path());
    }
    return py::make_tuple(SharedGpu(gpu), notes.texts());
}

/// Whether a changed GPU may come from the one of this id.
bool is_origin(const Data& data, const std::string& id) {
    return is_known_origin(data.folder / "gpus", data.own_fits ? user_data_folder() : std::filesystem::path(), id);
}

SharedModel load_model_object(const Data& data, const std::string& id_or_file) {
    const py::gil_scoped_release others;
    return std::make_shared<Workload>(find_workload(data.folder / "models", id_or_file));
}

RunSettings run_settings_of(const Settings& settings) {
    RunSettings run;
    for (const auto& [name, text] : settings) set(run, name, text);
    return run;
}

/// The report, and what the user should know besides.
py::tuple predicted(const Data& data, const std::vector<SharedModel>& models, const std::vector<SharedGpu>& gpus, const Settings& settings,
                    bool explain) {
    cli::Notes notes;
    std::shared_ptr<Report> report;
    {
        const py::gil_scoped_release others;
        const RunSettings run = run_settings_of(settings);
        cli::require_software(run, data.software, notes);
        std::vector<NamedPrediction> predictions;
        for (const SharedModel& model : models) {
            for (const SharedGpu& gpu : gpus)
                predictions.push_back(named_prediction(run, *model, *gpu, data.software, data.folder / "models"));
        }
        report =
            std::make_shared<Report>(with_keywords(with_charts(prediction_report(predictions, explain), prediction_charts(predictions))));
    }
    return py::make_tuple(report, notes.texts());
}

}  // namespace

void bind_data(py::module_& m) {
    py::class_<Gpu, std::shared_ptr<Gpu>>(m, "Gpu")
        .def_property_readonly("id", [](const Gpu& gpu) { return gpu.profile.id; })
        .def_property_readonly("name", [](const Gpu& gpu) { return gpu.profile.name; })
        .def_property_readonly("file", [](const Gpu& gpu) { return gpu.profile.file; });
    py::class_<Workload, std::shared_ptr<Workload>>(m, "Model")
        .def_property_readonly("id", [](const Workload& model) { return model.id; })
        .def_property_readonly("name", [](const Workload& model) { return model.name; })
        .def_property_readonly("family", [](const Workload& model) { return model.family; })
        .def_property_readonly("file", [](const Workload& model) { return model.file; });
    py::class_<Data, std::shared_ptr<Data>>(m, "Data")
        .def(py::init(&load_data), py::arg("folder") = "")
        .def_property_readonly("folder", [](const Data& data) { return data.folder.string(); })
        .def("gpu", &load_gpu_object)
        .def("is_origin", &is_origin)
        .def("model", &load_model_object)
        .def("predict", &predicted, py::arg("models"), py::arg("gpus"), py::arg("settings"), py::arg("explain") = false);
}

}  // namespace roofcast::python
