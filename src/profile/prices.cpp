#include "profile/prices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "io/strict_csv.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

std::string in_lower_case(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

bool is_there(const std::filesystem::path& file) {
    std::error_code ec;
    return std::filesystem::is_regular_file(file, ec);
}

std::vector<Provider> read_providers(const std::filesystem::path& file) {
    std::vector<Provider> providers;
    StrictCsv csv(file, {"provider", "instance", "kind"});
    csv.read([&] {
        const auto kind = parse_provider_kind(csv.text("kind"));
        if (!kind) {
            const std::vector<std::string> kinds{"hyperscaler", "specialized", "community", "retail"};
            throw csv.error("kind", "unknown kind of provider", fmt::format("{}", fmt::join(kinds, ", ")),
                            did_you_mean(csv.text("kind"), kinds));
        }
        providers.push_back({in_lower_case(csv.required("provider")), in_lower_case(csv.text("instance")), *kind});
    });
    return providers;
}

Price price_in(const StrictCsv& csv, const PriceList& list) {
    constexpr double least_usd = 1e-6, most_usd = 1e8, least_gpus = 1e-3, most_gpus = 1024;
    Price price{.kind = csv.required("kind"),
                .provider = csv.text("provider"),
                .instance = csv.text("instance"),
                .usd = csv.number("usd", least_usd, most_usd) * usd,
                .date = csv.text("date"),
                .source = csv.required("source")};
    if (price.kind != "on_demand_hour" && price.kind != "spot_hour" && price.kind != "purchase")
        throw csv.error("kind", "unknown kind of price", "on_demand_hour, spot_hour or purchase",
                        did_you_mean(price.kind, {"on_demand_hour", "spot_hour", "purchase"}));
    if (!csv.text("gpus_in_instance").empty()) {
        price.gpus_in_instance = csv.number("gpus_in_instance", least_gpus, most_gpus);
        price.usd = price.usd / *price.gpus_in_instance;
    }
    price.provider_kind = price.kind == "purchase" ? ProviderKind::retail : list.kind_of(price.provider, price.instance);
    if (!price.provider_kind) throw csv.error("provider", "a provider that providers.csv does not list", "one of its providers");
    return price;
}

}  // namespace

std::string_view name(ProviderKind kind) {
    constexpr std::array<std::string_view, 4> names{"hyperscaler", "specialized", "community", "retail"};
    return names[static_cast<std::size_t>(kind)];
}

std::optional<ProviderKind> parse_provider_kind(std::string_view text) {
    const std::string wanted = in_lower_case(text);
    if (wanted == "specialised") return ProviderKind::specialized;
    for (const ProviderKind kind : {ProviderKind::hyperscaler, ProviderKind::specialized, ProviderKind::community, ProviderKind::retail}) {
        if (wanted == name(kind)) return kind;
    }
    return std::nullopt;
}

std::optional<ProviderKind> PriceList::kind_of(std::string_view provider, std::string_view instance) const {
    const std::string wanted = in_lower_case(provider), part = in_lower_case(instance);
    const auto found = std::find_if(providers.begin(), providers.end(),
                                    [&](const Provider& p) { return p.name == wanted && part.find(p.instance) != std::string::npos; });
    return found == providers.end() ? std::nullopt : std::optional(found->kind);
}

PriceList load_price_list(const std::filesystem::path& gpus_folder) {
    PriceList list;
    const auto providers = gpus_folder / "providers.csv", prices = gpus_folder / "prices.csv";
    if (is_there(providers)) list.providers = read_providers(providers);
    if (!is_there(prices)) return list;
    StrictCsv csv(prices, {"gpu", "kind", "provider", "instance", "gpus_in_instance", "usd", "date", "source"});
    csv.read([&] {
        const std::string gpu = csv.required("gpu");
        list.of_gpu[gpu].push_back(price_in(csv, list));
        list.first_line.emplace(gpu, csv.line());
    });
    return list;
}

}  // namespace roofcast
