#include <algorithm>
#include <thread>

#include "cli/sweep_rows.hpp"
#include "io/parallel.hpp"
#include "python/bindings.hpp"
#include "python/columns.hpp"

namespace roofcast::python {

namespace {

constexpr std::int64_t points_of_part = 512;

/// What a sweep is asked for.
struct SweepQuestion {
    std::vector<std::string> columns;  ///< keys of those to keep; empty: all
    Shard shard;
    std::size_t threads = 0;
};

void set_axes(cli::SweepInputs& inputs, const SettingLists& lists) {
    inputs.axes = cli::sweep_axes();
    std::vector<std::string> names;
    for (cli::SweepAxis& axis : inputs.axes) names.push_back(with_keywords(axis.option));
    for (const auto& [name, values] : lists) {
        const auto known = std::find(names.begin(), names.end(), name);
        if (known == names.end()) throw Error({.what = "unknown keyword", .found = name, .suggestion = did_you_mean(name, names)});
        inputs.axes[static_cast<std::size_t>(known - names.begin())].words = values;
    }
}

/// The fields that are kept.
Fields<SweepRow> kept_fields(const cli::SweepInputs& inputs, const std::vector<std::string>& keys) {
    Fields<SweepRow> fields = sweep_fields(inputs.extra);
    if (keys.empty()) return fields;
    static_cast<void>(with_columns(Table{.title = {}, .columns = columns_of(fields), .rows = {}}, keys));  // refuses unknown keys
    Fields<SweepRow> kept;
    for (const std::string& key : keys)
        kept.push_back(*std::find_if(fields.begin(), fields.end(), [&key](const auto& field) { return field.column.key == key; }));
    return kept;
}

/// Points `first` to `end` − 1, whole groups but for those at the ends of the shard.
struct SweepPart {
    std::int64_t first = 0, end = 0;
    std::vector<ColumnBuilder> columns{};
};

void predict_part(SweepPart& part, const cli::Sweep& sweep, const Fields<SweepRow>& fields) {
    part.columns.resize(fields.size());
    for (const SweepRow& row : sweep.rows_between(part.first, part.end, 1)) {
        for (std::size_t c = 0; c < fields.size(); ++c) part.columns[c].add(fields[c].cell(row));
    }
}

std::vector<SweepPart> parts_of(const cli::Sweep& sweep, const Shard& shard) {
    const std::int64_t size = sweep.grid().size(), end = shard.end(size), group = sweep.group();
    const std::int64_t step = (points_of_part + group - 1) / group * group;
    std::vector<SweepPart> parts;
    for (std::int64_t start = shard.first(size), next = 0; start < end; start = next) {
        next = std::min(end, start / group * group + step);
        parts.push_back({start, next});
    }
    return parts;
}

/// Columns of all rows. Now and then it looks whether the user wants it to end.
std::vector<ColumnBuilder> predicted_columns(const cli::Sweep& sweep, const Fields<SweepRow>& fields, const SweepQuestion& question) {
    constexpr std::size_t parts_of_round = 64;
    std::vector<ColumnBuilder> all(fields.size());
    std::vector<SweepPart> parts = parts_of(sweep, question.shard);
    for (std::size_t round = 0; round < parts.size(); round += parts_of_round) {
        const std::size_t count = std::min(parts_of_round, parts.size() - round);
        in_parallel(
            count, [&](std::size_t i) { predict_part(parts[round + i], sweep, fields); }, question.threads);
        for (std::size_t i = round; i < round + count; ++i) {
            for (std::size_t c = 0; c < fields.size(); ++c) all[c].append(parts[i].columns[c]);
            parts[i].columns.clear();
        }
        const py::gil_scoped_acquire python;
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
    return all;
}

/// Columns by key, the size of the whole grid, and notes.
py::tuple swept(const Data& data, const std::vector<SharedModel>& models, const std::vector<SharedGpu>& gpus, const SettingLists& lists,
                const std::vector<std::string>& columns, const std::string& shard, std::size_t threads) {
    cli::Notes notes;
    cli::SweepInputs inputs;
    Fields<SweepRow> fields;
    std::vector<ColumnBuilder> values;
    std::int64_t size = 0;
    {
        const py::gil_scoped_release others;
        inputs.worded = [](ErrorDetail detail) { return with_keywords(std::move(detail)); };
        inputs.software = data.software;
        set_axes(inputs, lists);
        cli::prepare_sweep(inputs, data.folder / "models", notes);
        for (const SharedGpu& gpu : gpus) inputs.gpus.push_back(*gpu);
        for (const SharedModel& model : models) inputs.models.push_back(*model);
        const cli::Sweep sweep(inputs);
        fields = kept_fields(inputs, columns);
        size = sweep.grid().size();
        values = predicted_columns(sweep, fields, {columns, parse_shard(shard), threads});
    }
    py::dict by_key;
    for (std::size_t c = 0; c < fields.size(); ++c)
        by_key[py::str(fields[c].column.key)] = std::make_shared<PythonColumn>(finished(std::move(values[c])));
    return py::make_tuple(by_key, size, notes.texts());
}

}  // namespace

void bind_sweeps(py::module_& m) {
    m.def("sweep", &swept, py::arg("data"), py::arg("models"), py::arg("gpus"), py::arg("settings"), py::arg("columns"),
          py::arg("shard") = "1/1", py::arg("threads") = 0);
}

}  // namespace roofcast::python
