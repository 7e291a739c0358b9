#include "io/csv_reader.hpp"

#include <csv.h>

#include <algorithm>
#include <exception>
#include <new>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

constexpr std::size_t block = std::size_t{1} << 16;  ///< bytes parsed between looks for a pending exception

/// Gathers libcsv's fields into records. No exception may cross the C library: it is kept and thrown after.
class RecordBuilder {
public:
    RecordBuilder(int first_line, const std::function<void(const CsvRecord&)>& on_record) : line_(first_line), on_record_(&on_record) {}

    static void field(void* data, std::size_t size, void* self) {
        auto& builder = *static_cast<RecordBuilder*>(self);
        builder.guarded([&] { builder.add({static_cast<const char*>(data), size}); });
    }
    static void end_of_line(int terminator, void* self) {
        auto& builder = *static_cast<RecordBuilder*>(self);
        builder.guarded([&] { builder.finish(terminator); });
    }

    [[nodiscard]] int line() const { return line_; }
    [[nodiscard]] bool failed() const { return failure_ != nullptr; }
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    template <class Action>
    void guarded(Action action) noexcept {
        if (failure_) return;
        try {
            action();
        } catch (...) {
            failure_ = std::current_exception();
        }
    }

    void add(std::string_view field) {
        if (ends_.empty()) record_.line = line_;
        text_ += field;
        ends_.push_back(text_.size());
        line_ += static_cast<int>(std::count(field.begin(), field.end(), '\n'));
        after_carriage_return_ = false;
    }

    void finish(int terminator) {
        const bool second_half_of_crlf = terminator == '\n' && after_carriage_return_ && ends_.empty();
        if (!second_half_of_crlf) ++line_;
        after_carriage_return_ = terminator == '\r';
        if (ends_.empty()) return;
        record_.fields.clear();
        std::size_t begin = 0;
        for (const std::size_t end : ends_) {
            record_.fields.push_back(std::string_view(text_).substr(begin, end - begin));
            begin = end;
        }
        (*on_record_)(record_);
        ends_.clear();
        text_.clear();
    }

    CsvRecord record_;
    std::string text_;               ///< all fields of the record, end to end
    std::vector<std::size_t> ends_;  ///< of each field in text_
    int line_;
    bool after_carriage_return_ = false;
    const std::function<void(const CsvRecord&)>* on_record_;
    std::exception_ptr failure_;
};

/// libcsv's parser, released on every path.
struct Parser {
    // REPALL_NL reports blank lines too, which line numbers need.
    Parser() {
        if (csv_init(&state, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL) != 0) throw std::bad_alloc();
    }
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;
    ~Parser() { csv_free(&state); }
    csv_parser state{};
};

/// Drops the byte order mark and leading comment lines; returns the number of the first line left.
int drop_preamble(std::string_view& text) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    int line = 1;
    while (text.starts_with('#')) {
        const auto end = text.find('\n');
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        ++line;
    }
    return line;
}

}  // namespace

void read_csv(std::string_view text, const std::string& file, const std::function<void(const CsvRecord&)>& on_record) {
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
        throw Error({.what = "the text is in UTF-16", .file = file, .line = 1, .suggestion = "save as CSV in UTF-8"});
    RecordBuilder builder(drop_preamble(text), on_record);
    Parser parser;
    const auto misplaced_quote = [&] {
        return Error({.what = "not valid CSV: a quote is misplaced or left open",
                      .file = file,
                      .line = builder.line(),
                      .suggestion = "quote the field and double the quotes inside it"});
    };
    while (!text.empty()) {
        const std::size_t size = std::min(block, text.size());
        const std::size_t parsed =
            csv_parse(&parser.state, text.data(), size, &RecordBuilder::field, &RecordBuilder::end_of_line, &builder);
        builder.rethrow();
        if (parsed != size) {
            if (csv_error(&parser.state) == CSV_ENOMEM) throw std::bad_alloc();
            throw misplaced_quote();
        }
        text.remove_prefix(size);
    }
    const int status = csv_fini(&parser.state, &RecordBuilder::field, &RecordBuilder::end_of_line, &builder);
    builder.rethrow();
    if (status != 0) throw misplaced_quote();
}

}  // namespace roofcast
