#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calibration/sha256.hpp"
#include "calibration/stages.hpp"
#include "io/printable.hpp"
#include "io/text_file.hpp"
#include "roofcast/calibration.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// A number as TOML, short: integers keep no decimal point where any number will do.
std::string number(double value, int digits = 5) {
    return fmt::format("{:.{}g}", value, digits);
}

/// A basic string of TOML.
std::string toml_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : printable(text)) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

std::string toml_strings(const std::vector<std::string>& texts) {
    std::vector<std::string> parts;
    for (const auto& text : texts) parts.push_back(toml_string(text));
    return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string shown_path(const std::string& file, const FitFileHeader& header) {
    const std::filesystem::path path(file);
    if (!header.data_folder.empty()) {
        const auto relative = path.lexically_normal().lexically_relative(header.data_folder.lexically_normal());
        if (!relative.empty() && *relative.begin() != "..") return relative.generic_string();
    }
    return path.filename().string();
}

std::string accuracy_line(std::string_view key, const AccuracySummary& a) {
    return fmt::format(
        "{} = {{ rows = {}, mape_percent = {:.2f}, median_ape_percent = {:.2f}, p90_ape_percent = {:.2f}, bias_percent = {:.2f} }}\n", key,
        a.rows, a.mape_percent, a.median_ape_percent, a.p90_ape_percent, a.bias_percent);
}

std::string accuracy_lines(const FitAccuracy& group) {
    std::string out;
    if (group.fit.rows > 0) out += accuracy_line("in_fit", group.fit);
    if (group.cross_validated) out += accuracy_line("cross_validated", *group.cross_validated);
    if (group.held_out) out += accuracy_line("held_out", *group.held_out);
    if (group.gpu_left_out) out += accuracy_line("gpu_left_out", *group.gpu_left_out);
    return out;
}

std::string head(const Fit& fit, const FitFileHeader& header) {
    std::string out = fmt::format("# Written by `{}`; not to be edited: run it again.\n\n[fit]\n", printable(header.command));
    out += fmt::format("gpus    = {}\n", toml_strings(fit.gpus));
    out += fmt::format("tool    = {}\n", toml_string(header.tool));
    out += fmt::format("command = {}\n", toml_string(header.command));
    if (!header.date.empty()) out += fmt::format("date    = {}\n", toml_string(header.date));
    out += fmt::format("seed    = {}\nfolds   = {}\nholdout = {}\n", fit.seed, fit.folds, number(fit.holdout));
    if (fit.host_bound_rows > 0) out += fmt::format("host_bound_rows = {}  # no say in parameters of the GPU\n", fit.host_bound_rows);
    if (fit.refinement) out += fmt::format("refines = {}\n", toml_string(fit.refinement->refines));
    if (!fit.warnings.empty()) out += fmt::format("warnings = {}\n", toml_strings(fit.warnings));
    return out;
}

/// Before and after on the rows of the fit, and on those that shipped with the program.
std::string comparison_text(const Fit& fit) {
    if (!fit.refinement) return {};
    const Refinement& r = *fit.refinement;
    std::string out = "\n[fit.comparison]  # with the fit that this one refines; after: cross-validated\n";
    out += accuracy_line("before", r.before) + accuracy_line("after", r.after);
    if (r.shipped_before) out += accuracy_line("shipped_rows_before", *r.shipped_before);
    if (r.shipped_after) out += accuracy_line("shipped_rows_after", *r.shipped_after);
    return out;
}

std::string accuracy(const Fit& fit) {
    std::string out = "\n[fit.accuracy]\n" + accuracy_lines(fit.overall);
    for (const FitAccuracy& group : fit.groups) {
        out += fmt::format("\n[[fit.accuracy.group]]\ngpu = {}\nop = {}\nprecision = {}\n", toml_string(group.gpu), toml_string(group.op),
                           toml_string(group.precision));
        out += accuracy_lines(group);
    }
    if (fit.intervals.empty()) return out;
    out += "\n[fit.intervals]  # 10 % and 90 % quantiles of ln(measured / predicted), rows that the fit did not see\n";
    for (const ResidualInterval& i : fit.intervals)
        out += fmt::format("{} = {{ rows = {}, lower = {:.4f}, upper = {:.4f} }}\n", i.op, i.rows, i.lower, i.upper);
    return out;
}

std::string stages_text(const Fit& fit) {
    std::string out;
    for (const StageFit& stage : fit.stages) {
        out += fmt::format("\n[[fit.stage]]\nname = {}\nrows = {}\nparameters = {}\nevaluations = {}\nstop = {}\n", toml_string(stage.name),
                           stage.rows, stage.parameters, stage.evaluations, toml_string(name(stage.stop)));
        out += fmt::format("loss = {{ before = {:.6f}, after = {:.6f} }}\n", stage.loss_before, stage.loss_after);
        if (stage.singular_values.empty()) continue;
        std::vector<std::string> values;
        for (const double v : stage.singular_values) values.push_back(fmt::format("{:.3g}", v));
        out += fmt::format("singular_values = [{}]\n", fmt::join(values, ", "));
    }
    return out;
}

std::string hosts_text(const Fit& fit) {
    std::string out;
    for (const EstimatedHost& host : fit.hosts) {
        out += fmt::format("\n[[fit.host]]  # launch cost taken from the rows themselves\nsource = {}\ngpu = {}\nop = {}\n",
                           toml_string(host.source), toml_string(host.gpu), toml_string(host.op));
        out += fmt::format("floor_us = {}\naround_us = {}\n", number(host.floor.in(us)), number(host.around.in(us)));
    }
    return out;
}

std::string files_text(const Fit& fit, const FitFileHeader& header) {
    std::string out;
    for (const DataFile& file : fit.files) {
        out += fmt::format("\n[[fit.file]]\nfile = {}\n", toml_string(shown_path(file.file, header)));
        std::error_code ec;
        if (std::filesystem::is_regular_file(file.file, ec))
            out += fmt::format("sha256 = {}\n", toml_string(sha256(read_text_file(file.file))));
        out += fmt::format("rows_used = {}\nrows_dropped = {}\n", file.rows_used, file.rows_dropped);
    }
    // Rows dropped for the same kind of reason stand together: the text up to the first colon names the kind.
    std::map<std::pair<std::string, std::string>, std::vector<int>> dropped;
    for (const DroppedRow& row : fit.dropped)
        dropped[{shown_path(row.file, header), row.reason.substr(0, row.reason.find(':'))}].push_back(row.line);
    for (auto& [key, lines] : dropped) {
        std::sort(lines.begin(), lines.end());
        out += fmt::format("\n[[fit.dropped]]\nfile = {}\nreason = {}\nlines = [{}]\n", toml_string(key.first), toml_string(key.second),
                           fmt::join(lines, ", "));
    }
    return out;
}

/// Why a parameter that no stage fitted has its value.
std::string kept_from(const FittedParameter& p, const Fit& fit) {
    if (p.unchanged) return std::string(unchanged_from_shipped);
    const bool elsewhere = fit.parameters.provenance[p.spec] >= Provenance::pooled_fit;
    return fmt::format("{}: not fitted, but the rows depend on it", elsewhere ? kept_from_others : kept_source);
}

/// What the source of a fitted parameter adds to the name of the file; may be empty.
std::string fitted_to(const FittedParameter& p) {
    if (is_of_models(p.stage)) return fmt::format("{}{}", fitted_to_models, p.identifiable ? "" : ", which hardly tell");
    return p.identifiable ? "" : "fitted, but the data hardly tell";
}

std::string parameter_line(const FittedParameter& p, const std::string& key, const Fit& fit) {
    const ParameterSpec& spec = parameter_specs()[p.spec];
    std::string out = fmt::format("{} = {{ value = {}, unit = {}", key, number(p.after), toml_string(spec.unit));
    if (!p.fitted()) return out + fmt::format(", source = {} }}\n", toml_string(kept_from(p, fit)));
    if (p.standard_error) out += fmt::format(", standard_error = {}", number(*p.standard_error, 2));
    if (p.interval_low) out += fmt::format(", interval_low = {}", number(*p.interval_low));
    if (p.interval_high) out += fmt::format(", interval_high = {}", number(*p.interval_high));
    out += fmt::format(", lower = {}, upper = {}", number(spec.fitted_lower), number(spec.fitted_upper));
    if (p.hit != BoundHit::none) out += fmt::format(", at_bound = \"{}\"", p.hit == BoundHit::lower ? "lower" : "upper");
    if (const std::string source = fitted_to(p); !source.empty()) out += fmt::format(", source = {}", toml_string(source));
    return out + " }\n";
}

std::string parameters_text(const Fit& fit) {
    std::string out, table;
    for (const FittedParameter& p : fit.details) {
        const std::string& full = parameter_specs()[p.spec].name;
        const auto dot = full.rfind('.');
        if (full.substr(0, dot) != table) {
            table = full.substr(0, dot);
            out += fmt::format("\n[{}]\n", table);
        }
        out += parameter_line(p, full.substr(dot + 1), fit);
    }
    return out;
}

}  // namespace

std::string fit_file_text(const Fit& fit, const FitFileHeader& header) {
    return head(fit, header) + comparison_text(fit) + accuracy(fit) + stages_text(fit) + hosts_text(fit) + files_text(fit, header) +
           parameters_text(fit);
}

void require_readable(const std::string& text, const Fit& fit, const std::filesystem::path& file) {
    const ParameterSet read = parameters_in_fit(text, file);
    for (const FittedParameter& p : fit.details) {
        const ParameterSpec& spec = parameter_specs()[p.spec];
        if (number(spec.get(read.values)) == number(p.after)) continue;
        throw Error({.what = "the fit reads back differently and is not written",
                     .file = file.string(),
                     .key = spec.name,
                     .found = number(spec.get(read.values)),
                     .expected = number(p.after)});
    }
}

}  // namespace roofcast
