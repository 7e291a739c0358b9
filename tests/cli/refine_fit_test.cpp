#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using roofcast::test::contains;
using roofcast::test::TemporaryFile;
using roofcast::test::text_of;
namespace fs = std::filesystem;

namespace {

/// Folders of a user: rows, a data folder with the shipped profiles and fits, and a home for fits.
class Home {
public:
    Home() : marker_("marker", "") { write_rows(rows(), "t4", 2.2); }
    [[nodiscard]] fs::path root() const { return marker_.path().parent_path(); }
    [[nodiscard]] fs::path rows() const { return root() / "rows.csv"; }
    [[nodiscard]] fs::path own_fit(const std::string& id = "t4") const { return root() / "xdg" / "roofcast" / "fits" / (id + ".fit.toml"); }

    /// Element-wise kernels at 250 GB/s after 2.2 us, and `factor` times as long.
    static void write_rows(const fs::path& file, const std::string& gpu, double factor, int count = 6) {
        std::ofstream out(file);
        out << "gpu,op,precision,function,elements,latency_us,launch,cache,source\n";
        for (int i = 1; i <= count; ++i) {
            const double elements = 2e6 * i;
            out << gpu << ",elementwise,fp32,relu," << static_cast<long>(elements) << ',' << factor * (2.2 + elements * 8 / 250e3)
                << ",excluded,cold,made-up\n";
        }
    }
    [[nodiscard]] fs::path data_folder() const {
        const fs::path data = root() / "data";
        if (!fs::exists(data)) {
            fs::create_directories(data / "models");
            fs::copy(roofcast::test::gpus_dir(), data / "gpus", fs::copy_options::recursive);
            fs::copy(roofcast::test::software_dir(), data / "software", fs::copy_options::recursive);
        }
        return data;
    }
    [[nodiscard]] roofcast::test::ProgramResult run(const std::string& arguments, bool errors = false) const {
        return roofcast::test::roofcast(arguments, errors, (root() / "xdg").string());
    }

private:
    TemporaryFile marker_;
};

std::string quoted(const fs::path& path) {
    return "'" + path.string() + "'";
}

}  // namespace

TEST_CASE("a user's fit goes to the user's folder, is preferred there, and every output says so") {
    const Home home;
    const std::string shipped = text_of(roofcast::test::gpus_dir() / "fits" / "t4.fit.toml");
    const auto written = home.run("calibrate --gpu t4 --write --data " + quoted(home.rows()));
    CAPTURE(written.output);
    REQUIRE(written.exit_code == 0);
    CHECK(contains(written.output, "Shipped fit of t4 "));
    CHECK(contains(written.output, "% on your 6 rows, yours "));
    CHECK(contains(written.output, "(cross-validated); on the "));
    CHECK(contains(written.output, "Keep yours only if your machine differs"));
    CHECK(contains(written.output, "Your kernels of stage streaming run "));
    const auto report = nlohmann::json::parse(home.run("calibrate --gpu t4 --format json --data " + quoted(home.rows())).output);
    const auto& factor = report["fits"][0]["time_factors"][0];
    CHECK(factor["name"] == "time_factor.streaming");
    CHECK(factor["interval_low"].get<double>() < factor["value"].get<double>());
    CHECK(factor["interval_high"].get<double>() > factor["value"].get<double>());
    REQUIRE(fs::exists(home.own_fit()));
    CHECK(contains(text_of(home.own_fit()), "refines = \"shipped fit of t4\""));
    CHECK(text_of(roofcast::test::gpus_dir() / "fits" / "t4.fit.toml") == shipped);
    const std::string shown = home.run("gpu show t4").output;
    CHECK(contains(shown, "time_factor.streaming"));
    CHECK(contains(shown, "user_fit"));
    CHECK(contains(shown, "your t4.fit.toml"));
    CHECK_FALSE(contains(roofcast::test::printed("gpu show t4"), "time_factor"));
    const auto json = roofcast::test::only_prediction(home.run("predict --gpu t4 --model resnet50 --format json").output);
    CHECK(contains(json.dump(), "your fit of t4"));
    // A data folder of its own has its own fits.
    CHECK_FALSE(contains(home.run("gpu show t4 --data-dir " + quoted(home.data_folder())).output, "time_factor"));
}

