#include "python/bindings.hpp"
#include "roofcast/step_times.hpp"

namespace roofcast::python {

namespace {

/// Binds a time of steps as a method of `steps`, in microseconds.
template <class Class>
void bind_time(Class& steps, const char* name, Seconds (StepTimes::*time)(const StepMix&) const) {
    steps.def(
        name,
        [time](const StepTimes& times, std::int64_t prefill_tokens, std::int64_t decode_sequences, double context,
               std::int64_t prefill_sequences, double prefill_past) {
            const StepMix mix{.decodes = decode_sequences,
                              .context = context,
                              .prompts = prefill_tokens == 0 ? 0 : prefill_sequences,
                              .prompt_tokens = prefill_tokens,
                              .past = prefill_past};
            const py::gil_scoped_release others;  // a new point of the table takes milliseconds
            return (times.*time)(mix).in(us);
        },
        py::arg("prefill_tokens") = 0, py::arg("decode_sequences") = 0, py::arg("context") = 1.0, py::arg("prefill_sequences") = 1,
        py::arg("prefill_past") = 0.0);
}

}  // namespace

void bind_steps(py::module_& m) {
    py::class_<StepTimes, std::shared_ptr<StepTimes>> steps(m, "StepTimes");
    bind_time(steps, "step_us", &StepTimes::time);
    bind_time(steps, "exact_step_us", &StepTimes::exact);
    steps
        .def(py::init([](const Data& data, const SharedModel& model, const SharedGpu& gpu, const Settings& settings) {
            const py::gil_scoped_release others;
            return std::make_shared<StepTimes>(step_times(*model, *gpu, data.software, settings, data.folder / "models"));
        }))
        .def("prepare", &StepTimes::prepare, py::call_guard<py::gil_scoped_release>())
        .def_property_readonly("max_sequences", [](const StepTimes& times) { return times.range().sequences; })
        .def_property_readonly("max_tokens", [](const StepTimes& times) { return times.range().tokens; })
        .def_property_readonly("max_context", [](const StepTimes& times) { return times.range().context; });
}

}  // namespace roofcast::python
