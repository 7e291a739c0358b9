#include <algorithm>
#include <array>
#include <map>

#include "roofcast/error.hpp"
#include "roofcast/validation.hpp"

namespace roofcast {

namespace {

constexpr std::array<std::string_view, 15> key_names{"gpu",      "op",        "precision", "model",  "source",
                                                     "software", "family",    "metric",    "phase",  "file",
                                                     "function", "execution", "bound",     "kernel", "weight_precision"};

std::string file_name(const Origin& origin) {
    return std::filesystem::path(origin.file).filename().string();
}

std::string value_of(GroupKey key, const KernelRow& row) {
    switch (key) {
        case GroupKey::gpu:
            return row.gpu;
        case GroupKey::op:
            return row.op_name;
        case GroupKey::precision:
            return std::string(name(row.precision));
        case GroupKey::source:
            return row.origin.source;
        case GroupKey::software:
            return row.origin.software;
        case GroupKey::file:
            return file_name(row.origin);
        case GroupKey::function:
            return row.function;
        case GroupKey::kernel:
            return row.kernel;
        case GroupKey::weight_precision:
            return row.weights ? name(*row.weights) : std::string();
        case GroupKey::metric:
            return "latency_us";
        case GroupKey::phase:
            if (const auto* attention = std::get_if<Attention>(&row.op)) return attention->query_len == 1 ? "decode" : "prefill";
            break;
        case GroupKey::model:
        case GroupKey::family:
        case GroupKey::execution:
        case GroupKey::bound:
            break;
    }
    return {};
}

std::string value_of(GroupKey key, const ModelRow& row) {
    switch (key) {
        case GroupKey::gpu:
            return row.gpu;
        case GroupKey::op:
            return row.block ? row.block->op_name : "model";
        case GroupKey::precision:
            return row.precision ? std::string(name(*row.precision)) : std::string();
        case GroupKey::model:
            return row.model;
        case GroupKey::source:
            return row.origin.source;
        case GroupKey::software:
            return row.origin.software;
        case GroupKey::family:
            return row.family;
        case GroupKey::metric:
            return std::string(name(row.metric));
        case GroupKey::phase:
            if (row.block) return row.block->block.decodes ? "decode" : "prefill";
            return row.phase;
        case GroupKey::file:
            return file_name(row.origin);
        case GroupKey::execution:
            return std::string(name(row.execution));
        case GroupKey::weight_precision:
            return row.weights ? name(*row.weights) : std::string();
        case GroupKey::function:
            return row.block ? row.block->function : std::string();
        case GroupKey::bound:
        case GroupKey::kernel:
            break;
    }
    return {};
}

std::string value_of(GroupKey key, const JudgedRow& row, const Measurements& measurements) {
    if (key == GroupKey::bound) return row.terms ? row.terms->bound : std::string();
    return row.is_model ? value_of(key, measurements.models[row.index]) : value_of(key, measurements.kernels[row.index]);
}

/// Values to summarize: ours against all measurements, the roofline against those of the rows that have one.
struct Values {
    std::vector<double> measured, predicted, roofline_measured, roofline;
    std::int64_t with_interval = 0, inside = 0;

    void add(const JudgedRow& row) {
        measured.push_back(row.measured);
        predicted.push_back(row.predicted);
        if (row.low && row.high) {
            ++with_interval;
            if (*row.low <= row.measured && row.measured <= *row.high) ++inside;
        }
        if (!row.roofline) return;
        roofline_measured.push_back(row.measured);
        roofline.push_back(*row.roofline);
    }
    [[nodiscard]] AccuracyGroup summary(std::vector<std::string> keys) const {
        AccuracyGroup group{std::move(keys), summarize(predicted, measured), summarize(roofline, roofline_measured)};
        if (with_interval > 0) group.coverage_percent = 100 * static_cast<double>(inside) / static_cast<double>(with_interval);
        return group;
    }
};

}  // namespace

std::string_view name(GroupKey k) {
    return key_names[static_cast<std::size_t>(k)];
}

GroupKey parse_group_key(std::string_view text) {
    const auto found = std::find(key_names.begin(), key_names.end(), text);
    if (found != key_names.end()) return static_cast<GroupKey>(found - key_names.begin());
    const std::vector<std::string> known(key_names.begin(), key_names.end());
    std::string list;
    for (const auto& key : known) list += (list.empty() ? "" : ", ") + key;
    throw Error({.what = "unknown key to group by",
                 .key = "keys",
                 .found = std::string(text),
                 .expected = list,
                 .suggestion = did_you_mean(text, known)});
}

std::vector<AccuracyGroup> group_by(const Validation& validation, const Measurements& measurements, const std::vector<GroupKey>& keys) {
    std::map<std::vector<std::string>, Values> groups;
    std::vector<std::string> values(keys.size());
    for (const JudgedRow& row : validation.rows) {
        for (std::size_t k = 0; k < keys.size(); ++k) values[k] = value_of(keys[k], row, measurements);
        groups[values].add(row);
    }
    std::vector<AccuracyGroup> result;
    for (const auto& [key, group] : groups) result.push_back(group.summary(key));
    return result;
}

AccuracyGroup overall(const Validation& validation) {
    Values all;
    for (const JudgedRow& row : validation.rows) all.add(row);
    return all.summary({});
}

}  // namespace roofcast
