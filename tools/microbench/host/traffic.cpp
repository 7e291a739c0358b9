/// Operations and bytes of cases: what the time of a case may be expected from.

#include <algorithm>

#include "host/cases.hpp"

namespace roofcast::microbench {

namespace {

double real(std::int64_t value) {
    return static_cast<double>(value);
}

/// Results of one-byte formats are wider: int8 gives int32, fp8 gives bf16.
double output_size(Precision p) {
    return p == Precision::int8 ? 4 : std::max(element_size(p), 2.0);
}

/// Inputs and outputs of one GEMM stand for `batch` of them.
double gemm_bytes(const Gemm& w, Precision p) {
    const double size = element_size(p);
    return real(w.batch) * (size * (real(w.m) * real(w.k) + real(w.n) * real(w.k)) + output_size(p) * real(w.m) * real(w.n));
}

double convolution_bytes(const Convolution& w, Precision p) {
    const double input = real(w.batch) * real(w.in_channels) * real(w.height) * real(w.width);
    const double output = real(w.batch) * real(w.out_channels) * real(w.out_height()) * real(w.out_width());
    const double filter = real(w.out_channels) * real(w.in_channels / w.groups) * real(w.kernel_size * w.kernel_size);
    return element_size(p) * (input + filter) + output_size(p) * output;
}

double attention_bytes(const Attention& w, Precision p) {
    const double queries = 2 * real(w.heads) * real(w.query_len), keys = 2 * real(w.kv_heads) * real(w.kv_len);
    return element_size(p) * real(w.batch) * real(w.head_dim) * (queries + keys);
}

/// Scores that are computed, masked ones left out.
double attention_operations(const Attention& w) {
    const double scores = real(w.query_len) * real(w.kv_len);
    const double seen = w.causal ? scores - real(w.query_len) * real(w.query_len - 1) / 2 : scores;
    return 4 * real(w.batch) * real(w.heads) * real(w.head_dim) * seen;
}

/// Arrays that a function reads and writes.
double arrays(const std::string& function) {
    if (function == "triad" || function == "add" || function == "mul") return 3;
    return function == "read" || function == "write" || function == "strided_read" || function == "random_read" ? 1 : 2;
}

struct Bytes {
    Precision precision;
    double operator()(const Gemm& w) const { return gemm_bytes(w, precision); }
    double operator()(const Convolution& w) const { return convolution_bytes(w, precision); }
    double operator()(const Attention& w) const { return attention_bytes(w, precision); }
    double operator()(const Elementwise& w) const { return arrays(w.function) * element_size(precision) * real(w.elements); }
    double operator()(const RowWise& w) const { return 2 * element_size(precision) * real(w.rows) * real(w.cols); }
    double operator()(const Embedding& w) const { return 2 * element_size(precision) * real(w.tokens) * real(w.hidden); }
    double operator()(const Memory& w) const { return arrays(w.function) * real(w.bytes); }
    double operator()(const Copy& w) const { return real(w.bytes); }
    double operator()(const Launch&) const { return 0; }
    double operator()(const Sustained&) const { return 0; }
    double operator()(const Collective& w) const { return real(w.bytes); }
};

struct Operations {
    double operator()(const Gemm& w) const { return 2 * real(w.batch) * real(w.m) * real(w.n) * real(w.k); }
    double operator()(const Convolution& w) const {
        return 2 * real(w.batch) * real(w.out_channels) * real(w.out_height()) * real(w.out_width()) * real(w.in_channels / w.groups) *
               real(w.kernel_size * w.kernel_size);
    }
    double operator()(const Attention& w) const { return attention_operations(w); }
    template <class Streaming>
    double operator()(const Streaming&) const {
        return 0;
    }
};

}  // namespace

double compulsory_bytes(const Case& c) {
    return std::visit(Bytes{c.precision}, c.work);
}

double operations(const Case& c) {
    return std::visit(Operations{}, c.work);
}

}  // namespace roofcast::microbench
