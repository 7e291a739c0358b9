#include "workload/onnx/without_weights.hpp"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <system_error>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

namespace pb = google::protobuf::io;

/// Messages of onnx.proto that hold others with weights, or weights.
enum class Message { model, graph, node, attribute, tensor, function };

struct Nested {
    Message in;
    std::uint32_t field;
    Message message;
};
/// Field numbers of onnx.proto (IR version 10).
constexpr std::array nested_messages{Nested{Message::model, 7, Message::graph},      Nested{Message::model, 25, Message::function},
                                     Nested{Message::graph, 1, Message::node},       Nested{Message::graph, 5, Message::tensor},
                                     Nested{Message::function, 7, Message::node},    Nested{Message::node, 5, Message::attribute},
                                     Nested{Message::attribute, 5, Message::tensor}, Nested{Message::attribute, 6, Message::graph},
                                     Nested{Message::attribute, 10, Message::tensor}};
/// Data of a tensor: float, int32, string, int64, raw, double and uint64.
constexpr std::array<std::uint32_t, 7> data_fields{4, 5, 6, 7, 9, 10, 11};

constexpr std::size_t most_kept_bytes = std::size_t{1} << 27;
constexpr int deepest_message = 32;  ///< graphs within graphs, and what they are made of

enum WireType : std::uint32_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

class Filter {
public:
    Filter(pb::CodedInputStream& in, const std::filesystem::path& file) : in_(in), file_(file) {}

    /// What is left of a message up to the stream's limit.
    std::string message(Message kind, int depth) {
        if (depth > deepest_message) throw damaged("graphs are nested too deeply");
        std::string out;
        std::uint32_t tag = 0;
        while ((tag = in_.ReadTag()) != 0) field(kind, tag, depth, out);
        if (!in_.ConsumedEntireMessage()) throw damaged("the file is not an ONNX model");
        return out;
    }

private:
    [[nodiscard]] Error damaged(const char* what) const {
        return Error({.what = what,
                      .file = file_.string(),
                      .expected = "a file that an ONNX exporter wrote",
                      .suggestion = "check that it was copied completely"});
    }

    void field(Message kind, std::uint32_t tag, int depth, std::string& out) {
        const std::uint32_t number = tag >> 3U;
        switch (tag & 7U) {
            case varint: {
                std::uint64_t value = 0;
                if (!in_.ReadVarint64(&value)) throw truncated();
                if (!is_data(kind, number) || unpacked_++ < most_unpacked) append_tag(out, tag), append_varint(out, value);
                return;
            }
            case fixed64:
                return fixed(kind, tag, sizeof(std::uint64_t), out);
            case fixed32:
                return fixed(kind, tag, sizeof(std::uint32_t), out);
            case delimited:
                return bytes(kind, tag, depth, out);
            default:
                throw damaged("the file is not an ONNX model");
        }
    }

    void fixed(Message kind, std::uint32_t tag, int size, std::string& out) {
        std::string value;
        if (!in_.ReadString(&value, size)) throw truncated();
        if (is_data(kind, tag >> 3U) && unpacked_++ >= most_unpacked) return;
        append_tag(out, tag);
        out += value;
        require_room(out.size());
    }

    void bytes(Message kind, std::uint32_t tag, int depth, std::string& out) {
        std::uint32_t announced = 0;
        constexpr std::uint32_t most = 0x7fffffff;
        if (!in_.ReadVarint32(&announced) || announced > most) throw truncated();
        const int length = static_cast<int>(announced), left = in_.BytesUntilLimit();
        if (left >= 0 && length > left) throw truncated();
        std::string value;
        if (const auto inner = nested(kind, tag >> 3U)) {
            unpacked_ = 0;
            const auto limit = in_.PushLimit(length);
            value = message(*inner, depth + 1);
            if (in_.BytesUntilLimit() != 0) throw truncated();
            in_.PopLimit(limit);
        } else if (is_data(kind, tag >> 3U) && length > longest_kept_field) {
            if (!in_.Skip(length)) throw truncated();
            return;
        } else {
            require_room(static_cast<std::size_t>(length));
            if (!in_.ReadString(&value, length)) throw truncated();
        }
        require_room(out.size() + value.size());
        append_tag(out, tag);
        append_varint(out, value.size());
        out += value;
    }

    [[nodiscard]] Error truncated() const { return damaged("the file ends within a field, or is not an ONNX model"); }

    void require_room(std::size_t size) const {
        if (size <= most_kept_bytes) return;
        throw Error({.what = "the net is too large without the data of its weights",
                     .file = file_.string(),
                     .expected = "at most 128 MiB of nodes, names and shapes"});
    }

    static std::optional<Message> nested(Message kind, std::uint32_t number) {
        const auto found = std::find_if(nested_messages.begin(), nested_messages.end(),
                                        [&](const Nested& n) { return n.in == kind && n.field == number; });
        return found == nested_messages.end() ? std::nullopt : std::optional(found->message);
    }
    static bool is_data(Message kind, std::uint32_t number) {
        return kind == Message::tensor && std::find(data_fields.begin(), data_fields.end(), number) != data_fields.end();
    }
    static void append_varint(std::string& out, std::uint64_t value) {
        constexpr std::uint64_t seven_bits = 0x7f;
        for (; value > seven_bits; value >>= 7U) out += static_cast<char>((value & seven_bits) | 0x80U);
        out += static_cast<char>(value);
    }
    static void append_tag(std::string& out, std::uint32_t tag) { append_varint(out, tag); }

    static constexpr int most_unpacked = longest_kept_field / 8;  ///< numbers of a tensor that were written one by one

    pb::CodedInputStream& in_;
    const std::filesystem::path& file_;
    int unpacked_ = 0;
};

/// A file that is closed at the end.
class OpenFile {
public:
    explicit OpenFile(const std::filesystem::path& file) : descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (descriptor_ < 0)
            throw Error({.what = "the file cannot be opened", .file = file.string(), .suggestion = "check its permissions"});
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile() { ::close(descriptor_); }
    [[nodiscard]] int descriptor() const { return descriptor_; }

private:
    int descriptor_;
};

void require_file(const std::filesystem::path& file) {
    std::error_code ec;
    const auto status = std::filesystem::status(file, ec);
    if (!std::filesystem::exists(status))
        throw Error({.what = "the file does not exist", .file = file.string(), .suggestion = "check the path"});
    if (!std::filesystem::is_regular_file(status))
        throw Error({.what = "this is not a regular file", .file = file.string(), .suggestion = "name one file"});
    if (std::filesystem::file_size(file, ec) == 0) throw Error({.what = "the file is empty", .file = file.string()});
}

}  // namespace

std::string onnx_without_weights(const std::filesystem::path& file) {
    require_file(file);
    const OpenFile open(file);
    pb::FileInputStream stream(open.descriptor());
    pb::CodedInputStream in(&stream);
    return Filter(in, file).message(Message::model, 0);
}

}  // namespace roofcast
