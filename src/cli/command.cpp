#include "cli/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "cli/answer.hpp"
#include "cli/help_page.hpp"
#include "cli/option_names.hpp"
#include "cli/output.hpp"
#include "cli/terminal.hpp"
#include "document/html.hpp"
#include "document/markdown.hpp"
#include "document/svg.hpp"
#include "document/text_table.hpp"
#include "io/data_folder.hpp"
#include "io/printable.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

/// The complaint about what is no file: who gives a bare number to --output means tokens, and who gives a dash standard output.
std::string no_file(const std::string& file) {
    const std::string ending = std::filesystem::path(file).extension().string();
    if (ending == ".svg") return fmt::format("an answer is no picture, found \"{}\"; --plot writes its chart", file);
    for (const char* other : {".pdf", ".png", ".jpg", ".xlsx", ".docx"}) {
        if (ending == other)
            return fmt::format("roofcast does not write {}, found \"{}\"; it writes .html, .md, .csv, .json and text", other, file);
    }
    if (file == "-") return "results go to standard output when --output is left out";
    const bool count = std::all_of(file.begin(), file.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    return count ? fmt::format("a file is needed, found \"{}\"; --generate sets output tokens", file) : std::string();
}

/// The complaint about a chart's file that is not SVG.
std::string no_svg(const std::string& file) {
    return file.ends_with(".svg") ? std::string() : fmt::format("charts are SVG, found \"{}\"; name a file that ends in .svg", file);
}

/// What an option's value may name: itself, and where it is a list each entry.
std::vector<std::string> names_in(const std::string& value) {
    std::vector<std::string> names{value};
    std::istringstream list(value);
    for (std::string entry; std::getline(list, entry, ',');) names.push_back(entry);
    return names;
}

/// Adds the files that are read where `name` is given: a folder stands for the config in it, "file#id" for one model of the file.
void add_files_of(const std::string& name, std::vector<std::filesystem::path>& files) {
    const std::filesystem::path path = name, file = name.substr(0, name.rfind('#'));
    for (const std::filesystem::path& input : {path, path / "config.json", file}) {
        std::error_code ec;
        if (std::filesystem::is_regular_file(input, ec)) files.push_back(input);
    }
}

constexpr std::pair<const char*, Format> formats[] = {
    {"table", Format::table}, {"json", Format::json}, {"csv", Format::csv}, {"markdown", Format::markdown}, {"html", Format::html}};
/// Formats by the ending of a file.
constexpr std::pair<const char*, const char*> endings[] = {{".json", "json"}, {".csv", "csv"}, {".md", "markdown"}, {".html", "html"}};

std::string csv_text(const Table& table, const CommonOptions& options) {
    return options.no_headers ? csv_rows(table) : as_csv(table);
}

/// `report` in the format that the options ask for.
std::string text_of(const Report& report, const CommonOptions& options) {
    const Format format = format_of(options);
    const bool rows_only = !options.columns.empty() || options.no_headers;
    if (format == Format::json) {
        if (rows_only)
            throw Error({.what = "JSON always has all fields",
                         .key = options.no_headers ? "--no-headers" : "--columns",
                         .suggestion = "leave the option out, or choose --format csv"});
        return json_text(report);
    }
    if (format == Format::html) return as_html(report, "roofcast " + command_name(*options.command));
    const Table main = rows_only || format == Format::csv ? chosen_columns(report.data(), options) : Table{};
    if (format == Format::csv) return csv_text(main, options);
    if (format == Format::markdown) return rows_only ? as_markdown(main) : as_markdown(report);
    const bool whole = options.wide || options.no_headers || !options.output.empty();
    const std::size_t width = whole ? 0 : output_width();
    const TextStyle style{
        .width = width, .headers = !options.no_headers, .color = options.output.empty() && wants_color(options.color), .more = ": --wide"};
    return rows_only ? as_text(main, style) : as_text(report, style);
}

/// The file of `--plot`, checked before anything is printed. Throws Error where the report has no chart.
std::string plot_of(const Report& report, const CommonOptions& options) {
    const auto chart = std::find_if(report.charts.begin(), report.charts.end(), [](const Chart& c) { return c.has_points(); });
    if (chart == report.charts.end())
        throw Error({.what = "this answer has no chart", .key = "--plot", .found = options.plot, .suggestion = "leave --plot out"});
    require_output("--plot", options.plot, options);
    require_apart("--plot", options.plot, {options.output});
    return as_svg(*chart);
}

}  // namespace

std::filesystem::path CommonOptions::data() const {
    return data_folder(data_dir.empty() ? std::nullopt : std::optional<std::filesystem::path>(data_dir));
}

std::filesystem::path CommonOptions::user_fits() const {
    return data_dir.empty() ? user_data_folder() : std::filesystem::path();
}

