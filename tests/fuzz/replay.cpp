/// Feeds inputs to the fuzz targets without libFuzzer.
///
///     fuzz_replay FOLDER                    kept inputs: each subfolder is named after a target
///     fuzz_replay --random COUNT TARGET     random inputs, for targets that build what they test from bytes
///
/// An input that ends the process, or takes longer than 20 s, is written to `fuzz-finding` where it is run.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/targets.hpp"

using namespace roofcast;

namespace {

struct Target {
    std::string_view name;
    int (*run)(const std::uint8_t* data, std::size_t size);
};
constexpr std::array targets{
    Target{"csv", fuzz::csv},         Target{"files", fuzz::files},     Target{"json", fuzz::json},           Target{"net", fuzz::net},
    Target{"onnx", fuzz::onnx},       Target{"options", fuzz::options}, Target{"scheduler", fuzz::scheduler}, Target{"toml", fuzz::toml},
    Target{"weights", fuzz::weights},
};

/// Of the input at hand: a signal handler reaches nothing else.
std::span<const std::uint8_t> at_hand;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

extern "C" void keep_finding(int signal) {
    const int file = open("fuzz-finding", O_WRONLY | O_CREAT | O_TRUNC, 0644);  // NOLINT(cppcoreguidelines-pro-type-vararg)
    if (file >= 0 && write(file, at_hand.data(), at_hand.size()) >= 0) close(file);
    _exit(128 + signal);
}

void run(const Target& target, const std::vector<std::uint8_t>& input) {
    constexpr unsigned longest_s = 20;
    at_hand = input;
    alarm(longest_s);
    target.run(input.data(), input.size());
    alarm(0);
}

std::vector<std::uint8_t> bytes_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

int replay(const std::filesystem::path& corpus) {
    int replayed = 0;
    for (const Target& target : targets) {
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::directory_iterator(corpus / target.name)) files.push_back(entry.path());
        std::sort(files.begin(), files.end());
        for (const auto& file : files) {
            // A crash names its input.
            std::printf("%s\n", file.c_str());
            std::fflush(stdout);
            // A second time: nothing of the first may be left.
            for (int time = 0; time < 2; ++time) run(target, bytes_of(file));
            ++replayed;
        }
    }
    std::printf("%d inputs replayed\n", replayed);
    return replayed > 0 ? 0 : 1;
}

int try_random(long count, std::string_view name) {
    const auto* target = std::find_if(targets.begin(), targets.end(), [name](const Target& t) { return t.name == name; });
    if (target == targets.end()) return 2;
    std::mt19937_64 generator(std::random_device{}());
    constexpr std::size_t longest = 600;
    for (long i = 0; i < count; ++i) {
        std::vector<std::uint8_t> input(1 + generator() % longest);
        std::generate(input.begin(), input.end(), [&generator] { return static_cast<std::uint8_t>(generator()); });
        run(*target, input);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    for (const int signal : {SIGABRT, SIGALRM, SIGFPE, SIGSEGV}) std::signal(signal, keep_finding);
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() == 1) return replay(arguments[0]);
    if (arguments.size() == 3 && arguments[0] == "--random") return try_random(std::atol(arguments[1].c_str()), arguments[2]);
    std::fprintf(stderr, "usage: fuzz_replay FOLDER | fuzz_replay --random COUNT TARGET\n");
    return 2;
}
