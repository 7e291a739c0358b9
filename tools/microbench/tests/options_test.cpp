#include "host/options.hpp"

#include <doctest/doctest.h>

#include "support/program.hpp"

using namespace roofcast::microbench;
using roofcast::test::contains;

namespace {

std::string error_of(const std::vector<std::string>& arguments) {
    try {
        parse_options(arguments);
    } catch (const UsageError& e) {
        return e.message;
    }
    return "no error";
}

}  // namespace

TEST_CASE("options are read with a blank or an equals sign") {
    const Options o =
        parse_options({"--suite", "gemm,copy", "--precision=bf16", "--budget", "1200", "--seed=3", "--resume", "--output", "a/b.csv"});
    CHECK(o.selection.suites == std::vector<Suite>{Suite::gemm, Suite::copy});
    CHECK(o.selection.precisions == std::vector<Precision>{Precision::bf16});
    CHECK(o.selection.budget_s == 1200);
    CHECK(o.selection.seed == 3);
    CHECK(o.resume);
    CHECK_FALSE(o.list);
    CHECK(o.device_file() == "a/b.device.csv");
    CHECK(parse_options({"--device-output", "d.csv"}).device_file() == "d.csv");
}

TEST_CASE("wrong options say what was expected") {
    CHECK(contains(error_of({"--suite", "gem"}), "expected gemm, convolution"));
    CHECK(contains(error_of({"--precision", "bf16,half"}), "found 'half'"));
    CHECK(contains(error_of({"--budget", "soon"}), "a number of seconds"));
    CHECK(contains(error_of({"--budget", "-1"}), "a number of seconds"));
    CHECK(contains(error_of({"--budget", "nan"}), "a number of seconds"));
    CHECK(contains(error_of({"--seed"}), "no value"));
    CHECK(contains(error_of({"--colour", "red"}), "unknown option '--colour'"));
    CHECK(contains(error_of({"gemm"}), "unexpected argument 'gemm'"));
}
