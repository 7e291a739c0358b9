#include <charconv>

#include "io/data_folder.hpp"
#include "roofcast/error.hpp"
#include "roofcast/run_settings.hpp"

namespace roofcast {

namespace {

template <class Number>
Number parsed(const std::string& text, const char* field, const std::string& expected) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size()) return value;
    throw Error({.what = "not a number", .key = field, .found = text, .expected = expected});
}

double fraction(const std::string& text, const char* field) {
    if (text.empty()) return 0;
    const std::string expected = "a fraction from 0 to 1, such as 0.5";
    const double value = parsed<double>(text, field, expected);
    if (!(value >= 0 && value <= 1)) throw Error({.what = "out of range", .key = field, .found = text, .expected = expected});
    return value;
}

std::int64_t tokens(const std::string& text, const char* field, std::int64_t absent) {
    if (text.empty()) return absent;
    const std::string expected = "a whole number of tokens, at least 1";
    const auto value = parsed<std::int64_t>(text, field, expected);
    if (value < 1) throw Error({.what = "out of range", .key = field, .found = text, .expected = expected});
    return value;
}

/// By the model's own prediction module.
Speculation own_prediction(const TechniqueSettings& o) {
    for (const auto& [value, field] :
         {std::pair(&o.draft, "techniques.speculation.draft"), std::pair(&o.draft_tokens, "techniques.speculation.tokens")}) {
        if (!value->empty())
            throw Error({.what = "`techniques.speculation.own_head` drafts with the model's own module and needs no draft model",
                         .key = field,
                         .found = *value,
                         .suggestion = "give `techniques.speculation.own_head` or `techniques.speculation.draft`, not both"});
    }
    if (o.acceptance.empty())
        throw Error(
            {.what = "multi-token prediction needs `techniques.speculation.own_head` and `techniques.speculation.acceptance`",
             .key = "techniques.speculation.acceptance",
             .found = "nothing",
             .expected = "the fraction of proposed tokens that are accepted, from 0 to 1 (DeepSeek-V3: 0.85 to 0.90, arXiv:2412.19437)"});
    return {.draft = {},
            .tokens = tokens(o.mtp, "techniques.speculation.own_head", 0),
            .acceptance = fraction(o.acceptance, "techniques.speculation.acceptance"),
            .own_head = true};
}

Speculation speculation(const TechniqueSettings& o, const std::filesystem::path& models_folder) {
    if (!o.mtp.empty()) return own_prediction(o);
    const auto need = [](const std::string& value, const char* field, const char* what) {
        if (value.empty())
            throw Error(
                {.what =
                     "speculative decoding needs `techniques.speculation.draft`, `techniques.speculation.tokens` and "
                     "`techniques.speculation.acceptance`, or `techniques.speculation.own_head` and `techniques.speculation.acceptance`",
                 .key = field,
                 .found = "nothing",
                 .expected = what});
    };
    need(o.draft, "techniques.speculation.draft", "a small language model with the same tokenizer");
    need(o.draft_tokens, "techniques.speculation.tokens", "tokens that the draft model proposes in each iteration, such as 4");
    need(o.acceptance, "techniques.speculation.acceptance",
         "the fraction of proposed tokens that are accepted, from 0 to 1, measured on your text");
    return {.draft = o.draft_model ? o.draft_model : load_draft(models_folder, o.draft),
            .tokens = tokens(o.draft_tokens, "techniques.speculation.tokens", 0),
            .acceptance = fraction(o.acceptance, "techniques.speculation.acceptance")};
}

}  // namespace

std::shared_ptr<const Workload> load_draft(const std::filesystem::path& models_folder, const std::string& id_or_file) {
    const auto folder = models_folder.empty() ? data_folder(std::nullopt) / "models" : models_folder;
    try {
        return std::make_shared<const Workload>(find_workload(folder, id_or_file));
    } catch (const Error& e) {
        ErrorDetail detail = e.detail();
        if (detail.key == "model") detail.key = "techniques.speculation.draft";
        throw Error(std::move(detail));
    }
}

Techniques techniques(const TechniqueSettings& o, const std::filesystem::path& models_folder) {
    Techniques t;
    t.cached_prefix = fraction(o.cached_prefix, "techniques.cached_prefix");
    t.prefill_chunk = tokens(o.prefill_chunk, "techniques.prefill_chunk", 0);
    t.kv_block = tokens(o.kv_block, "techniques.kv_block", 1);
    t.offload = fraction(o.offload, "techniques.offload");
    if (!o.draft.empty() || !o.draft_tokens.empty() || !o.acceptance.empty() || !o.mtp.empty())
        t.speculation = speculation(o, models_folder);
    return t;
}

}  // namespace roofcast
