#include "cli/temporary_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <string>

namespace roofcast::cli {

namespace {

/// A name that a signal handler can read: it may neither allocate nor wait.
struct Place {
    enum State : int { empty, being_filled, taken };
    std::atomic<int> state{empty};
    std::array<char, PATH_MAX> name{};
};
static_assert(std::atomic<int>::is_always_lock_free);

/// A signal handler takes no argument of ours, so that what it removes has to be found without one.
std::array<Place, 4> places;

class SignalSafeNames : public TemporaryNames {
public:
    void add(const std::filesystem::path& file) override {
        const std::string& name = file.native();
        if (name.size() >= PATH_MAX) return;
        for (Place& place : places) {
            int expected = Place::empty;
            if (!place.state.compare_exchange_strong(expected, Place::being_filled)) continue;
            *std::copy(name.begin(), name.end(), place.name.begin()) = '\0';
            place.state = Place::taken;
            return;
        }
    }

    void remove(const std::filesystem::path& file) override {
        for (Place& place : places) {
            if (place.state == Place::taken && file.native() == place.name.data()) place.state = Place::empty;
        }
    }
};

void remove_and_end(int signal) {
    for (const Place& place : places) {
        if (place.state == Place::taken) ::unlink(place.name.data());
    }
    std::signal(signal, SIG_DFL);
    static_cast<void>(std::raise(signal));  // held back until this function returns
}

}  // namespace

TemporaryNames& temporary_files() {
    static SignalSafeNames names;
    return names;
}

void remove_temporary_files_at_signals() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        if (std::signal(signal, remove_and_end) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
}

}  // namespace roofcast::cli
