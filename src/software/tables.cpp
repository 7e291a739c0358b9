#include "software/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <type_traits>

namespace roofcast {

namespace {

/// What `read` makes of the table at `key`, all of whose keys it reads; nothing without that table.
template <class Read>
auto read_if(TableReader& table, std::string_view key, Read read) -> std::optional<std::invoke_result_t<Read, TableReader&>> {
    if (!table.has(key)) return std::nullopt;
    TableReader own = table.table(key);
    auto result = read(own);
    own.finish();
    return result;
}

/// One of `known`; absent: not said.
template <class Parse>
auto choice_if(TableReader& table, std::string_view key, std::span<const std::string_view> known, Parse parse)
    -> std::optional<std::invoke_result_t<Parse, std::string_view>> {
    const auto text = table.text_if(key);
    if (!text) return std::nullopt;
    if (std::find(known.begin(), known.end(), *text) != known.end()) return parse(*text);
    throw table.error(key, "unknown name", *text, fmt::format("{}", fmt::join(known, " or ")));
}

constexpr std::string_view kernel_sets[] = {"framework", "engine", "generated", "fused"};

}  // namespace

std::string_view name(KernelSet kernels) {
    return kernel_sets[static_cast<std::size_t>(kernels)];
}

KernelSet read_kernel_set(TableReader& table) {
    const std::string text = table.text("kernels");
    for (std::size_t i = 0; i < std::size(kernel_sets); ++i) {
        if (text == kernel_sets[i]) return static_cast<KernelSet>(i);
    }
    throw table.error("kernels", "unknown set of kernels", text, "framework, engine, generated or fused",
                      did_you_mean(text, {"framework", "engine", "generated", "fused"}));
}

QuantizeSchedule read_quantizing(TableReader& table) {
    const std::string text = table.text_if("quantizing").value_or(std::string(name(QuantizeSchedule::tensor)));
    std::vector<std::string> known;
    for (std::size_t i = 0; i < quantize_schedule_count; ++i) {
        known.emplace_back(name(static_cast<QuantizeSchedule>(i)));
        if (text == known.back()) return static_cast<QuantizeSchedule>(i);
    }
    throw table.error("quantizing", "unknown quantization schedule", text, fmt::format("{}", fmt::join(known, ", ")),
                      did_you_mean(text, known));
}

void read_fused_wide_attention(TableReader& table, SoftwareStack& stack) {
    stack.lowering.fused_wide_attention = table.flag_if("fused_wide_attention").value_or(stack.lowering.fused_attention);
    if (stack.lowering.fused_wide_attention && !stack.lowering.fused_attention)
        throw table.error("fused_wide_attention", "has no effect without fused attention", {}, "fused_attention = true as well");
}

std::string text_of(const std::optional<GroupSizes>& groups) {
    if (!groups) return {};
    return groups->most < groups->least ? "[]" : fmt::format("[{}, {}]", groups->least, groups->most);
}

std::string text_of(const SchedulerOptions& o) {
    return fmt::format("{{ batching = \"{}\", chunked = {}, admission = \"{}\" }}", name(o.batching), o.chunked, name(o.admission));
}

std::string text_of(const std::optional<GroupedDecoding>& decoding) {
    return decoding ? fmt::format("{{ least_group = {}, rate = {:.6g} }}", decoding->least_group, decoding->rate) : std::string();
}

std::string text_of(const std::optional<LongContexts>& contexts) {
    if (!contexts) return {};
    return fmt::format("{{ beyond_tokens = {}, prefill_chunk_tokens = {}, decode_attention_rate = {:.6g} }}", contexts->beyond,
                       contexts->prefill_chunk, contexts->decode_attention_rate);
}

std::string text_of(const std::optional<DecoderSettings>& decoders) {
    if (!decoders) return {};
    return fmt::format("{{ matmul_rate = {:.6g}, host_us_per_pass = {:.6g} }}", decoders->matmul_rate, decoders->host_per_pass.in(us));
}

std::string text_of(const std::optional<HalfPadded>& padding) {
    if (!padding) return {};
    return fmt::format("{{ removed_tokens = [{}], host_us_per_pass = {:.6g} }}", fmt::join(padding->removed_tokens, ", "),
                       padding->host_per_pass.in(us));
}

std::optional<GroupSizes> read_group_sizes(TableReader& table, std::string_view key, std::int64_t least) {
    if (!table.has(key)) return std::nullopt;
    const std::vector<std::int64_t> sizes = table.counts_if(key, least);
    if (sizes.empty()) return GroupSizes{};
    if (sizes.size() != 2 || sizes[1] < sizes[0]) {
        throw table.error(key, "is not a range of sizes", fmt::format("{}", fmt::join(sizes, ", ")),
                          "[least, most] query heads of a KV head, or [] for none");
    }
    return GroupSizes{sizes[0], sizes[1]};
}

std::optional<GroupedDecoding> read_grouped_decoding(TableReader& table) {
    return read_if(table, "grouped_decode_attention", [](TableReader& own) {
        return GroupedDecoding{.least_group = own.count("least_group", 2), .rate = own.number("rate", positive_fraction)};
    });
}

std::optional<LongContexts> read_long_contexts(TableReader& table) {
    return read_if(table, "long_contexts", [](TableReader& own) {
        return LongContexts{.beyond = own.count("beyond_tokens"),
                            .prefill_chunk = own.count("prefill_chunk_tokens"),
                            .decode_attention_rate = own.number("decode_attention_rate", positive_fraction)};
    });
}

SchedulerOptions read_scheduler(TableReader& table) {
    return read_if(table, "scheduler",
                   [](TableReader& own) {
                       SchedulerSettings s;
                       s.chunked = own.flag_if("chunked");
                       s.batching = choice_if(own, "batching", batching_names, batching_of);
                       s.admission = choice_if(own, "admission", admission_names, admission_of);
                       return with({}, s);
                   })
        .value_or(SchedulerOptions{});
}

int read_tile(TableReader& table, std::string_view key, std::int64_t tallest) {
    const auto side = static_cast<std::uint64_t>(table.count_if(key, 1, tallest).value_or(0));
    if (side > 0 && !std::has_single_bit(side)) throw table.error(key, "is not a tile size", std::to_string(side), "a power of two");
    return static_cast<int>(side);
}

std::optional<DecoderSettings> read_decoder_settings(TableReader& table) {
    return read_if(table, "decoders", [](TableReader& own) {
        return DecoderSettings{.matmul_rate = own.number("matmul_rate", positive_fraction),
                               .host_per_pass = own.number("host_us_per_pass", non_negative) * us};
    });
}

std::optional<HalfPadded> read_half_padded(TableReader& table) {
    return read_if(table, "half_padded", [](TableReader& own) {
        return HalfPadded{.removed_tokens = own.counts_if("removed_tokens", 1),
                          .host_per_pass = own.number("host_us_per_pass", non_negative) * us};
    });
}

}  // namespace roofcast
