#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "support/paths.hpp"
#include "support/program.hpp"

using roofcast::test::contains;
using roofcast::test::refused;
using roofcast::test::TemporaryFile;

namespace {

roofcast::test::ProgramResult program(const std::string& arguments, bool errors = false) {
    return roofcast::test::roofcast(arguments, errors);
}

/// A copy of the data folder's GPUs, with a few rows, that a fit may write to.
class Sandbox {
public:
    Sandbox() : marker_("marker", "") {
        namespace fs = std::filesystem;
        fs::copy(roofcast::test::gpus_dir(), root() / "gpus", fs::copy_options::recursive);
        fs::create_directories(root() / "models");
        fs::create_directories(root() / "validation_data");
        fs::copy(roofcast::test::software_dir(), root() / "software", fs::copy_options::recursive);
        fs::remove(fit_file());
        std::ofstream rows(root() / "rows.csv");
        rows << "gpu,op,precision,function,elements,latency_us,launch,cache,source\n";
        // 8 bytes an element at 250 of 320 GB/s, after 4 us.
        for (int i = 1; i <= 40; ++i) {
            const double elements = 20000.0 * i * i;
            rows << "t4,elementwise,fp32,relu," << static_cast<long>(elements) << ',' << 4 + elements * 8 / 250e3
                 << ",excluded,cold,made-up\n";
        }
    }
    [[nodiscard]] std::filesystem::path root() const { return marker_.path().parent_path(); }
    [[nodiscard]] std::filesystem::path fit_file() const { return root() / "gpus" / "fits" / "t4.fit.toml"; }
    [[nodiscard]] std::string command(const std::string& more) const {
        return "calibrate --gpu t4 --from-scratch --data-dir " + root().string() + " --data " + (root() / "rows.csv").string() + " " + more;
    }
    [[nodiscard]] std::string text() const {
        std::ifstream in(fit_file());
        std::stringstream all;
        all << in.rdbuf();
        return all.str();
    }

private:
    TemporaryFile marker_;
};

}  // namespace

TEST_CASE("calibrate reports without writing, and writes the same file twice when told to") {
    const Sandbox box;
    const auto dry = program(box.command("--folds 2 --format json"));
    REQUIRE(dry.exit_code == 0);
    CHECK_FALSE(std::filesystem::exists(box.fit_file()));
    const auto json = nlohmann::json::parse(dry.output);
    CHECK(json["schema_version"] == 2);
    CHECK(json["fits"][0]["title"] == "t4");
    CHECK(json["fits"][0]["accuracy"][0]["fit_mape_percent"].get<double>() < 2);
    REQUIRE(program(box.command("--folds 2 --write")).exit_code == 0);
    const std::string first = box.text();
    CHECK(contains(first, "[streaming]"));
    CHECK_FALSE(contains(first, box.root().string()));
    REQUIRE(program(box.command("--folds 2 --write --yes")).exit_code == 0);
    CHECK(box.text() == first);
    CHECK_FALSE(std::filesystem::exists(box.fit_file().string() + ".previous"));  // nothing was lost
}

TEST_CASE("the summary shows what fit files state without fitting") {
    const Sandbox box;
    REQUIRE(program(box.command("--folds 2 --write")).exit_code == 0);
    const auto result = program("calibrate --summary --format json --data-dir " + box.root().string());
    REQUIRE(result.exit_code == 0);
    const auto json = nlohmann::json::parse(result.output);
    bool found = false;
    for (const auto& row : json["accuracy"]) {
        if (row["gpu"] != "t4" || row["op"] != "elementwise") continue;
        found = true;
        CHECK(row["in_fit_mape_percent"].get<double>() < 2);
        CHECK(row["cross_validated_mape_percent"].get<double>() < 4);
    }
    CHECK(found);
}

