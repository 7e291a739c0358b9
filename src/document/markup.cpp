#include "document/markup.hpp"

#include "io/printable.hpp"

namespace roofcast {

namespace {

/// U+FFFE and U+FFFF may not stand in XML.
std::string without_noncharacters(std::string text) {
    for (const std::string_view bad : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
        for (auto at = text.find(bad); at != std::string::npos; at = text.find(bad, at)) text.replace(at, bad.size(), "?");
    }
    return text;
}

}  // namespace

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : without_noncharacters(printable(text))) {
        switch (c) {
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '&':
                out += "&amp;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

std::string script_json(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    }
    return out;
}

}  // namespace roofcast
