// Models whose sizes are beyond any machine, through the built program.

#include <doctest/doctest.h>

#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;
using test::contains;
using test::refused;

TEST_CASE("a net of 1.7 kB whose channels double 57 times gets no latency, no cost and no 'it fits', but the layer and its bound") {
    std::string layers;
    for (int i = 0; i < 57; ++i) layers += "{concat = true, from = [\"previous\", \"previous\"]},\n";
    const test::TemporaryFile net("net.toml", "id = \"net\"\nfamily = \"cnn\"\nsource = \"made up\"\nlayers = [\n" + layers + "]\n");
    for (const char* command : {"predict --gpu a100", "memory --gpu a100", "cost --gpu a100"}) {
        const std::string message = refused(std::string(command) + " --model " + net.path().string());
        CHECK(contains(message, "layers[22].concat"));
        CHECK(contains(message, "found 25165824"));
        CHECK(contains(message, "at most 16777216"));
    }
    // A sweep lists what cannot run.
    const test::ProgramResult sweep = test::roofcast("sweep --gpu a100 --model " + net.path().string());
    CHECK(sweep.exit_code == 1);
    CHECK(contains(sweep.output, "layers[22].concat"));
    CHECK_FALSE(contains(sweep.output, "latency ms"));
}