TEST_CASE("interrupting a fit leaves the file of an earlier one as it was") {
    const Sandbox box;
    const auto file = box.root() / "gpus" / "fits" / "arch" / "ampere.fit.toml";
    std::ofstream(file) << "# an earlier fit\n";
    // `timeout` sends the signal of Ctrl-C after a moment; fifty folds of thousands of rows take far longer.
    const std::string command = "timeout -s INT 0.7 '" ROOFCAST_BINARY
                                "' calibrate --architecture ampere --kernels-only --folds 50 --write --yes" +
                                (" --data-dir " + box.root().string()) + " --data '" ROOFCAST_SOURCE_DIR "/validation_data/kernels'";
    CHECK(std::system((command + " >/dev/null 2>&1").c_str()) != 0);
    CHECK(roofcast::test::text_of(file) == "# an earlier fit\n");
    for (const auto& entry : std::filesystem::directory_iterator(file.parent_path())) CHECK(entry.path().extension() != ".tmp");
}

TEST_CASE("calibrate without GPU, rows or stage names what is missing") {
    const Sandbox box;
    CHECK(program("calibrate").exit_code == 2);
    CHECK(program(box.command("--stage streams")).exit_code == 2);
    CHECK(contains(program(box.command("--stage streams"), true).output, "streaming"));
    CHECK(program("calibrate --gpu h100-pcie-80gb --data " + (box.root() / "rows.csv").string()).exit_code == 2);
    CHECK(contains(program("calibrate --help").output, "Fit the model's parameters"));
}

TEST_CASE("calibrate takes the names of GPUs that people write, and lists rows of GPUs that nobody describes") {
    const Sandbox box;
    const std::string rows = roofcast::test::text_of(box.root() / "rows.csv");
    std::ofstream(box.root() / "rows.csv") << std::regex_replace(rows, std::regex("t4,"), "Tesla T4,")
                                           << "t5,elementwise,fp32,relu,5000,9,excluded,cold,x\n";
    const auto result = program(box.command("--folds 2 --stage streaming --evaluations 5"), true);
    CHECK(result.exit_code == 0);
    CHECK(contains(result.output, "rows.csv:42): no GPU profile is named 't5'"));
}

TEST_CASE("calibrate writes no fit that would lose another") {
    const Sandbox box;
    std::ofstream(box.fit_file()) << "# an earlier fit\n";
    CHECK(contains(refused(box.command("--write --stage streaming")), "all stages"));
    CHECK(contains(refused(box.command("--write --architecture turing")), "--arch-fit"));
    CHECK(contains(refused(box.command("--write --date tomorrow")), "not a date"));
    CHECK(contains(refused(box.command("--write --summary")), "--summary"));
    CHECK(contains(refused(box.command("--holdout nan")), "a fraction from 0 to 0.9"));
    CHECK(contains(refused(box.command("--seed -1")), "--seed"));
    // Rows that cannot be used are named, and too few are no fit.
    std::ofstream(box.root() / "rows.csv") << "gpu,op,precision,function,elements,latency_us\n"
                                              "t4,elementwise,fp32,relu,1000,5\n"
                                              "t4,elementwise,fp32,relu,-1000,5\n";
    const auto few = program(box.command("--write --yes"), true);
    CHECK(few.exit_code == 2);
    CHECK(contains(few.output, "rows.csv:3): "));
    CHECK(contains(few.output, "no stage of t4 was fitted, and its file was not written"));
    CHECK(box.text() == "# an earlier fit\n");
}

TEST_CASE("calibrate pools no GPU for an architecture that it is not of") {
    const Sandbox box;
    CHECK(contains(refused(box.command("--architecture ampere --arch-fit --folds 0")), "t4 is a GPU of architecture turing"));
    CHECK(contains(refused("calibrate --summary --gpu t4"), "--gpu"));
}

TEST_CASE("a fit file states the command that writes it again") {
    const Sandbox box;
    REQUIRE(program(box.command("--folds 2 --write")).exit_code == 0);
    CHECK(contains(box.text(), "roofcast calibrate --gpu t4 --folds 2 --from-scratch --data rows.csv --write"));
    REQUIRE(program(box.command("--folds 2 --write --yes --arch-fit --architecture turing")).exit_code == 0);
    CHECK(contains(roofcast::test::text_of(box.root() / "gpus" / "fits" / "arch" / "turing.fit.toml"),
                   "roofcast calibrate --architecture turing --arch-fit --gpu t4 --folds 2"));
}
