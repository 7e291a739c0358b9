#include "host/options.hpp"

#include <charconv>
#include <cmath>
#include <optional>

namespace roofcast::microbench {

namespace {

/// "a,b" as its words.
std::vector<std::string> words(const std::string& text) {
    std::vector<std::string> list(1);
    for (const char c : text) {
        if (c == ',') {
            list.emplace_back();
        } else {
            list.back() += c;
        }
    }
    return list;
}

template <class Enum, class Parse, class Name>
void add_choices(const std::string& option, const std::string& text, int count, Parse parse, Name name_of, std::vector<Enum>& choices) {
    for (const auto& word : words(text)) {
        const std::optional<Enum> choice = parse(word);
        if (!choice) {
            std::string known;
            for (int i = 0; i < count; ++i) known += (i > 0 ? ", " : "") + std::string(name_of(static_cast<Enum>(i)));
            throw UsageError{option + ": found '" + word + "', expected " + known};
        }
        choices.push_back(*choice);
    }
}

template <class Number>
Number parsed_number(const std::string& option, const std::string& text, const char* expected, Number least) {
    Number value{};
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{} || end != text.data() + text.size() || !(value >= least) || !std::isfinite(static_cast<double>(value)))
        throw UsageError{option + ": found '" + text + "', expected " + expected};
    return value;
}

void apply(const std::string& option, const std::string& value, Options& options) {
    Selection& selection = options.selection;
    if (option == "--suite") {
        add_choices(
            option, value, suite_count, parse_suite, [](Suite s) { return name(s); }, selection.suites);
    } else if (option == "--precision") {
        add_choices(
            option, value, precision_count, parse_precision, [](Precision p) { return name(p); }, selection.precisions);
    } else if (option == "--budget") {
        selection.budget_s = parsed_number<double>(option, value, "a number of seconds", 0.1);
    } else if (option == "--seed") {
        selection.seed = parsed_number<std::uint64_t>(option, value, "a whole number", 0);
    } else if (option == "--device") {
        options.device = parsed_number<int>(option, value, "the index of a GPU, from 0", 0);
    } else if (option == "--output") {
        options.output = value;
    } else if (option == "--device-output") {
        options.device_output = value;
    } else if (option == "--shapes") {
        options.shapes = value;
    } else if (option == "--gpu") {
        options.gpu = value;
    } else {
        throw UsageError{"unknown option '" + option + "'; see --help"};
    }
}

}  // namespace

std::string Options::device_file() const {
    if (!device_output.empty()) return device_output;
    const std::string_view suffix = ".csv";
    const std::string stem = output.ends_with(suffix) ? output.substr(0, output.size() - suffix.size()) : output;
    return stem + ".device.csv";
}

Options parse_options(const std::vector<std::string>& arguments) {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::string option = arguments[i];
        if (option == "--list") {
            options.list = true;
        } else if (option == "--resume") {
            options.resume = true;
        } else if (option == "--help" || option == "-h") {
            options.help = true;
        } else if (const auto equals = option.find('='); option.starts_with("--") && equals != std::string::npos) {
            apply(option.substr(0, equals), option.substr(equals + 1), options);
        } else if (i + 1 < arguments.size() && option.starts_with("--")) {
            apply(option, arguments[++i], options);
        } else {
            throw UsageError{(option.starts_with("--") ? "unknown option, or no value for '" : "unexpected argument '") + option +
                             "'; see --help"};
        }
    }
    return options;
}

std::string_view help_text() {
    return R"(roofcast-microbench: measures what roofcast's cost model needs, on the GPU of this machine

  --suite LIST          of gemm, convolution, attention, elementwise, row_wise, embedding, memory, copy, launch, sustained, collective
                        (default: all)
  --precision LIST      of fp64, fp32, tf32, fp16, bf16, fp8, int8 (default: all that the GPU has)
  --budget SECONDS      measure a balanced part of the cases that fits in this time (default: all cases)
  --seed N              of the random shapes and data (default: 1)
  --shapes FILE         the GEMMs of a measurement file in place of the designed cases: equal work for a comparison
  --list                print the cases and how long they should take; needs no GPU
  --resume              continue the files of a run that was cut
  --output FILE         kernel rows (default: microbench.csv)
  --device-output FILE  launch costs, clocks, power, strided and random bandwidth (default: OUTPUT with .device.csv)
  --gpu ID              what to write as the GPU, an id of `roofcast gpu list` (default: the name that the driver gives)
  --device N            index of the GPU to measure (default: 0)

A case that fails (not supported, out of memory, wrong result) is reported on standard error and leaves no row; the run goes on.
Exit code: 0 done, 1 no GPU, or nothing could be measured, 2 wrong usage.
)";
}

}  // namespace roofcast::microbench
