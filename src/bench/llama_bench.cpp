/// llama-bench's -o json and -o csv.

#include <fmt/format.h>

#include <cctype>
#include <functional>
#include <sstream>

#include "bench/json_field.hpp"
#include "bench/readers.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// A field by its name; empty when absent.
using FieldText = std::function<std::string(const char* key)>;

/// "7B", "8x7B", "A1.7B": parameters in billions, millions or thousands.
bool is_model_size(const std::string& word) {
    if (word.size() < 2 || std::string_view("KMBT").find(word.back()) == std::string_view::npos) return false;
    return std::isdigit(static_cast<unsigned char>(word[word.size() - 2])) != 0;
}

struct ModelType {
    std::string model, weights;
};

/// "llama 7B mostly Q4_0" is the model "llama 7B" in the weight format "Q4_0".
ModelType split_model_type(const std::string& text) {
    std::istringstream words(text);
    ModelType result;
    bool after_size = false;
    for (std::string word; words >> word;) {
        if (after_size && word == "mostly") continue;
        std::string& part = after_size ? result.weights : result.model;
        part += (part.empty() ? "" : " ") + word;
        after_size = after_size || is_model_size(word);
    }
    return result;
}

/// "pp512", "tg128", "pp512+tg128".
std::string test_name(const FieldText& field) {
    const std::string prompt = field("n_prompt"), generated = field("n_gen");
    const bool has_prompt = !prompt.empty() && prompt != "0", has_generated = !generated.empty() && generated != "0";
    if (has_prompt && has_generated) return fmt::format("pp{}+tg{}", prompt, generated);
    return has_prompt ? "pp" + prompt : "tg" + generated;
}

BenchSeries described_series(const FieldText& field) {
    const ModelType type = split_model_type(field("model_type"));
    BenchSeries series;
    series.metric = "tokens_per_s";
    series.lower_is_better = false;
    series.work = {{"model", type.model.empty() ? field("model_filename") : type.model}, {"test", test_name(field)}};
    for (const char* key : {"n_depth", "n_batch", "n_ubatch", "type_k", "type_v", "flash_attn"}) {
        const std::string value = field(key);
        if (!value.empty()) series.work.emplace_back(key, value);
    }
    const auto label = [&](const char* key, const std::string& value) {
        if (!value.empty()) series.run_by.emplace_back(key, value);
    };
    label("gpu", field("gpu_info"));
    label("weight_precision", type.weights);
    label("software", field("build_number").empty() ? "" : "llama.cpp " + field("build_number"));
    return series;
}

}  // namespace

void read_llama_bench(const nlohmann::ordered_json& document, const BenchSource& source) {
    const JsonField tests(document, source.file);
    for (std::size_t i = 0; i < tests.size(); ++i) {
        const JsonField test = tests.at(i);
        BenchSeries series = described_series([&](const char* key) { return test.text_or(key, ""); });
        const auto samples = test.numbers_if("samples_ts");
        if (!samples.empty()) {
            series.statistics = sample_statistics(samples);
        } else {
            series.statistics.mean = test.number("avg_ts");
            series.statistics.std = test.number_if("stddev_ts");
        }
        source.add(std::move(series));
    }
}

void read_llama_bench_table(const BenchTable& table, const BenchSource& source) {
    const BenchRecord& header = table.front();
    for (std::size_t r = 1; r < table.size(); ++r) {
        const BenchRecord& row = table[r];
        const FieldText field = [&](const char* key) {
            const auto at = column(header, key);
            return at && *at < row.fields.size() ? row.fields[*at] : std::string();
        };
        const auto mean = parsed_number(field("avg_ts"));
        if (!mean || row.fields.size() != header.fields.size()) {
            source.skip(row.line, mean ? "the number of fields differs from the header" : "avg_ts is not a number: " + field("avg_ts"));
            continue;
        }
        BenchSeries series = described_series(field);
        series.statistics.mean = mean;
        series.statistics.std = parsed_number(field("stddev_ts"));
        source.add(std::move(series));
    }
}

}  // namespace roofcast
