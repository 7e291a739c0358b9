#include "io/toml_nesting.hpp"

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <new>
#include <vector>

namespace roofcast {

namespace {

/// Stack that one level takes while toml++ parses, measures or frees it: under 320 bytes measured, to which sanitizers add.
constexpr std::size_t bytes_per_level = 2048;
/// What the parser takes besides, with its 256 levels of lists and inline tables.
constexpr std::size_t bytes_of_parser = std::size_t{4} << 20;
/// Fits into the stack of any thread together with the parser.
constexpr std::size_t few_levels = 1000;

struct Task {
    const std::function<void()>* work;
    std::exception_ptr failure;
};

void* run_task(void* data) {
    Task& task = *static_cast<Task*>(data);
    try {
        (*task.work)();
    } catch (...) {
        task.failure = std::current_exception();
    }
    return nullptr;
}

struct ThreadAttributes {
    explicit ThreadAttributes(std::size_t stack) {
        if (pthread_attr_init(&value) != 0) throw std::bad_alloc();
        if (pthread_attr_setstacksize(&value, stack) == 0) return;
        pthread_attr_destroy(&value);
        throw std::bad_alloc();
    }
    ThreadAttributes(const ThreadAttributes&) = delete;
    ThreadAttributes& operator=(const ThreadAttributes&) = delete;
    ~ThreadAttributes() { pthread_attr_destroy(&value); }
    pthread_attr_t value{};
};

}  // namespace

std::size_t most_levels(std::string_view text) {
    return 1 + static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return c == '.' || c == '[' || c == '{'; }));
}

void with_stack_for(std::size_t levels, const std::function<void()>& work) {
    if (levels <= few_levels) return work();
    const ThreadAttributes attributes(bytes_of_parser + levels * bytes_per_level);
    Task task{&work, nullptr};
    pthread_t thread{};
    if (pthread_create(&thread, &attributes.value, run_task, &task) != 0) throw std::bad_alloc();
    pthread_join(thread, nullptr);
    if (task.failure) std::rethrow_exception(task.failure);
}

std::optional<int> line_deeper_than(std::size_t deepest, const toml::table& root) {
    struct Place {
        const toml::node* node;
        std::size_t level;
        int line;  ///< of a table that stands nowhere as such, that of the one around it
    };
    std::vector<Place> open{{&root, 0, 1}};
    while (!open.empty()) {
        const Place at = open.back();
        open.pop_back();
        if (at.level >= deepest) return at.line;
        const auto enter = [&](const toml::node& child) {
            if (!child.is_table() && !child.is_array()) return;
            const int line = static_cast<int>(child.source().begin.line);
            open.push_back({&child, at.level + 1, line > 0 ? line : at.line});
        };
        if (const auto* table = at.node->as_table()) {
            for (const auto& [key, child] : *table) enter(child);
        } else {
            for (const auto& child : *at.node->as_array()) enter(child);
        }
    }
    return std::nullopt;
}

}  // namespace roofcast
