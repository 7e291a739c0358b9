// Reading ONNX files, sound and damaged ones.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "roofcast/error.hpp"
#include "roofcast/op_graph.hpp"
#include "roofcast/workload.hpp"
#include "support/onnx_bytes.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::TemporaryFile;
namespace bytes = roofcast::test::onnx_bytes;

namespace {

/// x [batch, 4] times w [4, 6].
std::string small_graph(const std::string& data = {}) {
    return bytes::node("MatMul", {"x", "w"}, {"y"}) + bytes::weight("w", {4, 6}, data) + bytes::input("x", {"batch", "4"}) +
           bytes::output("y");
}

TemporaryFile model_file(const std::string& graph) {
    return TemporaryFile("net.onnx", bytes::model(graph));
}

ErrorDetail onnx_failure(const std::string& content) {
    const TemporaryFile file("net.onnx", content);
    try {
        static_cast<void>(load_workload(file.path()));
    } catch (const Error& e) {
        return e.detail();
    }
    FAIL("the file was read");
    return {.what = {}};
}

const TensorNet& net_of(const Workload& workload) {
    return std::get<TensorNet>(workload.architecture);
}

}  // namespace

TEST_CASE("a net is read with the symbols of its inputs") {
    const TemporaryFile file = model_file(small_graph());
    const Workload workload = load_workload(file.path());
    CHECK(workload.id == "net");
    const TensorNet& net = net_of(workload);
    CHECK(net.operator_set == 13);
    REQUIRE(net.nodes.size() == 1);
    CHECK(net.nodes.front().kind == "MatMul");
    CHECK(symbols_of(net) == std::vector<std::string>{"batch"});
    CHECK(fixed_batch(net) == 0);
    const OpGraph graph = forward_graph(workload, Run{.batch = 3}, Lowering{});
    CHECK(total_parameters(graph) == 24);
    CHECK(total_macs(graph) == 3 * 24);
}

TEST_CASE("the data of weights are not kept, those of small constants are") {
    const TemporaryFile small = model_file(small_graph(std::string(4 * 24, '\0')));
    CHECK(net_of(load_workload(small.path())).tensors.front().values.size() == 24);
    const std::string large = bytes::node("MatMul", {"x", "w"}, {"y"}) + bytes::weight("w", {400, 600}, std::string(4 * 240'000, '\1')) +
                              bytes::input("x", {"batch", "400"}) + bytes::output("y");
    const TemporaryFile file = model_file(large);
    const Workload workload = load_workload(file.path());
    CHECK(net_of(workload).tensors.front().values.empty());
    CHECK(total_parameters(forward_graph(workload, {}, {})) == 240'000);
}

TEST_CASE("weights that inputs list too are weights") {
    const TemporaryFile file = model_file(small_graph() + bytes::input("w", {"4", "6"}));
    CHECK(net_of(load_workload(file.path())).inputs.size() == 1);
}

TEST_CASE("operators are put into an order in which they can run") {
    const std::string graph =
        bytes::node("Relu", {"a"}, {"y"}) + bytes::node("Neg", {"x"}, {"a"}) + bytes::input("x", {"2", "3"}) + bytes::output("y");
    const TemporaryFile file = model_file(graph);
    const TensorNet net = net_of(load_workload(file.path()));
    CHECK(net.nodes.front().kind == "Neg");
    CHECK(net.nodes.back().kind == "Relu");
    CHECK(fixed_batch(net) == 2);
}

TEST_CASE("operators in a cycle are refused") {
    const std::string graph =
        bytes::node("Neg", {"b"}, {"a"}) + bytes::node("Relu", {"a"}, {"b"}) + bytes::input("x", {"2"}) + bytes::output("b");
    CHECK(onnx_failure(bytes::model(graph)).what.find("cycle") != std::string::npos);
}

TEST_CASE("a tensor that nothing computes is refused by name") {
    const std::string graph = bytes::node("Relu", {"missing"}, {"y"}) + bytes::input("x", {"2"}) + bytes::output("y");
    CHECK(onnx_failure(bytes::model(graph)).key == "missing");
    const std::string twice =
        bytes::node("Relu", {"x"}, {"y"}) + bytes::node("Neg", {"x"}, {"y"}) + bytes::input("x", {"2"}) + bytes::output("y");
    CHECK(onnx_failure(bytes::model(twice)).key == "y");
}

TEST_CASE("truncated files are refused wherever they end") {
    const std::string whole = bytes::model(small_graph(std::string(96, '\2')));
    // Behind the graph stands the version of the operators, without which the net is whole.
    const std::size_t behind_graph = bytes::field(8, bytes::field(2, std::uint64_t{13})).size();
    for (std::size_t length = 1; length < whole.size() - behind_graph; ++length) {
        CAPTURE(length);
        CHECK_FALSE(onnx_failure(whole.substr(0, length)).what.empty());
    }
}

TEST_CASE("two gigabytes of zeros are refused at once") {
    const TemporaryFile file("zeros.onnx", "0");
    std::ofstream(file.path(), std::ios::binary | std::ios::trunc).put('\0');
    std::filesystem::resize_file(file.path(), std::uintmax_t{2} << 30U);
    CHECK_THROWS_AS(static_cast<void>(load_workload(file.path())), Error);
}

TEST_CASE("text is no net, and an empty file none either") {
    CHECK_FALSE(onnx_failure("# a model\n[[variant]]\n").what.empty());
    CHECK_FALSE(onnx_failure("").what.empty());
    // A model without a graph.
    CHECK_FALSE(onnx_failure(bytes::field(1, std::uint64_t{8})).what.empty());
}

TEST_CASE("implausible sizes are refused") {
    const std::string huge = bytes::node("MatMul", {"x", "w"}, {"y"}) + bytes::weight("w", {std::uint64_t{1} << 50U, 6}) +
                             bytes::input("x", {"2", "4"}) + bytes::output("y");
    CHECK(onnx_failure(bytes::model(huge)).key == "w");
    // Each is plausible; their product is not.
    const std::uint64_t large = std::uint64_t{1} << 39U;
    const std::string product = bytes::node("MatMul", {"x", "w"}, {"y"}) + bytes::weight("w", {large, large}) +
                                bytes::input("x", {"2", std::to_string(large)}) + bytes::output("y");
    const TemporaryFile file = model_file(product);
    const Workload workload = load_workload(file.path());
    CHECK_THROWS_AS(static_cast<void>(forward_graph(workload, {}, {})), Error);
}

TEST_CASE("nets of more operators than any exporter writes are refused") {
    std::string graph = bytes::input("x", {"2"});
    std::string last = "x";
    for (int i = 0; i < 200'001; ++i) {
        const std::string next = "t" + std::to_string(i);
        graph += bytes::node("Relu", {last}, {next});
        last = next;
    }
    CHECK(onnx_failure(bytes::model(graph + bytes::output(last))).expected == "at most 200000");
}

TEST_CASE("graphs nested without end are refused") {
    std::string inner = bytes::node("Relu", {"x"}, {"y"});
    for (int depth = 0; depth < 40; ++depth)
        inner = bytes::node("If", {"x"}, {"y"}, bytes::field(5, bytes::field(1, std::string("then_branch")) + bytes::field(6, inner)));
    CHECK(onnx_failure(bytes::model(inner + bytes::input("x", {"2"}) + bytes::output("y"))).what.find("nested") != std::string::npos);
}
