#pragma once
/// The parts of the module `roofcast._roofcast`. What users see is in python/roofcast, which calls these.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "document/table.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast::python {

namespace py = pybind11;

/// Settings by keyword, as text; of sweeps each with all its values.
using Settings = std::vector<std::pair<std::string, std::string>>;
using SettingLists = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// What all predictions of one data folder share. Never changes, so that threads may share it.
struct Data {
    std::filesystem::path folder;
    bool own_fits = true;  ///< fits of the user stand in place of shipped ones
    SoftwareStacks software;
};

// Objects of Python hold these by pointer: nothing is copied, and a thread that predicts keeps them alive.
using SharedGpu = std::shared_ptr<Gpu>;
using SharedModel = std::shared_ptr<Workload>;

/// JSON as None, bool, int, float, str, list and dict.
py::object to_python(const nlohmann::ordered_json& json);
/// A cell of a table.
py::object to_python(const Cell& cell);

/// Keywords in place of fields and options: "tp" for "`parallel.tensor`" and for "--tp".
std::string with_keywords(std::string_view text);
ErrorDetail with_keywords(ErrorDetail detail);
Report with_keywords(Report report);

void bind_errors(py::module_& m);
void bind_reports(py::module_& m);
void bind_answers(py::module_& m);
void bind_data(py::module_& m);
void bind_columns(py::module_& m);
void bind_sweeps(py::module_& m);
void bind_steps(py::module_& m);

}  // namespace roofcast::python
