#include "execution/software_tables.hpp"

#include <fmt/format.h>

#include <bit>

namespace roofcast {

KernelSet read_kernel_set(TableReader& table) {
    const std::string text = table.text("kernels");
    if (text == "framework") return KernelSet::framework;
    if (text == "engine") return KernelSet::engine;
    if (text == "generated") return KernelSet::generated;
    if (text == "fused") return KernelSet::fused;
    throw table.error("kernels", "unknown set of kernels", text, "framework, engine, generated or fused",
                      did_you_mean(text, {"framework", "engine", "generated", "fused"}));
}

std::optional<GroupSizes> read_group_sizes(TableReader& table) {
    constexpr std::string_view key = "sharing_groups";
    if (!table.has(key)) return std::nullopt;
    const std::vector<std::int64_t> sizes = table.counts_if(key, 2);
    if (sizes.empty()) return GroupSizes{};
    if (sizes.size() != 2 || sizes[1] < sizes[0]) {
        throw table.error(key, "is no range of sizes", fmt::format("{}", fmt::join(sizes, ", ")),
                          "[least, most], or [] where no heads decode together");
    }
    return GroupSizes{sizes[0], sizes[1]};
}

std::optional<GroupedDecoding> read_grouped_decoding(TableReader& table) {
    constexpr std::string_view key = "grouped_decode_attention";
    if (!table.has(key)) return std::nullopt;
    TableReader own = table.table(key);
    const GroupedDecoding grouped{.least_group = own.count("least_group", 2), .rate = own.number("rate", share)};
    own.finish();
    return grouped;
}

std::optional<LongContexts> read_long_contexts(TableReader& table) {
    constexpr std::string_view key = "long_contexts";
    if (!table.has(key)) return std::nullopt;
    TableReader own = table.table(key);
    const LongContexts contexts{.beyond = own.count("beyond_tokens"),
                                .prefill_chunk = own.count("prefill_chunk_tokens"),
                                .decode_attention_rate = own.number("decode_attention_rate", share)};
    own.finish();
    return contexts;
}

int read_tile(TableReader& table, std::string_view key, std::int64_t tallest) {
    const auto side = static_cast<std::uint64_t>(table.count_if(key, 1, tallest).value_or(0));
    if (side > 0 && !std::has_single_bit(side)) throw table.error(key, "is no side of a tile", std::to_string(side), "a power of two");
    return static_cast<int>(side);
}

std::optional<DecoderHabits> read_decoder_habits(TableReader& table) {
    constexpr std::string_view key = "decoders";
    if (!table.has(key)) return std::nullopt;
    TableReader own = table.table(key);
    const DecoderHabits habits{.matmul_rate = own.number("matmul_rate", share),
                               .host_per_pass = own.number("host_us_per_pass", non_negative) * us};
    own.finish();
    return habits;
}

std::optional<HalfPadded> read_half_padded(TableReader& table) {
    constexpr std::string_view key = "half_padded";
    if (!table.has(key)) return std::nullopt;
    TableReader own = table.table(key);
    HalfPadded padded{.removed_tokens = own.counts_if("removed_tokens", 1),
                      .host_per_pass = own.number("host_us_per_pass", non_negative) * us};
    own.finish();
    return padded;
}

}  // namespace roofcast
