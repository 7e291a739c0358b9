#include "workload/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "roofcast/error.hpp"
#include "units/divisible.hpp"

namespace roofcast {

namespace {

constexpr bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

struct Function {
    std::string_view name;
    std::size_t arguments;
    double (*of)(double, double);
};

constexpr std::array functions{
    Function{"min", 2, [](double a, double b) { return std::min(a, b); }},
    Function{"max", 2, [](double a, double b) { return std::max(a, b); }},
    Function{"multiple", 2, [](double x, double n) { return std::ceil(x / n) * n; }},
    Function{"divisible", 2, divisible},
    Function{"floor", 1, [](double x, double) { return std::floor(x); }},
    Function{"ceil", 1, [](double x, double) { return std::ceil(x); }},
    Function{"round", 1, [](double x, double) { return std::nearbyint(x); }},
};

/// Recursive descent, one method a level of precedence.
class Evaluator {
public:
    Evaluator(std::string_view text, const Lookup& lookup) : text_(text), lookup_(lookup) {}

    Value value() {
        Value found = choice();
        skip();
        if (at_ != text_.size()) throw trailing();
        return found;
    }

private:
    Value choice() {
        const Nesting nesting(*this);
        const std::size_t start = at_;
        const std::optional<std::size_t> condition_at = condition_of_choice();
        if (!condition_at) return disjunction();
        at_ = *condition_at;
        word("if");
        const bool condition = flag(disjunction());
        if (!word("else")) throw error("a condition without an alternative", std::string(text_), "A if CONDITION else B");
        const std::size_t alternative = at_;
        at_ = start;
        const Value yes = unless(!condition, [this] { return disjunction(); });
        skip();
        if (at_ != *condition_at) throw trailing();
        at_ = alternative;
        const Value no = unless(condition, [this] { return choice(); });
        return condition ? yes : no;
    }

    /// Where the `if` of the choice that begins here stands; nullopt: it has none.
    std::optional<std::size_t> condition_of_choice() {
        const std::size_t start = at_;
        std::optional<std::size_t> found;
        for (int open = 0; !found && at_ < text_.size() && open >= 0;) {
            skip();
            const std::size_t here = at_;
            const std::string_view name = identifier();
            if (name == "if" && open == 0) found = here;
            if (name == "else" && open == 0) break;
            if (!name.empty() || at_ == text_.size()) continue;
            const char c = text_[at_++];
            open += c == '(' ? 1 : c == ')' ? -1 : 0;
            if (c == ',' && open == 0) break;
        }
        at_ = start;
        return found;
    }

    Value disjunction() {
        Value left = conjunction();
        while (word("or")) {
            const bool known = flag(left);
            const Value right = unless(known, [this] { return Value(flag(conjunction())); });
            left = known || flag(right);
        }
        return left;
    }

    Value conjunction() {
        Value left = negation();
        while (word("and")) {
            const bool open = flag(left);
            const Value right = unless(!open, [this] { return Value(flag(negation())); });
            left = open && flag(right);
        }
        return left;
    }

    /// What `part` gives. Where it is not `needed`, it is read for its form alone: no name is looked up, nothing is computed.
    Value unless(bool not_needed, const auto& part) {
        const bool around = std::exchange(skips_, skips_ || not_needed);
        Value found = part();
        skips_ = around;
        return found;
    }

    Value negation() {
        const Nesting nesting(*this);
        return word("not") ? Value(!flag(negation())) : comparison();
    }

    Value comparison() {
        Value left = sum();
        for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
            if (!symbol(sign)) continue;
            const Value right = sum();
            if (sign == "==") return left == right;
            if (sign == "!=") return left != right;
            const double a = number(left), b = number(right);
            return sign == "<=" ? a <= b : sign == ">=" ? a >= b : sign == "<" ? a < b : a > b;
        }
        return left;
    }

    Value sum() {
        Value left = product();
        while (true) {
            if (symbol("+")) {
                left = number(left) + number(product());
            } else if (symbol("-")) {
                left = number(left) - number(product());
            } else {
                return left;
            }
        }
    }

    Value product() {
        Value left = sign();
        while (true) {
            if (symbol("*")) {
                left = number(left) * number(sign());
            } else if (symbol("/")) {
                const double by = number(sign());
                if (by == 0 && !skips_) throw error("division by zero", std::string(text_));
                left = skips_ ? 0 : number(left) / by;
            } else {
                return left;
            }
        }
    }