TEST_CASE("a shipped fit is replaced only with --yes, and kept beside") {
    const Home home;
    const fs::path fit = home.data_folder() / "gpus" / "fits" / "t4.fit.toml";
    const std::string shipped = text_of(fit);
    const std::string command = "calibrate --gpu t4 --write --data " + quoted(home.rows()) + " --data-dir " + quoted(home.data_folder());
    const std::string refusal = roofcast::test::refused(command);
    CHECK(contains(refusal, "t4.fit.toml"));
    CHECK(contains(refusal, "--yes"));
    CHECK(text_of(fit) == shipped);
    REQUIRE(home.run(command + " --yes").exit_code == 0);
    const std::string first = text_of(fit);
    CHECK(first != shipped);
    CHECK(text_of(fit.string() + ".previous") == shipped);
    // Later rows start from what shipped, and a user's own fit needs no question.
    REQUIRE(home.run(command).exit_code == 0);
    CHECK(text_of(fit) == first);
    CHECK(text_of(fit.string() + ".previous") == shipped);
    Home::write_rows(home.rows(), "t4", 3);
    REQUIRE(home.run(command).exit_code == 0);
    CHECK(text_of(fit) != first);
    CHECK(contains(text_of(fit), "refines = \"shipped fit of t4\""));
    CHECK(text_of(fit.string() + ".previous") == first);
}

TEST_CASE("a terminal is asked before a shipped fit is replaced") {
    if (std::system("command -v script >/dev/null 2>&1") != 0) return;
    const Home home;
    const fs::path fit = home.data_folder() / "gpus" / "fits" / "t4.fit.toml";
    const std::string shipped = text_of(fit);
    const auto answer = [&](const char* word) {
        const std::string program = "ROOFCAST_DATA=" ROOFCAST_SOURCE_DIR " " ROOFCAST_BINARY " calibrate --gpu t4 --write --data " +
                                    home.rows().string() + " --data-dir " + home.data_folder().string();
        return std::system(("(sleep 1; echo " + std::string(word) + ") | script -qec '" + program + "' /dev/null >" +
                            (home.root() / "seen").string() + " 2>&1")
                               .c_str());
    };
    CHECK(answer("n") != 0);
    CHECK(contains(text_of(home.root() / "seen"), "Replace the shipped fit"));
    CHECK(text_of(fit) == shipped);
    CHECK(answer("y") == 0);
    CHECK(text_of(fit) != shipped);
}

TEST_CASE("what does not beat the shipped fit is not written, and the answer is no") {
    const Home home;
    Home::write_rows(home.rows(), "t4", 2.2, 1);
    const auto result = home.run("calibrate --gpu t4 --write --data " + quoted(home.rows()), true);
    CHECK(result.exit_code == 1);
    CHECK(contains(result.output, "nothing was written"));
    CHECK_FALSE(fs::exists(home.own_fit()));
    // Without --write the same is a report.
    const auto report = home.run("calibrate --gpu t4 --data " + quoted(home.rows()));
    CHECK(report.exit_code == 0);
    CHECK(contains(report.output, "nothing to write"));
    CHECK(contains(roofcast::test::refused("calibrate --gpu t4 --write --folds 0 --data " + quoted(home.rows())), "--folds"));
}

