#pragma once
/// Keys of `software/` that hold more than a number or a flag. All throw Error naming file, line and key.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/toml_reader.hpp"
#include "roofcast/software.hpp"

namespace roofcast {

/// Range of rates: above 0, at most 1.
inline constexpr Range positive_fraction{0, 1, true};

KernelSet read_kernel_set(TableReader& table);

// Absent without the key.
QuantizeSchedule read_quantizing(TableReader& table);
std::optional<GroupSizes> read_group_sizes(TableReader& table, std::string_view key = "sharing_groups", std::int64_t least = 2);
std::optional<GroupedDecoding> read_grouped_decoding(TableReader& table);
std::optional<LongContexts> read_long_contexts(TableReader& table);
SchedulerOptions read_scheduler(TableReader& table);
std::optional<DecoderSettings> read_decoder_settings(TableReader& table);
std::optional<HalfPadded> read_half_padded(TableReader& table);

/// Throws Error where it is set without fused attention.
void read_fused_wide_attention(TableReader& table, SoftwareStack& stack);

// As TOML; empty: absent.
std::string text_of(const std::optional<GroupSizes>& groups);
std::string text_of(const std::optional<GroupedDecoding>& decoding);
std::string text_of(const std::optional<LongContexts>& contexts);
std::string text_of(const SchedulerOptions& scheduler);
std::string text_of(const std::optional<DecoderSettings>& decoders);
std::string text_of(const std::optional<HalfPadded>& padding);

/// Side of a square tile, a power of two; 0 when the key is absent.
int read_tile(TableReader& table, std::string_view key, std::int64_t tallest);

}  // namespace roofcast
