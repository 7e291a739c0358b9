#pragma once
// What tests of engines share.

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "roofcast/error.hpp"
#include "roofcast/execution.hpp"
#include "support/paths.hpp"

namespace roofcast::test {

/// `repeat` layers of one operator.
inline OpGraph layers_of(const Op& op, std::int64_t repeat = 1) {
    OpGraph graph;
    graph.segments.push_back({.name = "layer", .repeat = repeat, .nodes = {{.name = "operator", .op = op}}});
    return graph;
}

inline OpGraph gemm(std::int64_t rows, double weight_bits) {
    return layers_of(Gemm{.m = rows, .n = 4096, .k = 4096, .precision = Precision::fp16, .weight_bits = weight_bits});
}

/// The key that an execution.toml is refused for whose execution mode `way` has `line` besides.
inline std::string refused_key(const std::string& line, const std::string& way = "eager") {
    std::stringstream text;
    text << std::ifstream(software_dir() / "execution.toml").rdbuf();
    std::string shipped = text.str();
    const std::size_t table = shipped.find("\n[" + way + "]") + 1;
    REQUIRE(table > 0);
    const test::TemporaryFile file("execution.toml", shipped.insert(shipped.find('\n', table) + 1, line + "\n"));
    try {
        load_software(file.path().parent_path());
    } catch (const Error& e) {
        return e.detail().key;
    }
    return "";
}

}  // namespace roofcast::test
