#include <algorithm>

#include "io/toml_reader.hpp"
#include "roofcast/validation.hpp"

namespace roofcast {

Seconds with_launch(Seconds kernel, const HostLaunch& host) {
    return max(host.floor, kernel + host.around);
}

std::vector<HostStack> load_host_stacks(const std::filesystem::path& file) {
    const toml::table document = parse_toml_file(file);
    TableReader reader(document, file.string());
    std::vector<HostStack> stacks;
    for (auto& table : reader.tables("host")) {
        HostStack stack;
        stack.source = table.text("source");
        stack.gpu = table.text_if("gpu").value_or("");
        stack.around = table.number("around_us", non_negative) * us;
        stack.floor = table.number("floor_us", non_negative) * us;
        TableReader floors = table.table("floors_us");
        for (const auto& key : floors.keys()) stack.floors.emplace_back(key, floors.number(key, non_negative) * us);
        floors.finish();
        table.finish();
        stacks.push_back(std::move(stack));
    }
    reader.finish();
    return stacks;
}

HostLaunch host_launch(const std::vector<HostStack>& stacks, const KernelRow& row) {
    if (!row.launch_included) return {};
    const HostStack* chosen = nullptr;
    for (const auto& stack : stacks) {
        if (stack.source != row.origin.source) continue;
        if (stack.gpu == row.gpu) {
            chosen = &stack;
            break;
        }
        if (stack.gpu.empty()) chosen = &stack;
    }
    if (chosen == nullptr) return {};
    for (const std::string* key : {&row.function, &row.op_name}) {
        for (const auto& [name, floor] : chosen->floors) {
            if (name == *key) return {floor, chosen->around};
        }
    }
    return {chosen->floor, chosen->around};
}

}  // namespace roofcast
