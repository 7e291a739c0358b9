#pragma once
/// Ranges of whole numbers on the command line: "1:4", "1:9:2", "1:64:*2".

#include <string>
#include <vector>

namespace roofcast::cli {

/// Whether `text` is meant as a range.
inline bool is_range(const std::string& text) {
    return text.find(':') != std::string::npos;
}

/// The values of START:END (step 1), START:END:STEP, START:END:+STEP or START:END:*FACTOR, from START on, none above END. Throws Error
/// naming `option` for what is no such range, is empty or has more than 10,000 values.
std::vector<std::string> range_values(const std::string& text, const std::string& option);

}  // namespace roofcast::cli