void add_common_options(CLI::App& command, CommonOptions& options) {
    options.command = &command;
    std::vector<std::string> names;
    for (const auto& [name, value] : formats) names.emplace_back(name);
    const CLI::Option* format =
        command
            .add_option("--format", options.format,
                        fmt::format("Output format: {} (default: by the ending of --output, else table)", fmt::join(names, ", ")))
            ->check(CLI::IsMember(names));
    command.add_option("--output", options.output, "Write to this file instead of standard output")->check(no_file);
    command.parse_complete_callback([&options, format] {
        if (format->count() > 0) return;
        const std::string ending = std::filesystem::path(options.output).extension().string();
        for (const auto& [end, name] : endings) {
            if (ending == end) options.format = name;
        }
    });
    command.add_option("--columns", options.columns, "Print only these columns of the main table, by their names in CSV")
        ->delimiter(',')
        ->allow_extra_args(false);
    command.add_flag("--wide", options.wide, "Print all columns of tables, however wide the terminal is");
    command.add_flag("--no-headers", options.no_headers, "Print only the rows of the main table");
    command.add_option("--color", options.color, "Color the output: auto, always or never")
        ->capture_default_str()
        ->check(CLI::IsMember({"auto", "always", "never"}));
    command.add_flag("--no-pager", options.no_pager, "Print directly, however long the answer is");
    command.add_option("--plot", options.plot, "Write the main chart to this SVG file")->check(no_svg);
    command.add_option("--data-dir", options.data_dir,
                       "Folder that holds gpus/, software/ and models/ (else ROOFCAST_DATA, else beside the program)");
}

Format format_of(const CommonOptions& options) {
    return std::find_if(std::begin(formats), std::end(formats), [&options](const auto& one) { return one.first == options.format; })
        ->second;
}

Table chosen_columns(Table table, const CommonOptions& options) {
    return options.columns.empty() ? std::move(table) : with_columns(table, options.columns);
}

void write(Report named_by_field, const CommonOptions& options) {
    Report report = with_options(std::move(named_by_field), *options.command);
    if (Answer* answer = answer_of(*options.command)) return answer->reports.push_back(std::move(report));
    const std::string text = text_of(report, options), plot = options.plot.empty() ? std::string() : plot_of(report, options);
    if (!options.output.empty()) require_output("--output", options.output, options);
    if (!options.plot.empty()) write_file(options.plot, plot);
    if (!options.output.empty()) return write_file(options.output, text);
    return format_of(options) == Format::table && !options.no_pager ? print_paged(text) : print(text);
}

void require_output(std::string_view option, const std::string& file, const CommonOptions& options) {
    if (file.ends_with(".toml"))
        throw Error({.what = "roofcast prints text here, not TOML",
                     .key = std::string(option),
                     .found = file,
                     .suggestion = "choose another file than a profile, model or fit, such as a .txt, .json or .csv file"});
    std::vector<std::filesystem::path> read;
    const bool traces = options.command->get_name() == "predict";  // serve-sim reads its --trace
    for (const CLI::Option* given : options.command->get_options()) {
        const std::string name = given->get_name();
        if (name == "--output" || name == "--rows" || name == "--plot" || (name == "--trace" && traces)) continue;
        for (const std::string& value : given->results()) {
            for (const std::string& part : names_in(value)) add_files_of(part, read);
        }
    }
    require_apart(option, file, read);
}

void require_apart(std::string_view option, const std::string& file, const std::vector<std::filesystem::path>& others) {
    if (file.empty()) return;
    const auto place = [](const std::filesystem::path& path) {
        std::error_code ec;
        const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path, ec), ec);
        return ec ? path : whole;
    };
    for (const auto& other : others) {
        if (other.empty() || place(file) != place(other)) continue;
        throw Error({.what = "the command also reads or writes this file",
                     .key = std::string(option),
                     .found = file,
                     .suggestion = "name another file"});
    }
}

void end_with(ExitCode code) {
    // The parser hands this code through to `main`.
    if (code != ExitCode::answered) throw CLI::RuntimeError(static_cast<int>(code));
}

void note(const std::string& text, const CommonOptions& options) {
    if (Answer* answer = answer_of(*options.command)) return answer->notes.push_back(with_options(text, *options.command));
    message(wrapped(printable(text), message_width(), 2));  // a note is one line, however many the terminal takes
}

void Notes::add(const GpuChoice& choice, const GpuProfile& gpu) {
    add(choice.note);
    for (const Assumption& a : gpu.assumed) {
        if (a.key == "architecture") add(fmt::format("{}: unknown architecture, treated as {}: {}", gpu.id, a.value, a.reason));
    }
}

GpuProfile chosen_gpu(const std::filesystem::path& gpus_folder, const std::string& id_or_file, Notes& notes) {
    const GpuChoice choice = choose_gpu(gpus_folder, id_or_file);
    GpuProfile gpu = load_gpu_profile(choice.file, gpus_folder);
    notes.add(choice, gpu);
    return gpu;
}

GpuProfile load_chosen_gpu(const std::filesystem::path& gpus_folder, const std::string& id_or_file, Notes& notes) {
    GpuProfile gpu = chosen_gpu(gpus_folder, id_or_file, notes);
    for (const ProfileFinding& f : check_gpu_profile(gpu)) {
        if (!f.explained) notes.add(fmt::format("{}: {} is {}, expected {} ({})", gpu.id, f.key, f.found, f.expected, f.rule));
    }
    return gpu;
}

}  // namespace roofcast::cli
