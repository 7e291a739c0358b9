#pragma once
/// Libraries that are found when the program runs, so that it starts on machines that lack some of them.

#include <string>
#include <vector>

namespace roofcast::microbench {

class Library {
public:
    /// The first of `names` that the loader finds; none: not open.
    explicit Library(const std::vector<std::string>& names);
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library();

    [[nodiscard]] bool open() const { return handle_ != nullptr; }
    /// Throws CaseError when the library or the symbol is missing.
    template <class Function>
    void find(const char* symbol, Function& function) const {
        function = reinterpret_cast<Function>(address(symbol));
    }

private:
    [[nodiscard]] void* address(const char* symbol) const;
    std::string name_;
    void* handle_ = nullptr;
};

}  // namespace roofcast::microbench
