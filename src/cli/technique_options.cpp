#include "cli/technique_options.hpp"

#include <charconv>

#include "io/data_folder.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

template <class Number>
Number parsed(const std::string& text, const char* option, const std::string& expected) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size()) return value;
    throw Error({.what = "not a number", .key = option, .found = text, .expected = expected});
}

double share(const std::string& text, const char* option) {
    if (text.empty()) return 0;
    const std::string expected = "a fraction from 0 to 1, such as 0.5";
    const double value = parsed<double>(text, option, expected);
    if (!(value >= 0 && value <= 1)) throw Error({.what = "out of range", .key = option, .found = text, .expected = expected});
    return value;
}

std::int64_t tokens(const std::string& text, const char* option, std::int64_t absent) {
    if (text.empty()) return absent;
    const std::string expected = "a whole number of tokens, at least 1";
    const auto value = parsed<std::int64_t>(text, option, expected);
    if (value < 1) throw Error({.what = "out of range", .key = option, .found = text, .expected = expected});
    return value;
}

/// By the model's own prediction module.
Speculation own_prediction(const TechniqueOptions& o) {
    for (const auto& [value, option] : {std::pair(&o.draft, "--draft"), std::pair(&o.draft_tokens, "--draft-tokens")}) {
        if (!value->empty())
            throw Error({.what = "--mtp drafts with the model's own module and needs no draft model",
                         .key = option,
                         .found = *value,
                         .suggestion = "give --mtp or --draft, not both"});
    }
    if (o.acceptance.empty())
        throw Error(
            {.what = "multi-token prediction needs --mtp and --acceptance",
             .key = "--acceptance",
             .found = "nothing",
             .expected = "the fraction of proposed tokens that are accepted, from 0 to 1 (DeepSeek-V3: 0.85 to 0.90, arXiv:2412.19437)"});
    return {.draft = {}, .tokens = tokens(o.mtp, "--mtp", 0), .acceptance = share(o.acceptance, "--acceptance"), .own_head = true};
}

Speculation speculation(const TechniqueOptions& o, const std::filesystem::path& models_folder) {
    if (!o.mtp.empty()) return own_prediction(o);
    const auto need = [](const std::string& value, const char* option, const char* what) {
        if (value.empty())
            throw Error({.what = "speculative decoding needs --draft, --draft-tokens and --acceptance, or --mtp and --acceptance",
                         .key = option,
                         .found = "nothing",
                         .expected = what});
    };
    need(o.draft, "--draft", "a small language model with the same tokenizer");
    need(o.draft_tokens, "--draft-tokens", "tokens that the draft model proposes in each iteration, such as 4");
    need(o.acceptance, "--acceptance", "the fraction of proposed tokens that are accepted, from 0 to 1, measured on your text");
    return {.draft = o.draft_model ? o.draft_model : load_draft(models_folder, o.draft),
            .tokens = tokens(o.draft_tokens, "--draft-tokens", 0),
            .acceptance = share(o.acceptance, "--acceptance")};
}

}  // namespace

std::shared_ptr<const Workload> load_draft(const std::filesystem::path& models_folder, const std::string& id_or_file) {
    const auto folder = models_folder.empty() ? data_folder(std::nullopt) / "models" : models_folder;
    try {
        return std::make_shared<const Workload>(find_workload(folder, id_or_file));
    } catch (const Error& e) {
        ErrorDetail detail = e.detail();
        if (detail.key == "model") detail.key = "--draft";
        throw Error(std::move(detail));
    }
}

void add_technique_options(CLI::App& command, TechniqueOptions& o) {
    command.add_option("--cached-prefix", o.cached_prefix, "Fraction of the prompt that the KV cache already holds, below 1 (default: 0)");
    command.add_option("--prefill-chunk", o.prefill_chunk, "Prompt tokens of a sequence in one prefill pass (default: the whole prompt)");
    command.add_option("--kv-block", o.kv_block, "Tokens in one block of the paged KV cache (default: 1)");
    command.add_option("--offload", o.offload,
                       "Fraction of each layer's weights that stays in CPU memory and is streamed in each pass (default: 0)");
    command.add_option("--draft", o.draft, "Draft model of speculative decoding. Needs --draft-tokens and --acceptance");
    command.add_option("--draft-tokens", o.draft_tokens, "Tokens that the draft model proposes in each iteration");
    command.add_option("--mtp", o.mtp, "Tokens that the model's own multi-token prediction module proposes. Needs --acceptance");
    command.add_option("--acceptance", o.acceptance,
                       "Fraction of the proposed tokens that are accepted, from 0 to 1 (DeepSeek-V3's module: 0.85 to 0.90)");
}

Techniques techniques(const TechniqueOptions& o, const std::filesystem::path& models_folder) {
    Techniques t;
    t.cached_prefix = share(o.cached_prefix, "--cached-prefix");
    t.prefill_chunk = tokens(o.prefill_chunk, "--prefill-chunk", 0);
    t.kv_block = tokens(o.kv_block, "--kv-block", 1);
    t.offload = share(o.offload, "--offload");
    if (!o.draft.empty() || !o.draft_tokens.empty() || !o.acceptance.empty() || !o.mtp.empty())
        t.speculation = speculation(o, models_folder);
    return t;
}

}  // namespace roofcast::cli