    Value sign() {
        const Nesting nesting(*this);
        return symbol("-") ? Value(-number(sign())) : primary();
    }

    Value primary() {
        skip();
        if (symbol("(")) {
            Value inner = choice();
            close();
            return inner;
        }
        if (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) return literal();
        const std::string_view name = identifier();
        if (name.empty()) throw error("an expression lacks a number or a name", std::string(text_));
        if (name == "true" || name == "false") return name == "true";
        if (symbol("(")) return call(name);
        if (skips_) return 0.0;
        if (auto found = lookup_(name)) return *std::move(found);
        throw error("no such value", std::string(name));
    }

    Value call(std::string_view name) {
        const auto* function = std::find_if(functions.begin(), functions.end(), [&](const Function& f) { return f.name == name; });
        if (function == functions.end()) {
            std::vector<std::string_view> known;
            for (const Function& f : functions) known.push_back(f.name);
            throw error("no such function", std::string(name), fmt::format("one of {}", fmt::join(known, ", ")));
        }
        const double first = number(choice());
        double second = 0;
        if (function->arguments == 2) {
            if (!symbol(",")) throw error("the function needs two numbers", std::string(text_), fmt::format("{}(x, y)", name));
            second = number(choice());
            if (second == 0 && !skips_ && (name == "multiple" || name == "divisible")) throw error("division by zero", std::string(text_));
        }
        close();
        return skips_ ? 0 : function->of(first, second);
    }

    Value literal() {
        double found = 0;
        const char* end = text_.data() + text_.size();
        const auto [stop, failure] = std::from_chars(text_.data() + at_, end, found, std::chars_format::fixed);
        if (failure != std::errc{}) throw error("not a number", std::string(text_.substr(at_)));
        at_ = static_cast<std::size_t>(stop - text_.data());
        return found;
    }

    /// Letters, digits, "_" and, within, "." as in "depths.0".
    std::string_view identifier() {
        skip();
        std::size_t end = at_;
        if (end < text_.size() && is_letter(text_[end])) {
            while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '.')) ++end;
        }
        const std::string_view found = text_.substr(at_, end - at_);
        at_ = end;
        return found;
    }

    bool word(std::string_view wanted) {
        const std::size_t start = at_;
        if (identifier() == wanted) return true;
        at_ = start;
        return false;
    }

    bool symbol(std::string_view wanted) {
        skip();
        if (!text_.substr(at_).starts_with(wanted)) return false;
        at_ += wanted.size();
        return true;
    }

    void close() {
        if (!symbol(")")) throw error("a parenthesis is not closed", std::string(text_));
    }

    void skip() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    }

    double number(const Value& value) const {
        if (skips_) return 0;
        if (const auto* found = std::get_if<double>(&value)) return *found;
        throw error("a flag or a word stands where a number must", std::string(text_));
    }

    bool flag(const Value& value) const {
        if (skips_) return false;
        if (const auto* found = std::get_if<bool>(&value)) return *found;
        throw error("a condition is neither true nor false", std::string(text_), "a comparison, or a flag");
    }

    [[nodiscard]] Error trailing() const { return error("what follows is no part of an expression", std::string(text_.substr(at_))); }

    static Error error(std::string what, std::string found, std::string expected = {}) {
        return Error({.what = std::move(what), .found = std::move(found), .expected = std::move(expected)});
    }

    /// Bounds the recursion.
    struct Nesting {
        explicit Nesting(Evaluator& e) : evaluator(e) {
            constexpr int deepest = 64;
            if (++e.nested_ > deepest) throw error("the expression is nested too deeply", {}, fmt::format("at most {} levels", deepest));
        }
        Nesting(const Nesting&) = delete;
        Nesting& operator=(const Nesting&) = delete;
        ~Nesting() { --evaluator.nested_; }
        Evaluator& evaluator;
    };

    std::string_view text_;
    const Lookup& lookup_;
    std::size_t at_ = 0;
    int nested_ = 0;
    bool skips_ = false;  ///< reads a part that decides nothing
};

}  // namespace

Value evaluate(std::string_view text, const Lookup& lookup) {
    return Evaluator(text, lookup).value();
}

}  // namespace roofcast
