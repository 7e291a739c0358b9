#include "cli/option_names.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "document/texts.hpp"
#include "io/field_names.hpp"

namespace roofcast::cli {

namespace {

constexpr FieldOption options_of_fields[] = {
    {"columns", "--columns"},
    // Run
    {"precision", "--precision"},
    {"weights", "--weights"},
    {"kv_precision", "--kv"},
    {"batch", "--batch"},
    {"prompt_tokens", "--prompt"},
    {"generate_tokens", "--generate"},
    {"image_size", "--image-size"},
    {"images", "--images"},
    {"steps", "--steps"},
    {"dimensions", "--dim"},
    {"channels_last", "--layout"},
    {"execution", "--execution"},
    {"streams", "--streams"},
    {"host_time", "--host-time"},
    {"pcie", "--pcie"},
    {"parallel.gpus", "--gpus"},
    {"parallel.tensor", "--tp"},
    {"parallel.pipeline", "--pp"},
    {"parallel.data", "--dp"},
    {"parallel.expert", "--ep"},
    {"parallel.attention_data", "--attention-dp"},
    {"techniques.cached_prefix", "--cached-prefix"},
    {"techniques.prefill_chunk", "--prefill-chunk"},
    {"techniques.kv_block", "--kv-block"},
    {"techniques.offload", "--offload"},
    {"techniques.speculation.draft", "--draft"},
    {"techniques.speculation.tokens", "--draft-tokens"},
    {"techniques.speculation.acceptance", "--acceptance"},
    {"techniques.speculation.own_head", "--mtp"},
    // what runs, on what
    {"workload", "--model"},
    {"software", "--software"},
    {"gpu.capacity", "--gpu"},
    {"models_folder", "--data-dir"},
    {"data_folder", "--data-dir"},
    // SchedulerOptions, ArrivalProcess, ServingQuestion
    {"max_tokens", "--max-tokens"},
    {"memory_fraction", "--memory-fraction"},
    {"context", "--context"},
    {"rate", "--rate"},
    {"objective", "--slo"},
    {"attainment", "--find-rate"},
    // RecommendationRequest, and what is shown of its answer
    {"most_gpus", "--max-gpus"},
    {"confidence", "--confidence"},
    {"top", "--top"},
    // PriceQuery
    {"provider", "--provider"},
    {"provider_kind", "--provider"},
    {"instance", "--instance"},
    // CostSettings
    {"utilization", "--utilization"},
    {"electricity", "--electricity"},
    {"pue", "--pue"},
    {"host", "--host-watts"},
    {"life_years", "--life-years"},
    {"residual", "--residual"},
    {"horizon_years", "--horizon-years"},
    // parameters of functions
    {"shard", "--shard"},
    {"keys", "--by"},
    {"format", "--format"},
    {"emit", "--emit"},
};

/// The option of `command` that sets a field.
FieldName options_by_field(const CLI::App& command) {
    return [&command](std::string_view field) -> std::optional<std::string> {
        const auto* known = std::find_if(std::begin(options_of_fields), std::end(options_of_fields),
                                         [field](const FieldOption& one) { return one.field == field; });
        if (known == std::end(options_of_fields)) return std::nullopt;
        std::string option(known->option);
        return command.get_option_no_throw(option) == nullptr ? std::nullopt : std::optional(std::move(option));
    };
}

}  // namespace

std::span<const FieldOption> field_options() {
    return options_of_fields;
}

std::string with_options(std::string_view text, const CLI::App& command) {
    return with_field_names(text, options_by_field(command), Backquotes::dropped);
}

ErrorDetail with_options(ErrorDetail detail, const CLI::App& command) {
    return with_field_names(std::move(detail), options_by_field(command), Backquotes::dropped);
}

Table with_options(Table table, const CLI::App& command) {
    return with_texts(std::move(table), [&command](std::string_view text) { return with_options(text, command); });
}

Report with_options(Report report, const CLI::App& command) {
    return with_texts(std::move(report), [&command](std::string_view text) { return with_options(text, command); });
}

}  // namespace roofcast::cli
