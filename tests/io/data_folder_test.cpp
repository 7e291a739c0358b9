#include "io/data_folder.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>
#include <string>

using roofcast::user_data_folder;

namespace {

/// Sets a variable of the environment, or removes it, for as long as it lives.
class Variable {
public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* before = std::getenv(name)) before_ = before;
        value != nullptr ? setenv(name, value, 1) : unsetenv(name);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

private:
    const char* name_;
    std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("fits of a user lie in XDG_DATA_HOME, else below the home folder, else nowhere") {
    const Variable home("HOME", "/home/ada");
    {
        const Variable xdg("XDG_DATA_HOME", "/data");
        CHECK(user_data_folder() == "/data/roofcast");
    }
    {
        // The specification has relative paths ignored.
        const Variable xdg("XDG_DATA_HOME", "data");
        CHECK(user_data_folder() == "/home/ada/.local/share/roofcast");
    }
    const Variable xdg("XDG_DATA_HOME", nullptr);
    CHECK(user_data_folder() == "/home/ada/.local/share/roofcast");
    const Variable nobody("HOME", nullptr);
    CHECK(user_data_folder().empty());
}
