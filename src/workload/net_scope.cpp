#include "workload/net_scope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "io/toml_value_text.hpp"
#include "workload/convnet_vocabulary.hpp"

namespace roofcast {

namespace {

std::optional<Value> value_of(const toml::node& node) {
    if (node.is_boolean()) return node.as_boolean()->get();
    if (node.is_number()) return number_of(node);
    if (const auto* text = node.as_string()) return text->get();
    return std::nullopt;
}

bool is_word(std::string_view text) {
    const auto one_of = [&](const auto& names) { return std::find(names.begin(), names.end(), text) != names.end(); };
    return one_of(activation_names) || one_of(norm_names) || one_of(gate_names);
}

}  // namespace

const Value* Scope::argument(std::string_view name) const {
    return arguments_.contains(name) ? &names_.find(name)->second : nullptr;
}

std::optional<Value> Scope::find(std::string_view name) const {
    if (const auto found = names_.find(name); found != names_.end()) return found->second;
    if (values_ == nullptr) return std::nullopt;
    const auto dot = name.find('.');
    const toml::node* target = values_->node(name.substr(0, dot));
    if (target != nullptr && dot != std::string_view::npos) {
        std::size_t place = 0;
        const char* end = name.data() + name.size();
        const auto [stop, failure] = std::from_chars(name.data() + dot + 1, end, place);
        const auto* list = target->as_array();
        target = failure == std::errc{} && stop == end && list != nullptr ? list->get(place) : nullptr;
    }
    return target == nullptr ? std::nullopt : value_of(*target);
}

std::vector<std::string> Scope::names() const {
    std::vector<std::string> names = values_ == nullptr ? std::vector<std::string>{} : values_->keys();
    for (const auto& [name, value] : names_) names.push_back(name);
    return names;
}

Value Scope::value(const std::string& key, const toml::node& node, bool words) const {
    const auto* text = node.as_string();
    if (text == nullptr) {
        if (auto found = value_of(node)) return *std::move(found);
        throw error(key, node, "wrong type", {}, "a number, a flag or an expression");
    }
    if (words && is_word(text->get())) {
        const auto named = find(text->get());
        return named ? *named : Value(text->get());
    }
    try {
        return evaluate(text->get(), [this](std::string_view name) {
            auto found = find(name);
            return found || !is_word(name) ? found : Value(std::string(name));
        });
    } catch (const Error& e) {
        const bool unnamed = e.detail().what == "no such value";
        const std::string known = place_.empty() ? "the name of a number in values, such as \"depths.0\"" : "the name of an argument";
        const std::string base = e.detail().found.substr(0, e.detail().found.find('.'));
        std::vector<std::string> others = names();
        std::erase(others, base);  // a list, or one that is shorter
        throw error(key, node, e.detail().what, e.detail().found, unnamed ? known : e.detail().expected,
                    unnamed ? did_you_mean(base, others) : std::string{});
    }
}

std::string Scope::layer(std::size_t index) const {
    return fmt::format("{}layers[{}]", place_, index);
}

Error Scope::error(const std::string& key, const toml::node& node, std::string what, std::string found, std::string expected,
                   std::string suggestion) const {
    if (found.empty()) found = value_text(node);
    return Error({.what = std::move(what),
                  .file = file_,
                  .line = static_cast<int>(node.source().begin.line),
                  .key = key,
                  .found = std::move(found),
                  .expected = std::move(expected),
                  .suggestion = std::move(suggestion)});
}

}  // namespace roofcast
