#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "roofcast/kernel_library.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

constexpr const char* head = "name = \"lib\"\nsource = \"test\"\nkernels = [\"lib_graph\"]\n";
constexpr const char* kernel = "[[all_reduce]]\nname = \"k\"\nalgorithm = \"two_shot\"\nrounds = 2\n";

KernelLibraries libraries_of(const std::string& text) {
    const test::TemporaryFile file("lib.toml", text);
    return load_kernel_libraries(file.path().parent_path());
}

/// The key that a library with these lines in its kernel is refused for.
std::string refused_key(const std::string& lines) {
    try {
        libraries_of(std::string(head) + kernel + lines);
    } catch (const Error& e) {
        return e.detail().key;
    }
    return "";
}

KernelLibraries shipped() {
    return load_kernel_libraries(test::source_dir() / "software" / "libraries");
}

}  // namespace

TEST_CASE("a library is read with the cases of its kernels") {
    const auto all = libraries_of(
        std::string(head) + kernel +
        "link_rate = 0.5\ncopies = 2\n"
        "accepts = [{ gpus = [2, 4], capability = [\"9\", \"10.3\"], bytes_from = 1024, bytes_below = 4096, nvlink = true }]\n");
    REQUIRE(all.size() == 1);
    REQUIRE(all[0]->all_reduce.size() == 1);
    const AllReduceKernel& k = all[0]->all_reduce[0];
    CHECK(k.algorithm == AllReduceAlgorithm::two_shot);
    CHECK(k.rounds == 2);
    CHECK(k.link_rate == 0.5);
    CHECK(k.copies == 2);
    CHECK(k.source == "test");
    REQUIRE(k.accepts.size() == 1);
    CHECK(k.accepts[0].gpus == std::vector<std::int64_t>{2, 4});
    CHECK(k.accepts[0].capability[1].minor == 3);
    CHECK_FALSE(k.accepts[0].capability[0].minor);
    CHECK(*k.accepts[0].least == 1024 * byte);
    CHECK(*k.accepts[0].most == 4095 * byte);
    CHECK(k.accepts[0].nvlink == true);
}

TEST_CASE("what no library can mean is refused by its key") {
    CHECK(refused_key("accepts = [{}]\n") == "");
    CHECK(refused_key("").ends_with("accepts"));
    CHECK(refused_key("accepts = [{ capability = [\"hopper\"] }]\n").ends_with("capability"));
    CHECK(refused_key("accepts = [{ bytes_from = 8, bytes_most = 4 }]\n").ends_with("bytes_from"));
    CHECK(refused_key("accepts = [{ bytes_below = 8, bytes_most = 4 }]\n").ends_with("bytes_below"));
    CHECK(refused_key("accepts = [{ gpu = [2] }]\n").ends_with("gpu"));
    CHECK(refused_key("link_rate = 0\naccepts = [{}]\n").ends_with("link_rate"));
    CHECK_THROWS_AS(libraries_of("name = \"other\"\nsource = \"test\"\n"), Error);
    CHECK_THROWS_AS(
        libraries_of(std::string(head) + "[[all_reduce]]\nname = \"k\"\nalgorithm = \"three_shot\"\nrounds = 1\naccepts = [{}]\n"), Error);
}

TEST_CASE("no folder holds no libraries") {
    CHECK(load_kernel_libraries("/no/such/folder").empty());
}

TEST_CASE("every shipped library is read, and rows find theirs by kernel and software") {
    const KernelLibraries all = shipped();
    CHECK(all.size() >= 5);
    for (const auto& library : all) {
        CAPTURE(library->name);
        CHECK_FALSE((library->all_reduce.empty() && library->families.empty() && library->facts.empty() && library->attention.empty()));
    }
    CHECK(find_library(all, "trtllm-allreduce") != nullptr);
    CHECK(find_library(all, "nccl") == nullptr);
    CHECK(measured_library(all, "trtllm", "trtllm 1.0.0")->name == "trtllm-allreduce");
    CHECK(measured_library(all, "vllm_custom_graph", "vllm 0.24.0")->name == "vllm-custom-allreduce");
    CHECK(measured_library(all, "vllm_custom_graph", "vllm 0.14.1.dev1")->name == "vllm-custom-allreduce-alone");
    CHECK(measured_library(all, "ncclDevKernel", "nccl") == nullptr);
}
