#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "support/commands.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;

namespace {

void collect(const json& value, std::set<std::string>& keys) {
    if (!value.is_structured()) return;
    for (const auto& [key, inner] : value.items()) {
        // What users name stands in these: GPUs, and keys of profiles.
        if (value.is_object() && !key.starts_with("fits_")) keys.insert(key);
        if ((key == "prices" || key == "assumed" || key == "capacity_gb") && inner.is_object()) {
            for (const auto& [gpu, of_gpu] : inner.items()) collect(of_gpu, keys);
        } else if (key != "explained" && key != "dimensions") {
            collect(inner, keys);
        }
    }
}

/// "latency_ms" of "latency_ms_low": both bounds of a figure are described with it.
std::string without_bound(const std::string& key) {
    for (const std::string_view bound : {"_low", "_high"}) {
        if (key.ends_with(bound)) return key.substr(0, key.size() - bound.size());
    }
    return key;
}

/// The part of docs/reference/json.md about the JSON of `command`.
std::string section(const std::string& command) {
    const std::string all = roofcast::test::text_of(roofcast::test::source_dir() / "docs" / "reference" / "json.md");
    const auto start = all.find("## `roofcast " + command + "`");
    return start == std::string::npos ? "" : all.substr(start, all.find("\n## ", start) - start);
}

}  // namespace

TEST_CASE("every key of the JSON output is documented") {
    for (const auto& command : roofcast::test::example_commands()) {
        CAPTURE(command.arguments);
        const auto result = roofcast::test::roofcast(command.arguments + " --format json");
        REQUIRE((result.exit_code == 0 || result.exit_code == 1));
        std::set<std::string> keys;
        collect(json::parse(result.output), keys);
        keys.erase("schema_version");
        const std::string described = section(command.arguments.substr(0, command.arguments.find(' ')));
        for (const std::string& key : keys) {
            CAPTURE(key);
            CHECK(contains(described, '`' + without_bound(key) + '`'));
        }
    }
}
