#include "io/field_names.hpp"

namespace roofcast {

std::string with_field_names(std::string_view text, const FieldName& other_name, Backquotes backquotes) {
    const std::string_view quote = backquotes == Backquotes::kept ? "`" : "";
    std::string out;
    std::size_t copied = 0;
    for (std::size_t open = text.find('`'); open != std::string_view::npos;) {
        const std::size_t close = text.find('`', open + 1);
        if (close == std::string_view::npos) break;
        const auto name = other_name(text.substr(open + 1, close - open - 1));
        if (!name) {
            open = close;  // it may open another word: what stands before it need not be a pair
            continue;
        }
        out.append(text.substr(copied, open - copied)).append(quote).append(*name).append(quote);
        copied = close + 1;
        open = text.find('`', copied);
    }
    return out.append(text.substr(copied));
}

ErrorDetail with_field_names(ErrorDetail detail, const FieldName& other_name, Backquotes backquotes) {
    for (std::string* text : {&detail.what, &detail.expected, &detail.suggestion}) *text = with_field_names(*text, other_name, backquotes);
    if (detail.file.empty()) detail.key = other_name(detail.key).value_or(detail.key);
    return detail;
}

}  // namespace roofcast
