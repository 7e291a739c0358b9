#pragma once
/// Reading a Hugging Face config.json: keys by type; a JSON null counts as absent, as the library writes it.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/error.hpp"

namespace roofcast {

class JsonReader {
public:
    /// `object` must outlive the reader.
    JsonReader(const nlohmann::json& object, std::string file, std::string prefix = {});

    [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
    /// Required: a whole number of at least `lower`.
    [[nodiscard]] std::int64_t count(std::string_view key, std::int64_t lower = 1) const;
    /// As `count`, from `lower` to `upper`.
    [[nodiscard]] std::int64_t count_between(std::string_view key, std::int64_t lower, std::int64_t upper) const;
    /// `hidden` over the number of heads at `key`. Throws Error when that is not whole.
    [[nodiscard]] std::int64_t head_dim(std::int64_t hidden, std::string_view key) const;
    [[nodiscard]] std::int64_t count_or(std::string_view key, std::int64_t standard, std::int64_t lower = 0) const;
    [[nodiscard]] double number_or(std::string_view key, double standard) const;
    [[nodiscard]] bool flag_or(std::string_view key, bool standard) const;
    [[nodiscard]] std::string text_or(std::string_view key, std::string_view standard) const;
    [[nodiscard]] std::vector<std::int64_t> counts(std::string_view key) const;
    [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
    [[nodiscard]] std::size_t size_of(std::string_view key) const;  ///< elements of a list or object; 0 when absent
    [[nodiscard]] JsonReader object(std::string_view key) const;    ///< required
    /// The object at `key`, or this one where there is none.
    [[nodiscard]] JsonReader object_or_this(std::string_view key) const;
    /// The objects of a list; required.
    [[nodiscard]] std::vector<JsonReader> objects(std::string_view key) const;
    [[nodiscard]] bool is_object(std::string_view key) const;
    [[nodiscard]] bool is_list(std::string_view key) const;

    /// Counts `keys` as asked for: whatever their value, they change no operator of this type of model.
    void ignore(std::initializer_list<std::string_view> keys) const;
    /// Keeps a remark on `key` that the user should read: what its value was taken for.
    void remark(std::string_view key, std::string_view text) const;
    [[nodiscard]] const std::vector<std::string>& remarks() const { return record_->remarks; }
    /// Keys of this object that were never asked for, nor through readers made from this one; with the prefix of nested objects.
    [[nodiscard]] std::vector<std::string> unread() const;

    /// Throws Error unless `key` is absent or `expected`: the graph of another value would be a different one.
    void require_flag(std::string_view key, bool expected) const;
    void require_count(std::string_view key, std::int64_t expected) const;

    [[nodiscard]] Error error(std::string_view key, std::string what, std::string expected = {}) const;
    [[nodiscard]] const std::string& file() const { return file_; }

private:
    JsonReader(const nlohmann::json& object, const JsonReader& parent, std::string prefix);
    [[nodiscard]] std::string full_name(std::string_view key) const;
    [[nodiscard]] const nlohmann::json* find(std::string_view key) const;
    [[nodiscard]] const nlohmann::json& require(std::string_view key) const;

    const nlohmann::json* object_;
    std::string file_, prefix_;
    /// Shared by a reader and all that are made from it.
    struct Record {
        std::set<std::string, std::less<>> asked;  ///< full names of keys
        std::vector<std::string> remarks;
    };
    std::shared_ptr<Record> record_;
};

}  // namespace roofcast
