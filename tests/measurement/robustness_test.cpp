#include <doctest/doctest.h>

#include <random>

#include "roofcast/error.hpp"
#include "roofcast/measurement.hpp"

using namespace roofcast;

namespace {

/// Reads `text`; bad input may be refused or skipped, nothing else may happen. Returns whether it was accepted.
bool survives(const std::string& text) {
    try {
        read_measurements_text(text, "fuzz.csv");
        return true;
    } catch (const Error&) {
        return false;
    }
}

const std::string sample =
    "\xEF\xBB\xBF# note\r\ngpu,op,precision,function,batch,m,n,k,elements,latency_us,software\r\n"
    "g,gemm,fp16,linear,1,16,32,64,,12.5,\"a, \"\"b\"\"\"\r\ng,elementwise,fp32,add,,,,,1000,3,x\r\n";

}  // namespace

TEST_CASE("the reader survives random bytes") {
    std::mt19937 random(20260101);
    std::uniform_int_distribution<int> any_byte(0, 255), length(0, 400);
    for (int round = 0; round < 2000; ++round) {
        std::string text(static_cast<std::size_t>(length(random)), ' ');
        for (char& c : text) c = static_cast<char>(any_byte(random));
        survives(text);
        survives("gpu,op,precision,m,n,k,latency_us\n" + text);
    }
}

TEST_CASE("the reader survives a file cut anywhere") {
    CHECK(survives(sample));
    for (std::size_t size = 0; size < sample.size(); ++size) survives(sample.substr(0, size));
}

TEST_CASE("the reader survives changed, removed and repeated bytes") {
    std::mt19937 random(7);
    const std::string alphabet = ",\"\n\r#-+.eE0123456789 nagminf\0\xFF";
    std::uniform_int_distribution<std::size_t> letter(0, alphabet.size() - 1);
    for (int round = 0; round < 5000; ++round) {
        std::string text = sample;
        for (int change = 0; change < 3; ++change) {
            const std::size_t place = std::uniform_int_distribution<std::size_t>(0, text.size() - 1)(random);
            switch (random() % 3) {
                case 0:
                    text[place] = alphabet[letter(random)];
                    break;
                case 1:
                    text.erase(place, 1 + random() % 8);
                    break;
                default:
                    text.insert(place, text.substr(place / 2, random() % 40));
            }
            if (text.empty()) text = ",";
        }
        survives(text);
    }
}