TEST_CASE("the column gpu may have the id, name, alias or file of a profile, in any case") {
    const Home home;
    const fs::path mine = home.root() / "Mine.toml";
    std::string profile = text_of(roofcast::test::gpus_dir() / "t4.toml");
    for (const auto& [from, to] : {std::pair{"id = \"t4\"", "id = \"my-card\""},
                                   {"name = \"T4\"", "name = \"ACME My Card 9\""},
                                   {"aliases = [\"tesla-t4\"]", "aliases = [\"mc9\"]"}}) {
        REQUIRE(contains(profile, from));
        profile.replace(profile.find(from), std::string(from).size(), to);
    }
    std::ofstream(mine) << profile;
    for (const char* name : {"MY-CARD", "acme my card 9", "MC9", "mine"}) {
        CAPTURE(name);
        Home::write_rows(home.rows(), name, 2.2);
        const auto result = home.run("calibrate --gpu " + quoted(mine) + " --format json --data " + quoted(home.rows()));
        REQUIRE(result.exit_code == 0);
        CHECK(nlohmann::json::parse(result.output)["fits"][0]["comparison"]["before"]["rows"] == 6);
    }
    for (const char* name : {"Tesla T4", "T4", "NVIDIA T4"}) {
        CAPTURE(name);
        Home::write_rows(home.rows(), name, 2.2);
        const auto result = home.run("calibrate --gpu T4 --format json --data " + quoted(home.rows()));
        REQUIRE(result.exit_code == 0);
        CHECK(nlohmann::json::parse(result.output)["fits"][0]["comparison"]["before"]["rows"] == 6);
    }
    const std::string refusal = roofcast::test::refused("calibrate --gpu l4 --data " + quoted(home.rows()));
    CHECK(contains(refusal, "no row was measured on l4"));
    CHECK(contains(refusal, "rows of t4"));
}

TEST_CASE("paths of any bytes do not make a fit that cannot be read") {
    const Home home;
    for (const char* name : {"new\nline.csv", "caf\xe9.csv", "esc\x1b[31m.csv", "quote\"back\\slash.csv"}) {
        CAPTURE(name);
        const fs::path rows = home.root() / name;
        Home::write_rows(rows, "t4", 2.2);
        fs::remove(home.own_fit());
        REQUIRE(home.run("calibrate --gpu t4 --write --data " + quoted(rows)).exit_code == 0);
        CHECK(home.run("gpu show t4").exit_code == 0);
        CHECK(home.run("gpu check " + quoted(home.own_fit())).exit_code == 0);
        CHECK_FALSE(contains(text_of(home.own_fit()), "\x1b"));
    }
}

TEST_CASE("a data folder without what a calibration needs is told what is missing") {
    const Home home;
    const std::string command = "calibrate --gpu t4 --data " + quoted(home.rows()) + " --data-dir " + quoted(home.data_folder());
    CHECK(home.run(command).exit_code == 0);  // validation_data is not needed
    fs::remove(home.data_folder() / "software" / "execution.toml");
    fs::remove(home.data_folder() / "gpus" / "arch" / "_default.toml");
    const std::string refusal = roofcast::test::refused(command);
    CHECK(contains(refusal, "gpus/arch/_default.toml"));
    CHECK(contains(refusal, "software/execution.toml"));
    CHECK(contains(roofcast::test::refused("calibrate --gpu t4 --data-dir " + quoted(home.root())), "software/"));
}

TEST_CASE("models that run 2.2 times slower, all alike, are predicted and their interval holds the rows") {
    const Home home;
    std::ofstream rows(home.rows());
    rows << "gpu,model,family,precision,batch,image_size,phase,execution,metric,value,source\n";
    int line = 0;
    for (const char* model : {"resnet50", "vgg16", "densenet121"}) {
        for (const int batch : {1, 8, 32}) {
            const auto json = roofcast::test::only_prediction(
                roofcast::test::printed("predict --gpu t4 --precision fp16 --execution eager --format json --model " + std::string(model) +
                                        " --batch " + std::to_string(batch)));
            const double milliseconds = json["latency_ms"].get<double>() * 2.2 * std::exp(0.03 * (line++ % 3 - 1));
            rows << "t4," << model << ",cnn,fp16," << batch << ",224,forward,eager,latency_ms," << milliseconds << ",made-up\n";
        }
    }
    rows.close();
    const auto coverage = [&] {
        const auto result = home.run("validate --format json --data " + quoted(home.rows()));
        REQUIRE(result.exit_code == 0);
        return nlohmann::json::parse(result.output)["overall"];
    };
    CHECK(coverage()["mape_percent"].get<double>() > 50);
    const auto written = home.run("calibrate --gpu t4 --write --data " + quoted(home.rows()));
    CAPTURE(written.output);
    REQUIRE(written.exit_code == 0);
    CHECK(contains(written.output, "x slower than predicted ("));
    CHECK(contains(written.output, "all alike: other software, clocks, layout or a power limit?"));
    CHECK(coverage()["mape_percent"].get<double>() < 5);
    CHECK(coverage()["coverage_percent"].get<double>() >= 80);
}
