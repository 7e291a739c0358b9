#include <fmt/format.h>

#include "software/keys.hpp"

namespace roofcast {

namespace {

/// Reads one key into the member that it stands for.
struct KeyReader {
    const SoftwareKey& key;
    TableReader& table;
    SoftwareStack& stack;
    [[nodiscard]] std::optional<double> number() const {
        if (key.info.required) return table.number(key.info.name, key.range) * key.scale;
        const auto given = table.number_if(key.info.name, key.range);
        return given ? std::optional(*given * key.scale) : std::nullopt;
    }
    void into(bool& value) const { value = table.flag_if(key.info.name).value_or(value); }
    void into(std::int64_t& value) const {
        const auto most = key.range.upper < static_cast<double>(largest_whole) ? static_cast<std::int64_t>(key.range.upper) : largest_whole;
        value = table.count_if(key.info.name, 0, most).value_or(value);
    }
    void into(int& value) const {
        std::int64_t count = value;
        into(count);
        value = static_cast<int>(count);
    }
    void into(double& value) const { value = number().value_or(value); }
    void into(std::optional<double>& value) const { value = number(); }
    void into(Seconds& value) const { value = number().value_or(value.in(s)) * s; }
    void into(Bytes& value) const { value = number().value_or(value.in(byte)) * byte; }
    template <class T>
    void operator()(T SoftwareStack::*member) const {
        into(stack.*member);
    }
    void operator()(bool Caller::*member) const { into(stack.caller.*member); }
    template <class T>
    void operator()(T Lowering::*member) const {
        into(stack.lowering.*member);
    }
    void operator()(const SpecialKey& special) const { special.read(table, stack); }
};

/// The value of a key as TOML; empty where a special key is not stated.
struct KeyWriter {
    const SoftwareStack& stack;
    double scale;
    [[nodiscard]] std::string of(bool value) const { return value ? "true" : "false"; }
    [[nodiscard]] std::string of(std::int64_t value) const { return fmt::format("{}", value); }
    [[nodiscard]] std::string of(int value) const { return of(std::int64_t{value}); }
    [[nodiscard]] std::string of(double base) const { return fmt::format("{:.6g}", base / scale); }
    [[nodiscard]] std::string of(std::optional<double> base) const { return base ? of(*base) : std::string(); }
    [[nodiscard]] std::string of(Seconds value) const { return of(value.in(s)); }
    [[nodiscard]] std::string of(Bytes value) const { return of(value.in(byte)); }
    template <class T>
    std::string operator()(T SoftwareStack::*member) const {
        return of(stack.*member);
    }
    std::string operator()(bool Caller::*member) const { return of(stack.caller.*member); }
    template <class T>
    std::string operator()(T Lowering::*member) const {
        return of(stack.lowering.*member);
    }
    std::string operator()(const SpecialKey& special) const { return special.text(stack); }
};

}  // namespace

void read_key(TableReader& table, const SoftwareKey& key, SoftwareStack& stack) {
    std::visit(KeyReader{key, table, stack}, key.member);
}

std::string value_text(const SoftwareKey& key, const SoftwareStack& stack) {
    return std::visit(KeyWriter{stack, key.scale}, key.member);
}

}  // namespace roofcast
