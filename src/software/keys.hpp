#pragma once
/// The one table of keys of `software/`: reading, refusals, documentation and `software show` all come from it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "io/toml_reader.hpp"
#include "roofcast/software.hpp"

namespace roofcast {

/// A key whose value is more than one number or flag.
struct SpecialKey {
    void (*read)(TableReader&, SoftwareStack&);  ///< throws Error naming file, line and key
    std::string (*text)(const SoftwareStack&);   ///< as TOML; empty where nothing is stated
};

using KeyMember =
    std::variant<bool SoftwareStack::*, int SoftwareStack::*, std::int64_t SoftwareStack::*, double SoftwareStack::*,
                 std::optional<double> SoftwareStack::*, Seconds SoftwareStack::*, Bytes SoftwareStack::*, bool Caller::*, bool Lowering::*,
                 std::int64_t Lowering::*, double Lowering::*, std::optional<double> Lowering::*, Seconds Lowering::*, SpecialKey>;

/// Another key without which this one means nothing.
struct KeyNeed {
    bool (*met)(const SoftwareStack&);
    std::string_view refusal, suggestion;
};

struct SoftwareKey {
    SoftwareKeyInfo info;
    KeyMember member;
    Range range = non_negative;  ///< in the unit of the file
    double scale = 1;            ///< base units per unit of the file
    std::optional<KeyNeed> need{};
};

/// Reads the key's value from `table` into `stack`, which keeps what it has where there is none. Throws Error naming file, line and key.
void read_key(TableReader& table, const SoftwareKey& key, SoftwareStack& stack);

/// The key's value in `stack` as TOML; empty where a special key is not stated.
std::string value_text(const SoftwareKey& key, const SoftwareStack& stack);

/// Reads all keys of `table` into `stack`. Throws Error naming file, line and key.
void read_software_keys(TableReader& table, SoftwareStack& stack);

}  // namespace roofcast
