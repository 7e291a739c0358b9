#include "execution/software_tables.hpp"

#include <fmt/format.h>

#include <bit>
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

}  // namespace

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
    return read_if(table, "grouped_decode_attention", [](TableReader& own) {
        return GroupedDecoding{.least_group = own.count("least_group", 2), .rate = own.number("rate", share)};
    });
}

std::optional<LongContexts> read_long_contexts(TableReader& table) {
    return read_if(table, "long_contexts", [](TableReader& own) {
        return LongContexts{.beyond = own.count("beyond_tokens"),
                            .prefill_chunk = own.count("prefill_chunk_tokens"),
                            .decode_attention_rate = own.number("decode_attention_rate", share)};
    });
}

int read_tile(TableReader& table, std::string_view key, std::int64_t tallest) {
    const auto side = static_cast<std::uint64_t>(table.count_if(key, 1, tallest).value_or(0));
    if (side > 0 && !std::has_single_bit(side)) throw table.error(key, "is no side of a tile", std::to_string(side), "a power of two");
    return static_cast<int>(side);
}

std::optional<DecoderHabits> read_decoder_habits(TableReader& table) {
    return read_if(table, "decoders", [](TableReader& own) {
        return DecoderHabits{.matmul_rate = own.number("matmul_rate", share),
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
