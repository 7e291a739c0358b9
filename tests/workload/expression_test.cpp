#include "workload/expression.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "roofcast/error.hpp"

using namespace roofcast;

namespace {

Value evaluated(const std::string& text) {
    const std::map<std::string, Value, std::less<>> names{{"in", 64.0},   {"channels", 256.0},          {"stride", 2.0},
                                                          {"deep", true}, {"act", std::string("silu")}, {"widths.1", 96.0}};
    return evaluate(text, [&](std::string_view name) {
        const auto found = names.find(name);
        return found == names.end() ? std::nullopt : std::optional(found->second);
    });
}

double number_in(const std::string& text) {
    return std::get<double>(evaluated(text));
}

bool flag_of(const std::string& text) {
    return std::get<bool>(evaluated(text));
}

std::string expression_error(const std::string& text) {
    try {
        static_cast<void>(evaluated(text));
    } catch (const Error& e) {
        return e.detail().what;
    }
    return "no error";
}

}  // namespace

TEST_CASE("products bind before sums, and both from the left") {
    CHECK(number_in("2 + 3 * 4") == 14);
    CHECK(number_in("(2 + 3) * 4") == 20);
    CHECK(number_in("12 - 4 - 3") == 5);
    CHECK(number_in("48 / 4 / 3") == 4);
    CHECK(number_in("-2 + 3") == 1);
    CHECK(number_in("in * 1.5") == 96);
    CHECK(number_in("widths.1 / 2") == 48);
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
    CHECK(number_in("3 if deep else 1") == 3);
    CHECK(number_in("1 if stride > 2 else 2 if stride > 1 else 4") == 2);
}

TEST_CASE("what decides nothing is not computed") {
    CHECK(number_in("in / (stride - 2) if stride != 2 else 7") == 7);
    CHECK(number_in("7 if stride == 2 else in / (stride - 2)") == 7);
    CHECK(number_in("(8 if widths.9 > 1 else 9) if not deep else 5") == 5);
    CHECK(number_in("min(1 / 0 if false else 3, 4)") == 3);
    CHECK(flag_of("stride == 2 or in / (stride - 2) > 1"));
    CHECK(!flag_of("stride != 2 and multiple(in, stride - 2) > 1"));
    CHECK(flag_of("stride != 2 and 1 / 0 > 1 or deep"));
    CHECK(flag_of("deep or deep"));
    CHECK(!flag_of("not deep and deep"));
    // Its form is read.
    CHECK(expression_error("7 if deep else (in") == "a parenthesis is not closed");
    CHECK(expression_error("in 2 if deep else 3") == "what follows is no part of an expression");
    CHECK(expression_error("deep or square(in)") == "no such function");
    // What decides is computed.
    CHECK(expression_error("in / (stride - 2) if deep else 7") == "division by zero");
    CHECK(expression_error("stride != 2 or in / (stride - 2) > 1") == "division by zero");
}

TEST_CASE("functions round as nets round their channels") {
    CHECK(number_in("min(in, channels)") == 64);
    CHECK(number_in("max(in / 2, 48)") == 48);
    CHECK(number_in("floor(7 / 2)") == 3);
    CHECK(number_in("ceil(7 / 2)") == 4);
    CHECK(number_in("round(2.6)") == 3);
    CHECK(number_in("multiple(33, 8)") == 40);
    // To the nearest multiple of 8, 20 rounds to 24 (2.5 halves upwards); 18 rounds to 16, which is less than a tenth below, so to 24.
    CHECK(number_in("divisible(20, 8)") == 24);
    CHECK(number_in("divisible(18, 8)") == 24);
    CHECK(number_in("divisible(17, 8)") == 16);
    CHECK(number_in("divisible(3, 8)") == 8);
}

TEST_CASE("words are values") {
    CHECK(std::get<std::string>(evaluated("act")) == "silu");
}

TEST_CASE("what is no expression is refused with a reason") {
    CHECK(expression_error("wdith * 2") == "no such value");
    CHECK(expression_error("in *") == "an expression lacks a number or a name");
    CHECK(expression_error("in 2") == "what follows is no part of an expression");
    CHECK(expression_error("(in + 1") == "a parenthesis is not closed");
    CHECK(expression_error("in / (stride - 2)") == "division by zero");
    CHECK(expression_error("in + deep") == "a flag or a word stands where a number must");
    CHECK(expression_error("in and deep") == "a condition is neither true nor false");
    CHECK(expression_error("square(in)") == "no such function");
    CHECK(expression_error("min(in)") == "the function needs two numbers");
    CHECK(expression_error("multiple(in, 0)") == "division by zero");
    CHECK(expression_error("1 if deep") == "a condition without an alternative");
    CHECK(expression_error(std::string(100, '(') + "1" + std::string(100, ')')) == "the expression is nested too deeply");
    CHECK(expression_error(std::string(100, '-') + "1") == "the expression is nested too deeply");
}
