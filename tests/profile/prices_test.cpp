#include "profile/prices.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "roofcast/error.hpp"
#include "roofcast/price.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;
using test::contains;
using test::gpus_dir;
using test::rel;
using test::software_dir;
using test::TemporaryFile;

namespace {

const std::string price_header = "gpu,kind,provider,instance,gpus_in_instance,usd,date,source\n";
const std::string provider_rows = "provider,instance,kind\nAWS,,hyperscaler\nRunPod,community,community\nRunPod,,specialized\n";

/// prices.csv with `rows`, beside providers.csv.
PriceList price_list_of(const std::string& rows, const std::string& kinds = provider_rows) {
    const TemporaryFile prices("prices.csv", rows);
    std::ofstream(prices.path().parent_path() / "providers.csv") << kinds;
    return load_price_list(prices.path().parent_path());
}

std::string price_refusal(const std::string& rows, const std::string& kinds = provider_rows) {
    try {
        price_list_of(rows, kinds);
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

/// Per GPU, of the newest date.
double usd_per_gpu(const std::string& gpu, const std::string& provider, const std::string& instance) {
    static const PriceList shipped = load_price_list(gpus_dir());
    const Price* newest = nullptr;
    for (const Price& price : shipped.of_gpu.find(gpu)->second) {
        if (price.provider == provider && price.instance.starts_with(instance) && price.kind != "spot_hour" &&
            (newest == nullptr || price.date > newest->date))
            newest = &price;
    }
    REQUIRE(newest != nullptr);
    return newest->usd.in(usd);
}

GpuProfile with_own_price(const std::string& price) {
    const TemporaryFile file("my-card.toml",
                             "id = \"t4\"\nname = \"My T4\"\narchitecture = \"turing\"\nmemory_gb = 16\ncompute_tflops = 65\n"
                             "memory_bandwidth_gbps = 320\n[[price]]\n" +
                                 price);
    return load_gpu_profile(file.path(), gpus_dir());
}

}  // namespace

TEST_CASE("the price of an instance is divided by its GPUs, and the kind of its provider is looked up") {
    const PriceList list = price_list_of(price_header +
                                         "h100,on_demand_hour,AWS,p5.48xlarge,8,55.04,2026-11-09,a list\n"
                                         "h100,on_demand_hour,RunPod,Community pod,1,2.69,,\"a list, quoted\"\n"
                                         "h100,on_demand_hour,RunPod,secure pod,,3.49,2026,a list\n"
                                         "t4,purchase,,launch MSRP,1,329,2021-02-25,a list\n");
    const auto& prices = list.of_gpu.at("h100");
    REQUIRE(prices.size() == 3);
    CHECK(prices[0].usd.in(usd) == rel(6.88, 1e-12));  // 55.04 / 8
    CHECK(*prices[0].gpus_in_instance == 8);
    CHECK(prices[0].provider_kind == ProviderKind::hyperscaler);
    CHECK(prices[1].provider_kind == ProviderKind::community);
    CHECK(prices[1].source == "a list, quoted");
    CHECK(prices[2].provider_kind == ProviderKind::specialized);
    CHECK(prices[2].usd.in(usd) == rel(3.49, 1e-12));
    CHECK_FALSE(prices[2].gpus_in_instance);
    CHECK(list.of_gpu.at("t4")[0].provider_kind == ProviderKind::retail);
}

TEST_CASE("a wrong row of prices is refused with file, line, column, what was found and what was expected") {
    const auto row = [](const std::string& text) { return price_refusal(price_header + text + "\n"); };
    const std::string wrong_usd = row("h100,on_demand_hour,AWS,p5,8,free,2026,a list");
    for (const char* part : {"prices.csv:2", "usd", "\"free\"", "a number from"}) CHECK(contains(wrong_usd, part));
    CHECK(contains(row("h100,on_demand_hour,AWS,p5,0,1,2026,a list"), "gpus_in_instance"));
    CHECK(contains(row("h100,on_demand_hour,AWS,p5,8,nan,2026,a list"), "usd"));
    CHECK(contains(row("h100,on_demand,AWS,p5,8,1,2026,a list"), "did you mean on_demand_hour"));
    CHECK(contains(row("h100,on_demand_hour,Amazon,p5,8,1,2026,a list"), "providers.csv does not list"));
    CHECK(contains(row("h100,on_demand_hour,AWS,p5,8,1,2026,"), "source"));
    CHECK(contains(row(",on_demand_hour,AWS,p5,8,1,2026,a list"), "gpu"));
    CHECK(contains(row("h100,on_demand_hour,AWS,p5,8,1,2026"), "wrong number of fields; found 7; expected 8"));
    CHECK(contains(price_refusal("gpu,kind\n"), "wrong header"));
    CHECK(contains(price_refusal(""), "the file is empty"));
    CHECK(contains(price_refusal(price_header, "provider,instance,kind\nAWS,,hyperscale\n"), "did you mean hyperscaler"));
}

TEST_CASE("every row of the shipped prices is of a shipped GPU, and none is lost") {
    const PriceList list = load_price_list(gpus_dir());
    std::size_t listed = 0, carried = 0;
    for (const auto& [id, prices] : list.of_gpu) listed += prices.size();
    for (const GpuProfile& gpu : load_gpu_catalogue(gpus_dir())) {  // throws on an id that no profile has
        if (list.of_gpu.contains(gpu.id)) carried += gpu.prices.size();
    }
    CHECK(listed >= 199);
    CHECK(carried == listed);
}

TEST_CASE("a price of a GPU that no profile describes is refused") {
    const TemporaryFile profile("t4.toml", test::text_of(gpus_dir() / "t4.toml"));
    const auto folder = profile.path().parent_path();
    std::filesystem::copy(gpus_dir() / "arch", folder / "arch");
    std::ofstream(folder / "providers.csv") << provider_rows;
    std::ofstream(folder / "prices.csv") << price_header << "t44,on_demand_hour,AWS,g4dn.xlarge,1,0.526,2026,a list\n";
    std::string message;
    try {
        load_gpu_catalogue(folder);
    } catch (const Error& e) {
        message = e.what();
    }
    for (const char* part : {"prices.csv:2", "\"t44\"", "did you mean t4?"}) CHECK(contains(message, part));
}

TEST_CASE("prices of one GPU are those that the sources state for the instance") {
    // AWS: 55.04 for 8, 4.6016 for 4; Azure: 98.32 for 8, 108.16 for 4; Lambda: 31.92 for 8; launch price.
    CHECK(usd_per_gpu("h100-sxm5-80gb", "AWS", "p5.48xlarge") == rel(6.88, 1e-9));
    CHECK(usd_per_gpu("l4", "AWS", "g6.12xlarge") == rel(1.1504, 1e-9));
    CHECK(usd_per_gpu("h100-sxm5-80gb", "Azure", "Standard_ND96isr") == rel(12.29, 1e-9));
    CHECK(usd_per_gpu("gb200", "Azure", "Standard_ND128isr") == rel(27.04, 1e-9));
    CHECK(usd_per_gpu("h100-sxm5-80gb", "Lambda", "8x H100") == rel(3.99, 1e-9));
    CHECK(usd_per_gpu("rtx-4090", "", "launch MSRP") == rel(1599, 1e-9));
}

TEST_CASE("a profile's own prices take the place of the listed ones") {
    const GpuProfile gpu =
        with_own_price("kind = \"on_demand_hour\"\nprovider = \"aws\"\nusd = 0.4\ngpus_in_instance = 4\nsource = \"a bill\"\n");
    REQUIRE(gpu.prices.size() == 1);
    CHECK(gpu.prices[0].usd.in(usd) == rel(0.4, 1e-12));  // of one GPU, as before
    CHECK(*gpu.prices[0].gpus_in_instance == 4);
    CHECK(gpu.prices[0].provider_kind == ProviderKind::hyperscaler);
    const GpuProfile unlisted = with_own_price("kind = \"spot_hour\"\nprovider = \"My cloud\"\nusd = 1\nsource = \"a bill\"\n");
    CHECK_FALSE(unlisted.prices[0].provider_kind);
    CHECK_FALSE(unlisted.prices[0].gpus_in_instance);
    CHECK(with_own_price("kind = \"spot_hour\"\nusd = 1\nprovider_kind = \"community\"\nsource = \"a bill\"\n").prices[0].provider_kind ==
          ProviderKind::community);
    CHECK_THROWS_WITH_AS(with_own_price("kind = \"spot_hour\"\nusd = 1\nprovider_kind = \"comunity\"\nsource = \"a bill\"\n"),
                         doctest::Contains("did you mean community"), Error);
}

TEST_CASE("kinds of providers have names") {
    for (const ProviderKind kind : {ProviderKind::hyperscaler, ProviderKind::specialized, ProviderKind::community, ProviderKind::retail})
        CHECK(parse_provider_kind(name(kind)) == kind);
    CHECK(parse_provider_kind("Specialised") == ProviderKind::specialized);
    CHECK_FALSE(parse_provider_kind("AWS"));
}
