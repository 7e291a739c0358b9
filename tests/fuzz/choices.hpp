#pragma once
/// Numbers and choices from bytes: how a generator by structure reads its input. Beyond the end all are 0.

#include <cstddef>
#include <cstdint>
#include <span>

namespace roofcast::fuzz {

class Choices {
public:
    Choices(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

    [[nodiscard]] bool empty() const { return place_ >= bytes_.size(); }

    std::uint8_t byte() { return empty() ? 0 : bytes_[place_++]; }

    /// From 0 to `count` - 1.
    std::size_t below(std::size_t count) { return count == 0 ? 0 : byte() % count; }

    bool flag() { return byte() % 2 != 0; }

    /// Mostly small ones as models have them, powers of two among them; seldom any up to 2^24.
    std::int64_t size() {
        const std::uint8_t kind = byte();
        constexpr std::uint8_t plain = 96, powers = 232;
        if (kind < plain) return 1 + kind % 16;
        if (kind < powers) return std::int64_t{1} << (kind % 11);
        const std::int64_t high = byte(), middle = byte(), low = byte();
        return 1 + ((high << 16) | (middle << 8) | low);
    }

private:
    std::span<const std::uint8_t> bytes_;
    std::size_t place_ = 0;
};

}  // namespace roofcast::fuzz
