#include "host/shapes_file.hpp"

#include <doctest/doctest.h>

#include "host/row_file.hpp"
#include "support/paths.hpp"

using namespace roofcast::microbench;
using roofcast::test::TemporaryFile;

TEST_CASE("GEMMs of a measurement file are measured again, each once, what has no counterpart here is passed over") {
    const TemporaryFile file("rows.csv",
                             "# comment\n"
                             "gpu,op,precision,weight_precision,function,batch,m,n,k,latency_us\n"
                             "h200,gemm,bf16,bf16,linear,1,8,64,32,5\n"
                             "h200,gemm,bf16,,linear,1,8,64,32,6\n"
                             "h200,gemm,bf16,int4,linear,1,8,64,32,4\n"
                             "h200,gemm,fp8,fp8,dynamic_quantized,1,8,64,32,4\n"
                             "h200,gemm,fp4,fp4,linear,1,8,64,32,4\n"
                             "h200,softmax,bf16,,,,,,,4\n"
                             "h200,gemm,fp16,,bmm,4,8,64,32,5\r\n");
    const auto cases = shapes_of_file(file.path().string(), 1);
    REQUIRE(cases.size() == 2);
    for (const auto& c : cases) {
        const auto& g = std::get<Gemm>(c.work.work);
        CHECK((g.m == 8 && g.n == 64 && g.k == 32));
        CHECK(g.batch == (c.work.precision == Precision::fp16 ? 4 : 1));
        CHECK(c.expected_s > 0);
    }
}

TEST_CASE("the shipped rows of a serving engine can be measured again") {
    const auto path = roofcast::test::source_dir() / "validation_data/kernels/h200-sxm-141gb_gemm_serving.csv";
    CHECK(shapes_of_file(path.string(), 1).size() > 500);
}

TEST_CASE("a file without GEMMs is refused") {
    const TemporaryFile file("rows.csv", "gpu,op,precision,rows,cols,latency_us\nt4,softmax,fp32,8,8,1\n");
    CHECK_THROWS_AS(shapes_of_file(file.path().string(), 1), FileError);
    CHECK_THROWS_AS(shapes_of_file("/no/such/file.csv", 1), FileError);
}
