/// Where results and messages go, and what happens when they cannot go there. Commands run by the shell, which redirects them.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "cli/temporary_files.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using roofcast::test::contains;
using roofcast::test::ProgramResult;
using roofcast::test::refused;
using roofcast::test::TemporaryFile;
using roofcast::test::text_of;

namespace {

/// Runs `script`, in which $R is the program, and returns what it prints.
ProgramResult shell(const std::string& script) {
    const std::string command = "export ROOFCAST_DATA='" ROOFCAST_SOURCE_DIR "' R='" ROOFCAST_BINARY "'; " + script;
    ProgramResult result;
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::array<char, 4096> buffer{};
    std::size_t count = 0;
    while ((count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) result.output.append(buffer.data(), count);
    const int status = pclose(pipe);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
}

std::ptrdiff_t count_of_files(const std::filesystem::path& folder) {
    return std::distance(std::filesystem::directory_iterator(folder), {});
}

/// "v100" stands for several GPUs, which is said on standard error.
constexpr const char* noted = "$R predict --gpu v100 --model resnet50 --precision fp16";

}  // namespace

TEST_CASE("messages that cannot be written change neither the result nor the exit code") {
    const ProgramResult whole = shell(std::string(noted) + " 2>/dev/null");
    REQUIRE(whole.exit_code == 0);
    REQUIRE(contains(shell(std::string(noted) + " 2>&1 >/dev/null").output, "ambiguous"));
    for (const char* redirection : {" 2>&-", " 2>/dev/full"}) {
        const ProgramResult mute = shell(noted + std::string(redirection));
        CHECK(mute.exit_code == 0);
        CHECK(mute.output == whole.output);
        CHECK(shell(std::string("$R predikt") + redirection).exit_code == 2);
    }
}

TEST_CASE("standard output that cannot be written is exit code 1 with the reason") {
    for (const char* command : {"$R --help", "$R predict --help", "$R --version", "$R gpu list", "$R gpu list --format json",
                                "$R sweep --gpu t4 --model resnet50 --format csv"}) {
        CAPTURE(command);
        const ProgramResult full = shell(std::string(command) + " 2>&1 >/dev/full");
        CHECK(full.exit_code == 1);
        CHECK(contains(full.output, "roofcast: standard output cannot be written: No space left on device"));
        CHECK(shell(std::string(command) + " 2>/dev/null >&-").exit_code == 1);
        CHECK(shell(std::string(command) + " >&- 2>&-").exit_code == 1);
    }
}

TEST_CASE("a file that is opened does not take the place of a closed standard error") {
    const TemporaryFile file("out.txt", "");
    const std::string output = " --output " + file.path().string();
    REQUIRE(shell(noted + output).exit_code == 0);
    const std::string whole = text_of(file.path());
    CHECK_FALSE(whole.empty());
    CHECK(shell(noted + output + " 0<&- 1>&- 2>&-").exit_code == 0);
    CHECK(text_of(file.path()) == whole);
}

TEST_CASE("output to standard output by name goes on where it stands") {
    const TemporaryFile file("log.txt", "first\n");
    REQUIRE(shell("$R --version >/dev/null; $R gpu list --format csv --output /dev/stdout >> " + file.path().string()).exit_code == 0);
    CHECK(text_of(file.path()).starts_with("first\nid,"));
    CHECK(contains(shell("$R gpu list --format csv --output /dev/stdout | cat").output, "id,"));
}

TEST_CASE("a limit on the size of files is said, and leaves the file as it was") {
    const TemporaryFile file("out.txt", "old");
    const ProgramResult limited = shell("ulimit -f 1; $R gpu list --format json --output " + file.path().string() + " 2>&1");
    CHECK(limited.exit_code == 1);
    CHECK(contains(limited.output, "File too large"));
    CHECK(text_of(file.path()) == "old");
    CHECK(count_of_files(file.path().parent_path()) == 1);
}

TEST_CASE("an output never replaces an entry of a list that is read") {
    const std::string text = R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 100,
        "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 4096})";
    const TemporaryFile config("config.json", text);
    const std::string file = config.path().string(), folder = config.path().parent_path().string();
    for (const std::string& models : {folder + ",resnet50", "resnet50," + folder, file + ",resnet50", "resnet50," + file, folder}) {
        CHECK(contains(refused("sweep --gpu t4 --model " + models + " --output " + file), "the command also reads or writes this file"));
        CHECK(contains(refused("sweep --gpu t4 --format csv --model " + models + " --output " + file),
                       "the command also reads or writes this file"));
        CHECK(text_of(config.path()) == text);
    }
    CHECK(contains(refused("sweep --gpu h100 --model llama-3.1-8b --draft llama-3.2-1b," + folder +
                           " --draft-tokens 4 --acceptance 0.7 --output " + file),
                   "the command also reads or writes this file"));
    CHECK(text_of(config.path()) == text);
}

TEST_CASE("names of others cannot steer the terminal") {
    const ProgramResult error = shell("$R predict --gpu \"$(printf 'x\\033[31m\\nroofcast: fine')\" --model resnet50 2>&1");
    CHECK(error.exit_code == 2);
    CHECK(contains(error.output, "x\\x1b[31m\\x0aroofcast: fine"));
    CHECK_FALSE(contains(error.output, "\x1b"));
    const TemporaryFile gpu("x1.toml",
                            "id = \"x1\"\nname = \"X\\u001B[31m\"\narchitecture = \"ampere\"\nmemory_gb = 40\n"
                            "memory_bandwidth_gbps = 1555\ncompute_tflops = 312\nnotes = \"\\u009B2J\"\n");
    for (const char* format : {"table", "json", "csv"}) {
        CAPTURE(format);
        const ProgramResult shown = shell("$R gpu show " + gpu.path().string() + " --format " + format + " 2>&1");
        CHECK(shown.exit_code == 0);
        CHECK_FALSE(contains(shown.output, "\x1b"));
        CHECK_FALSE(contains(shown.output, "\xc2\x9b"));
    }
}

TEST_CASE("an id that is a path is refused where it is read") {
    for (const char* id : {"/tmp/x", "../x", "arch/ampere", "X1", ""}) {
        const TemporaryFile gpu("x1.toml", std::string("name = \"X1\"\nid = \"") + id +
                                               "\"\narchitecture = \"ampere\"\nmemory_gb = 40\nmemory_bandwidth_gbps = 1000\n"
                                               "compute_tflops = 100\n");
        CHECK(contains(refused("predict --model resnet50 --gpu " + gpu.path().string()), "x1.toml:2: id: not an id"));
    }
    const TemporaryFile architecture("x1.toml",
                                     "name = \"X1\"\narchitecture = \"../ampere\"\nmemory_gb = 40\nmemory_bandwidth_gbps = 1000\n"
                                     "compute_tflops = 100\n");
    CHECK(contains(refused("predict --model resnet50 --gpu " + architecture.path().string()), "x1.toml:2: architecture: not an id"));
    const TemporaryFile model("m.toml", "id = \"a/b\"\nfamily = \"cnn\"\nsource = \"s\"\n");
    CHECK(contains(refused("model check " + model.path().string()), "m.toml:1: id: not an id"));
    // A profile without an id goes by the name of its file.
    const TemporaryFile named(
        "My X1.toml", "name = \"X1\"\narchitecture = \"ampere\"\nmemory_gb = 40\nmemory_bandwidth_gbps = 1555\ncompute_tflops = 312\n");
    CHECK(contains(roofcast::test::printed("gpu show --format json '" + named.path().string() + "'"), "\"my-x1\""));
}

TEST_CASE("rows that cannot be used are one line a reason, in every format") {
    const TemporaryFile rows("rows.csv",
                             "gpu,op,precision,m,n,k,latency_us\nt4,gemm,fp16,64,64,64,9\nt4,gemm,fp16,64,64,64\nt4,gemm,fp16,64,64,64\n"
                             "t4,gemm,fp16,,64,64,9\n");
    const std::string file = rows.path().string();
    const auto document = nlohmann::json::parse(roofcast::test::printed("validate --format json --data " + file));
    CHECK(document["overall"]["skipped"] == 3);
    CHECK(document["skipped"].size() == 2);
    CHECK(document["skipped"][0]["rows"] == 2);
    CHECK(document["skipped"][0]["line"] == 3);
    CHECK(contains(roofcast::test::printed("validate --data " + file), "1 rows judged, 0 set aside as impossible, 3 skipped"));
    CHECK(contains(roofcast::test::printed("bench summarize " + file), "skipped: 2 rows (first: " + file + ":3): "));
    CHECK(nlohmann::json::parse(roofcast::test::printed("bench summarize --format json " + file))["skipped"][0]["rows"] == 2);
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("a file too large for the memory is named") {
    const TemporaryFile rows("large.csv", "gpu,op,precision,m,n,k,latency_us\n");
    {
        std::ofstream more(rows.path(), std::ios::app);
        for (int i = 1; i <= 200'000; ++i) more << "t4,gemm,fp16," << i << ",64,64,9\n";
    }
    for (const char* command : {"validate --data ", "bench summarize "}) {
        const ProgramResult result = shell("ulimit -v 60000; $R " + std::string(command) + rows.path().string() + " 2>&1");
        CHECK(result.exit_code == 2);
        CHECK(contains(result.output, "large.csv: not enough memory to read this file"));
    }
}
#endif

TEST_CASE("a signal ends the program and leaves no temporary file") {
    const TemporaryFile file("out.txt", "old");
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            roofcast::cli::remove_temporary_files_at_signals();
            roofcast::AtomicFile out(file.path(), &roofcast::cli::temporary_files(), roofcast::Temporary::named);
            out.write(std::string(1'000'000, 'x'));
            if (count_of_files(file.path().parent_path()) != 2) ::_exit(7);
            ::raise(signal);
            ::_exit(8);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == signal);
        CHECK(count_of_files(file.path().parent_path()) == 1);
        CHECK(text_of(file.path()) == "old");
    }
}

TEST_CASE("a sweep that is stopped leaves what stood there, and nothing next to it") {
    const TemporaryFile file("out.csv", "old");
    const std::string batches = "$(seq -s, 1 20000)";
    const ProgramResult stopped =
        shell("timeout -s TERM 0.5 $R sweep --gpu t4,a100,h100 --model llama-3.1-8b,resnet50,bert-base --batch " + batches +
              " --prompt 128,256,512 --generate 1,64,128 --format csv --output " + file.path().string() + " 2>/dev/null");
    CHECK(stopped.exit_code == 124);  // of timeout: it had to stop the program
    CHECK(text_of(file.path()) == "old");
    CHECK(count_of_files(file.path().parent_path()) == 1);
}

TEST_CASE("a hang-up that is ignored stays ignored") {
    const std::string sweep = "$R sweep --gpu t4 --model resnet50 --batch $(seq -s, 1 20000) --format csv >/dev/null & sleep 0.2; ";
    CHECK(shell("trap '' HUP; " + sweep + "kill -HUP $! 2>/dev/null; wait $!; echo $?").output == "0\n");
    CHECK(shell(sweep + "kill -HUP $! 2>/dev/null; wait $!; echo $?").output == "129\n");
}
