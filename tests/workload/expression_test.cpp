#include "workload/expression.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "roofcast/error.hpp"

using namespace roofcast;

namespace {

Value value_of(const std::string& text) {
    const std::map<std::string, Value, std::less<>> names{{"in", 64.0},   {"channels", 256.0},          {"stride", 2.0},
                                                          {"deep", true}, {"act", std::string("silu")}, {"widths.1", 96.0}};
    return evaluate(text, [&](std::string_view name) {
        const auto found = names.find(name);
        return found == names.end() ? std::nullopt : std::optional(found->second);
    });
}

double number_of(const std::string& text) {
    return std::get<double>(value_of(text));
}

bool flag_of(const std::string& text) {
    return std::get<bool>(value_of(text));
}

std::string error_of(const std::string& text) {
    try {
        static_cast<void>(value_of(text));
    } catch (const Error& e) {
        return e.detail().what;
    }
    return "no error";
}

}  // namespace

TEST_CASE("products bind before sums, and both from the left") {
    CHECK(number_of("2 + 3 * 4") == 14);
    CHECK(number_of("(2 + 3) * 4") == 20);
    CHECK(number_of("12 - 4 - 3") == 5);
    CHECK(number_of("48 / 4 / 3") == 4);
    CHECK(number_of("-2 + 3") == 1);
    CHECK(number_of("in * 1.5") == 96);
    CHECK(number_of("widths.1 / 2") == 48);
}

TEST_CASE("comparisons give flags, which and, or, not join") {
    CHECK(flag_of("stride > 1"));
    CHECK(flag_of("in != channels"));
    CHECK(!flag_of("stride == 1 and in == channels"));
    CHECK(flag_of("stride == 1 or not in == channels"));
    CHECK(flag_of("deep and act == act"));
    CHECK(flag_of("true"));
}

TEST_CASE("a condition chooses between two values") {
    CHECK(number_of("3 if deep else 1") == 3);
    CHECK(number_of("1 if stride > 2 else 2 if stride > 1 else 4") == 2);
}

TEST_CASE("functions round as nets round their channels") {
    CHECK(number_of("min(in, channels)") == 64);
    CHECK(number_of("max(in / 2, 48)") == 48);
    CHECK(number_of("floor(7 / 2)") == 3);
    CHECK(number_of("ceil(7 / 2)") == 4);
    CHECK(number_of("round(2.6)") == 3);
    CHECK(number_of("multiple(33, 8)") == 40);
    // To the nearest multiple of 8, 20 rounds to 24 (2.5 halves upwards); 18 rounds to 16, which is less than a tenth below, so to 24.
    CHECK(number_of("divisible(20, 8)") == 24);
    CHECK(number_of("divisible(18, 8)") == 24);
    CHECK(number_of("divisible(17, 8)") == 16);
    CHECK(number_of("divisible(3, 8)") == 8);
}

TEST_CASE("words are values") {
    CHECK(std::get<std::string>(value_of("act")) == "silu");
}

TEST_CASE("what is no expression is refused with a reason") {
    CHECK(error_of("wdith * 2") == "no such value");
    CHECK(error_of("in *") == "an expression lacks a number or a name");
    CHECK(error_of("in 2") == "what follows is no part of an expression");
    CHECK(error_of("(in + 1") == "a parenthesis is not closed");
    CHECK(error_of("in / (stride - 2)") == "division by zero");
    CHECK(error_of("in + deep") == "a flag or a word stands where a number must");
    CHECK(error_of("in and deep") == "a condition is neither true nor false");
    CHECK(error_of("square(in)") == "no such function");
    CHECK(error_of("min(in)") == "the function needs two numbers");
    CHECK(error_of("multiple(in, 0)") == "division by zero");
    CHECK(error_of("1 if deep") == "a condition without an alternative");
    CHECK(error_of(std::string(100, '(') + "1" + std::string(100, ')')) == "the expression is nested too deeply");
    CHECK(error_of(std::string(100, '-') + "1") == "the expression is nested too deeply");
}
