#include "host/row_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "roofcast/measurement.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast::microbench;
using roofcast::test::contains;
using roofcast::test::TemporaryFile;

namespace {

/// A path in a folder of its own; nothing is there.
struct EmptyPlace {
    TemporaryFile file{"rows.csv", ""};
    std::string path = file.path().string();
};

std::string text_of(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

Cells row_of(const Case& c, double us) {
    Cells row{{"gpu", "h200"}};
    for (const auto& more : {cells(c), latency_cells(roofcast::sample_statistics({us, us, us}), false)})
        row.insert(row.end(), more.begin(), more.end());
    row.emplace_back("launch", "excluded");
    return row;
}

Cells key_of(const Case& c) {
    Cells key{{"gpu", "h200"}};
    const Cells more = cells(c);
    key.insert(key.end(), more.begin(), more.end());
    return key;
}

const Case small{Precision::bf16, CacheState::cold, Gemm{1, 8, 64, 32, false}};
const Case warm{Precision::bf16, CacheState::warm, Gemm{1, 8, 64, 32, false}};

std::string error_of(const std::string& path, const RowFile::Format& format, bool resume) {
    try {
        RowFile file(path, format, {}, resume);
    } catch (const FileError& e) {
        return e.message;
    }
    return "no error";
}

}  // namespace

TEST_CASE("rows of every kernel suite are read back by the measurement reader") {
    const EmptyPlace place;
    std::size_t written = 0;
    {
        RowFile file(place.path, kernel_format(), {"GPU: none", "date: never"}, false);
        const std::vector<Case> cases{small,
                                      {Precision::fp8, CacheState::cold, Gemm{1, 16, 64, 32, true}},
                                      {Precision::fp16, CacheState::cold, Gemm{4, 16, 64, 32, false}},
                                      {Precision::fp32, CacheState::cold, Convolution{1, 3, 32, 32, 8, 3, 1, 1, 1, true}},
                                      {Precision::bf16, CacheState::cold, Attention{1, 8, 2, 64, 128, 128, true}},
                                      {Precision::fp16, CacheState::warm, Elementwise{"gelu", 1000}},
                                      {Precision::fp16, CacheState::warm, RowWise{"rmsnorm", 10, 100}},
                                      {Precision::fp16, CacheState::cold, Embedding{10, 100}},
                                      {Precision::fp32, CacheState::warm, Memory{"triad", 4096, 0}},
                                      {Precision::fp32, CacheState::cold, Memory{"read", 4096, 0}},
                                      {Precision::fp32, CacheState::cold, Copy{Direction::device_to_host, false, 4096}}};
        for (const Case& c : cases) file.append(row_of(c, 5.25));
        written = cases.size();
    }
    const auto measurements = roofcast::read_measurements({place.path});
    for (const auto& skipped : measurements.skipped.reasons()) MESSAGE(skipped.line << ": " << skipped.reason);
    CHECK(measurements.kernels.size() == written);
    CHECK(measurements.skipped.empty());
    CHECK(measurements.kernels[0].latency.in(roofcast::us) == 5.25);
    CHECK(measurements.kernels[0].runs == 3);
    CHECK(text_of(place.path).starts_with("# GPU: none\n# date: never\ngpu,op,"));
}

TEST_CASE("a file is not overwritten, and is continued on request") {
    const EmptyPlace place;
    {
        RowFile file(place.path, kernel_format(), {}, false);
        file.append(row_of(small, 5));
    }
    CHECK(contains(error_of(place.path, kernel_format(), false), "--resume"));
    RowFile file(place.path, kernel_format(), {}, true);
    CHECK(file.rows() == 1);
    CHECK(file.contains(key_of(small)));
    CHECK_FALSE(file.contains(key_of(warm)));
    file.append(row_of(warm, 4));
    CHECK(file.contains(key_of(warm)));
}

TEST_CASE("a row that was cut while it was written is dropped and measured again") {
    const EmptyPlace place;
    {
        RowFile file(place.path, kernel_format(), {"comment"}, false);
        file.append(row_of(small, 5));
        file.append(row_of(warm, 4));
    }
    std::filesystem::resize_file(place.path, std::filesystem::file_size(place.path) - 10);
    {
        RowFile file(place.path, kernel_format(), {}, true);
        CHECK(file.rows() == 1);
        CHECK_FALSE(file.contains(key_of(warm)));
        file.append(row_of(warm, 4));
    }
    CHECK(roofcast::read_measurements({place.path}).kernels.size() == 2);
}

TEST_CASE("a file of another form is refused") {
    const TemporaryFile other("rows.csv", "a,b\n1,2\n");
    CHECK(contains(error_of(other.path().string(), kernel_format(), true), "other columns"));
    CHECK(contains(error_of("/no-such-folder/rows.csv", device_format(), false), "cannot be written"));
}

TEST_CASE("text of drivers cannot break a row") {
    CHECK(plain("cuBLASLt 13.0, \"x\"\n#") == "cuBLASLt 13.0   x   ");
}
