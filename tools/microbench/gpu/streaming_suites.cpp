/// Suites of our own kernels: element-wise, row-wise, embedding.

#include <algorithm>
#include <cmath>

#include "gpu/operands.hpp"
#include "gpu/suites.hpp"
#include "gpu/verify.hpp"

namespace roofcast::microbench {

namespace {

std::size_t bytes_of(Precision p, std::int64_t elements) {
    return static_cast<std::size_t>(element_size(p)) * static_cast<std::size_t>(elements);
}

double applied(const std::string& function, double a, double b) {
    if (function == "add") return a + b;
    if (function == "mul") return a * b;
    if (function == "gelu") return 0.5 * a * (1 + std::erf(a * std::sqrt(0.5)));
    if (function == "silu") return a / (1 + std::exp(-a));
    return a;
}

void verify_elementwise(const Device& device, Precision p, const Elementwise& w, const Operands& operands) {
    const auto count = static_cast<std::size_t>(w.elements), part = std::min<std::size_t>(count, 64);
    for (const std::size_t first : {std::size_t{0}, count - part}) {
        const auto a = fetched(device, operands.at(0, 0), p, first, part), b = fetched(device, operands.at(0, 1), p, first, part);
        const auto out = fetched(device, operands.at(0, 2), p, first, part);
        for (std::size_t i = 0; i < part; ++i) require_close({applied(w.function, a[i], b[i]), out[i], 1}, storage_tolerance(p));
    }
}

/// One row of a softmax, layer norm or RMS norm in double precision.
std::vector<double> reference_row(const std::string& op, std::vector<double> row, const std::vector<double>& gain) {
    const auto count = static_cast<double>(row.size());
    double sum = 0, squares = 0;
    if (op == "softmax") {
        const double largest = *std::max_element(row.begin(), row.end());
        for (double& v : row) sum += v = std::exp(v - largest);
        for (double& v : row) v /= sum;
        return row;
    }
    for (const double v : row) sum += v;
    const double mean = op == "layernorm" ? sum / count : 0;
    for (const double v : row) squares += (v - mean) * (v - mean);
    const double factor = 1 / std::sqrt(squares / count + 1e-5);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = (row[i] - mean) * factor * gain[i];
    return row;
}

}  // namespace

Outcome measure_elementwise(const Device& device, const Case& c, const Elementwise& w) {
    device.require(c.precision);
    const std::size_t bytes = bytes_of(c.precision, w.elements);
    const bool binary = w.function == "add" || w.function == "mul";
    // Functions of one tensor never read the second: it is not filled, and verification ignores it.
    const Operands operands(device, {{bytes, c.precision}, {bytes, c.precision, binary}, {bytes, c.precision, false}}, c.cache);
    const Launcher launch = [&](int i, cudaStream_t stream) {
        enqueue_elementwise(w.function, c.precision, operands.at(i, 0), operands.at(i, 1), operands.at(i, 2),
                            static_cast<std::size_t>(w.elements), stream);
    };
    launch(0, device.stream());
    verify_elementwise(device, c.precision, w, operands);
    return {timed(device, launch, operands.copies(), c.cache), {}, device.software()};
}

Outcome measure_row_wise(const Device& device, const Case& c, const RowWise& w) {
    device.require(c.precision);
    const std::size_t bytes = bytes_of(c.precision, w.rows * w.cols);
    const Operands operands(device, {{bytes, c.precision}, {bytes_of(c.precision, w.cols), c.precision}, {bytes, c.precision, false}},
                            c.cache);
    const Launcher launch = [&](int i, cudaStream_t stream) {
        enqueue_row_wise(w.op, c.precision, operands.at(i, 0), operands.at(i, 1), operands.at(i, 2), w.rows, w.cols, stream);
    };
    launch(0, device.stream());
    const auto cols = static_cast<std::size_t>(w.cols), last = static_cast<std::size_t>(w.rows - 1) * cols;
    const auto expected = reference_row(w.op, fetched(device, operands.at(0, 0), c.precision, last, cols),
                                        fetched(device, operands.at(0, 1), c.precision, 0, cols));
    const auto found = fetched(device, operands.at(0, 2), c.precision, last, cols);
    for (std::size_t i = 0; i < cols; ++i) require_close({expected[i], found[i], 1}, storage_tolerance(c.precision));
    return {timed(device, launch, operands.copies(), c.cache), {}, device.software()};
}

Outcome measure_embedding(const Device& device, const Case& c, const Embedding& w) {
    device.require(c.precision);
    constexpr std::int32_t table_rows = 32000;  // a usual vocabulary; larger than L2 for all but the narrowest rows
    const Buffer table(bytes_of(c.precision, table_rows * w.hidden));
    enqueue_random(table.data(), c.precision, static_cast<std::size_t>(table_rows * w.hidden), 1, device.stream());
    const auto tokens = static_cast<std::size_t>(w.tokens), hidden = static_cast<std::size_t>(w.hidden);
    const Operands operands(
        device, {{tokens * sizeof(std::int32_t), Precision::fp32, false}, {bytes_of(c.precision, w.tokens * w.hidden), c.precision, false}},
        c.cache);
    for (int i = 0; i < operands.copies(); ++i)
        enqueue_random_indices(static_cast<std::int32_t*>(operands.at(i, 0)), tokens, table_rows, static_cast<std::uint64_t>(i),
                               device.stream());
    const Launcher launch = [&](int i, cudaStream_t stream) {
        enqueue_gather(c.precision, table.data(), static_cast<const std::int32_t*>(operands.at(i, 0)), operands.at(i, 1), w.tokens,
                       w.hidden, stream);
    };
    launch(0, device.stream());
    std::int32_t index = 0;
    check(cudaMemcpyAsync(&index, static_cast<std::int32_t*>(operands.at(0, 0)) + tokens - 1, sizeof index, cudaMemcpyDeviceToHost,
                          device.stream()),
          "fetching an index");
    check(cudaStreamSynchronize(device.stream()), "gathering");
    const auto expected = fetched(device, table.data(), c.precision, static_cast<std::size_t>(index) * hidden, hidden);
    const auto found = fetched(device, operands.at(0, 1), c.precision, (tokens - 1) * hidden, hidden);
    for (std::size_t i = 0; i < hidden; ++i) require_close({expected[i], found[i], 0}, {0, 0});
    return {timed(device, launch, operands.copies(), c.cache), {}, device.software()};
}

}  // namespace roofcast::microbench
