#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "document/field.hpp"
#include "profile/profile_keys.hpp"
#include "report/data_reports.hpp"
#include "report/run_reports.hpp"

namespace roofcast {

namespace {

/// "tdp_watts" of "power.tdp_watts".
std::string last_part(const std::string& key) {
    return key.substr(key.rfind('.') + 1);
}

std::string assumed_keys(const GpuProfile& gpu) {
    std::vector<std::string> keys;
    for (const auto& a : gpu.assumed) keys.push_back(last_part(a.key));
    return fmt::format("{}", fmt::join(keys, " "));
}

/// Why a fact was assumed; empty where the profile states it.
std::string assumed_reason(const GpuProfile& gpu, const std::string& key) {
    for (const auto& a : gpu.assumed) {
        if (last_part(a.key) == key) return "assumed: " + a.reason;
    }
    if (key == "gpus_per_machine" && gpu.gpus_per_machine_source.starts_with("assumed")) return gpu.gpus_per_machine_source;
    if (key == "pcie" && gpu.pcie_source.starts_with("assumed")) return gpu.pcie_source;
    return {};
}

/// Facts of a profile, with their units as titles; empty where there is nothing to say.
Fields<GpuProfile> fact_fields() {
    using Gpu = GpuProfile;
    const auto flag = [](bool Gpu::*value, Cell cell = true) { return [=](const Gpu& gpu) { return gpu.*value ? cell : Cell(); }; };
    const auto unlike_boost = [](Hertz Gpu::*clock) {
        return [clock](const Gpu& gpu) { return gpu.*clock != gpu.boost_clock ? cell_of(gpu.*clock, mhz) : Cell(); };
    };
    return {{{"id", ""}, &Gpu::id},
            {{"name", ""}, &Gpu::name},
            {{"vendor", ""}, &Gpu::vendor, text_cell},
            {{"architecture", ""}, &Gpu::architecture},
            {{"compute_capability", ""},
             [](const Gpu& gpu) {
                 const auto& cc = gpu.compute_capability;
                 return cc ? Cell(fmt::format("{}.{}", cc->major, cc->minor)) : Cell();
             }},
            {{"release_year", ""}, &Gpu::release_year, count_cell},
            {{"form_factor", ""}, &Gpu::form_factor, text_cell},
            {{"sm_count", ""}, &Gpu::sm_count},
            {{"base_clock_mhz", "MHz"}, &Gpu::base_clock, mhz},
            {{"boost_clock_mhz", "MHz"}, &Gpu::boost_clock, mhz},
            {{"sustained_clock_mhz", "MHz"},
             [](const Gpu& gpu) { return gpu.sustained_clock > 0 * hertz ? cell_of(gpu.sustained_clock, mhz) : Cell(); }},
            {{"peak_clock_mhz", "MHz"}, unlike_boost(&Gpu::peak_clock)},
            {{"tensor_clock_mhz", "MHz"}, unlike_boost(&Gpu::tensor_clock)},
            {{"capacity_gb", "GB of the data sheet, 2^30 bytes"},
             [](const Gpu& gpu) { return gpu.capacity ? cell_of(gpu.capacity, gib) : Cell("pluggable"); }},
            {{"usable_gb", "GB of 10^9 bytes that programs can allocate"}, &Gpu::usable_memory, gb},
            {{"type", ""}, &Gpu::memory_type, text_cell},
            {{"bandwidth_gb_s", "GB/s"}, &Gpu::bandwidth, gb_per_s},
            {{"delivered_fraction", ""}, [](const Gpu& gpu) { return gpu.delivered_fraction < 1 ? Cell(gpu.delivered_fraction) : Cell(); }},
            {{"inline_ecc", ""}, flag(&Gpu::inline_ecc)},
            {{"l2_mib", "MiB"}, &Gpu::l2, mib},
            {{"shared_memory_per_sm_kib", "KiB"}, &Gpu::shared_memory_per_sm, kib},
            {{"registers_per_sm_kib", "KiB"}, &Gpu::registers_per_sm, kib},
            {{"nvlink_switch", ""}, flag(&Gpu::nvlink_switch, "yes")},
            {{"nvlink_gb_s", "GB/s, total of both directions"}, &Gpu::nvlink, gb_per_s},
            {{"nvlink_gpus", "joined by a bridge; more reach each other over PCIe"}, &Gpu::nvlink_gpus},
            {{"gpus_per_machine", "at most; between machines there is a network"}, &Gpu::gpus_per_machine},
            {{"pcie_generation", ""}, &Gpu::pcie_generation},
            {{"pcie_lanes", ""}, &Gpu::pcie_lanes},
            {{"pcie", "how GPUs of a machine reach each other over PCIe"},
             [](const Gpu& gpu) { return !gpu.nvlink || gpu.nvlink_gpus ? cell_of(gpu.pcie) : Cell(); }},
            {{"process_nm", "nm"}, &Gpu::process_nm},
            {{"tdp_watts", "W"}, &Gpu::tdp, watt},
            {{"idle_watts", "W"}, &Gpu::idle, watt},
            {{"thermally_limited", ""}, flag(&Gpu::thermally_limited)}};
}

/// A row a fact; a value that was assumed carries the reason.
Table facts(const GpuProfile& gpu) {
    using Fact = Field<GpuProfile>;
    const Fields<Fact> columns{
        {{"property", "property", Show::always}, [](const Fact& fact) { return fact.column.key; }},
        {{"value", "value", 5, Show::always}, [&gpu](const Fact& fact) { return fact.cell(gpu); }},
        {{"unit", "unit", Show::usual, true}, [](const Fact& fact) { return text_cell(fact.column.title); }},
        {{"assumed", "assumed", Show::usual, true}, [&gpu](const Fact& fact) { return text_cell(assumed_reason(gpu, fact.column.key)); }}};
    Fields<GpuProfile> known = fact_fields();
    std::erase_if(known, [&gpu](const Fact& fact) { return fact.cell(gpu) == Cell(); });
    return table_of({}, known, columns);
}

/// One line for each format: what its matrix products and its element-wise arithmetic run at.
Table precisions(const GpuProfile& gpu) {
    const auto accumulate = [&gpu](Precision p) {
        return p == Precision::fp16  ? gpu.fp16_accumulate_peak
               : p == Precision::fp8 ? gpu.fp8_accumulate_peak
                                     : std::optional<FlopsPerSecond>();
    };
    const auto assumed = [&gpu](Precision p) {
        const std::string key = "compute." + (gpu.tensor_peak[index(p)] ? tensor_key(p) : vector_key(p));
        return std::any_of(gpu.assumed.begin(), gpu.assumed.end(), [&](const Assumption& a) { return a.key == key; });
    };
    const Fields<Precision> fields{
        {{"precision", "precision", Show::always}, std::identity{}},
        {{"matmul_tflops", "GEMM TFLOPS", Show::always}, [&gpu](Precision p) { return gpu.matmul_peak(p); }, tflops},
        {{"math_unit", "unit"}, [&gpu](Precision p) { return gpu.math_unit(p); }},
        {{"fp16_accumulate_tflops", "fp16-accumulate TFLOPS"}, accumulate, tflops},
        {{"vector_tflops", "CUDA core TFLOPS"}, [&gpu](Precision p) { return gpu.vector_peak[index(p)]; }, tflops},
        {{"assumed", "assumed"}, [assumed](Precision p) { return assumed(p) ? Cell("assumed") : Cell(); }}};
    std::vector<Precision> rows;
    std::copy_if(all_precisions.begin(), all_precisions.end(), std::back_inserter(rows), [&gpu](Precision p) { return gpu.supports(p); });
    return table_of("Precisions (dense peaks at boost clock)", rows, fields);
}

Table prices(const GpuProfile& gpu) {
    const Fields<Price> fields{{{"kind", "kind", Show::always}, &Price::kind},
                               {{"usd", "USD", Show::always}, &Price::usd, usd},
                               {{"date", "date", Show::always}, [](const Price& p) { return p.date.empty() ? "unknown" : p.date; }},
                               {{"provider", "provider", Show::always}, &Price::provider, text_cell},
                               {{"provider_kind", "kind of provider", Show::wide}, &Price::provider_kind},
                               {{"instance", "instance"}, &Price::instance, text_cell},
                               {{"gpus_in_instance", "GPUs"}, &Price::gpus_in_instance},
                               {{"source", "source", Show::wide, true}, &Price::source}};
    return table_of("Prices in USD for one GPU: the rent of an hour, or the purchase", gpu.prices, fields);
}

Table parameters(const ParameterSet& set) {
    const Fields<std::size_t> fields =
        parameter_fields(set) +
        Fields<std::size_t>{{{"meaning", "meaning", Show::usual, true}, [](std::size_t i) { return parameter_specs()[i].meaning; }}};
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < parameter_specs().size(); ++i) {
        const ParameterSpec& spec = parameter_specs()[i];
        // No fit of the user's says that this machine differs.
        if (!spec.of_machine || spec.get(set.values) != 1) shown.push_back(i);
    }
    return table_of("Parameters of the cost model", shown, fields);
}

/// Where facts are from that have a source of their own.
struct FactSource {
    const char *key, *title;
    std::string GpuProfile::*text;
};
constexpr std::array fact_sources{FactSource{"sustained_clock_source", "sustained clock", &GpuProfile::sustained_clock_source},
                                  FactSource{"delivered_source", "delivered bandwidth", &GpuProfile::delivered_source},
                                  FactSource{"idle_source", "idle power", &GpuProfile::idle_source},
                                  FactSource{"gpus_per_machine_source", "machine", &GpuProfile::gpus_per_machine_source},
                                  FactSource{"pcie_source", "PCIe", &GpuProfile::pcie_source}};

Json identity(const GpuProfile& gpu) {
    Json document;
    for (const auto& row : facts(gpu).rows) document[std::get<std::string>(row[0])] = as_json(row[1]);
    document["aliases"] = gpu.aliases;
    document["source"] = gpu.source;
    for (const FactSource& source : fact_sources) {
        if (!(gpu.*source.text).empty()) document[source.key] = gpu.*source.text;
    }
    if (!document.contains("pcie")) document.erase("pcie_source");
    document["notes"] = gpu.notes;
    if (!gpu.capacity) document["capacity_gb"] = nullptr;
    return document;
}

}  // namespace

Report gpu_list_report(const std::vector<GpuProfile>& gpus) {
    using Gpu = GpuProfile;
    Fields<Gpu> fields{{{"id", "id", Show::always}, &Gpu::id},
                       {{"name", "name", Show::wide}, &Gpu::name},
                       {{"architecture", "architecture", Show::wide}, &Gpu::architecture},
                       {{"sm_count", "SMs", Show::wide}, &Gpu::sm_count},
                       {{"memory_gb", "memory GB", Show::always}, &Gpu::capacity, gib},
                       {{"bandwidth_gb_s", "GB/s", Show::always}, &Gpu::bandwidth, gb_per_s}};
    for (const Precision p :
         {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16, Precision::fp8, Precision::int8, Precision::fp4}) {
        const bool main = p == Precision::bf16 || p == Precision::fp8 || p == Precision::fp4;
        const std::string precision(name(p));
        fields.push_back({{precision + (p == Precision::int8 ? "_tops" : "_tflops"), precision, 4, main ? Show::usual : Show::wide},
                          [p](const Gpu& gpu) { return gpu.matmul_peak(p); },
                          tflops});
    }
    fields.push_back({{"tdp_watts", "TDP W", Show::wide}, &Gpu::tdp, watt});
    fields.push_back({{"assumed", "assumed", Show::wide, true}, [](const Gpu& gpu) { return text_cell(assumed_keys(gpu)); }});
    Report report = table_report("gpus", table_of({}, gpus, fields));
    report.after = {"Peaks are dense GEMMs with fp32 accumulation, in TFLOPS (int8: TOPS). Empty: not supported."};
    return report;
}

Report gpu_report(const Gpu& gpu) {
    const GpuProfile& profile = gpu.profile;
    Report report;
    const Table formats = precisions(profile), offers = prices(profile), values = parameters(gpu.parameters);
    report.tables = {facts(profile), formats};
    add_table(report.tables, offers);
    report.tables.push_back(values);
    auto assumed = Json::array();
    for (const auto& a : profile.assumed) {
        assumed.push_back({{"key", a.key}, {"value", a.value}, {"reason", a.reason}, {"relative_error", cell_of(a.relative_error)}});
        const std::string within = a.relative_error ? fmt::format("; nine of ten GPUs lie within {:.0f} %", 100 * *a.relative_error) : "";
        report.after.push_back(fmt::format("assumed: {} = {} ({}{})", a.key, a.value, a.reason, within));
    }
    for (const FactSource& source : fact_sources) {
        const std::string& text = profile.*source.text;
        if (!text.empty() && !text.starts_with("assumed")) report.after.push_back(fmt::format("{}: {}", source.title, text));
    }
    auto explained = Json::object();
    for (const auto& e : profile.explained) {
        explained[e.key] = e.reason;
        report.after.push_back(fmt::format("explained: {}: {}", e.key, e.reason));
    }
    if (!profile.notes.empty()) report.after.push_back("notes: " + profile.notes);
    report.after.push_back("source: " + (profile.source.empty() ? std::string("none given") : profile.source));
    report.document = {{"gpu", identity(profile)},  {"precisions", as_json(formats)},
                       {"prices", as_json(offers)}, {"parameters", as_json(values)},
                       {"assumed", assumed},        {"explained", explained}};
    return report;
}

Report gpu_check_report(const std::vector<CheckedProfile>& checked, const std::vector<CheckedFile>& files) {
    using Row = std::pair<const GpuProfile*, const ProfileFinding*>;
    const Fields<Row> fields{{{"gpu", "GPU", Show::always}, [](const Row& row) { return row.first->id; }},
                             {{"key", "key", Show::always}, [](const Row& row) { return row.second->key; }},
                             {{"found", "found", Show::always}, [](const Row& row) { return row.second->found; }},
                             {{"expected", "expected", Show::always}, [](const Row& row) { return row.second->expected; }},
                             {{"rule", "rule", Show::usual, true}, [](const Row& row) { return row.second->rule; }},
                             {{"status", "status", Show::always, false, tone_of("unexplained", Tone::bad)},
                              [](const Row& row) { return row.second->explained ? "explained" : "unexplained"; }},
                             {{"reason", "reason", Show::usual, true}, [](const Row& row) { return text_cell(row.second->reason); }}};
    std::vector<Row> rows;
    for (const auto& [gpu, findings] : checked) {
        for (const ProfileFinding& finding : findings) rows.emplace_back(&gpu, &finding);
    }
    const std::size_t open = unexplained(checked);
    Report report;
    report.csv = table_of({}, rows, fields);
    add_table(report.tables, report.csv);
    auto others = Json::array();
    for (const auto& [file, kind, entries] : files) {
        others.push_back({{"file", file}, {"kind", kind}, {"entries", entries}});
        const bool is_table = kind == "prices" || kind == "providers";
        report.after.push_back(fmt::format("{}: {} of {} {}", file, kind, entries,
                                           kind == "software" ? "execution modes and engines"
                                           : is_table         ? "rows"
                                                              : "parameters within their bounds"));
    }
    report.document = {{"profiles", checked.size()}, {"findings", as_json(report.csv)}, {"unexplained", open}, {"files", others}};
    for (const CheckedProfile& profile : checked) {
        for (const Assumption& a : profile.gpu.assumed) {
            if (a.key == "architecture")
                report.after.push_back(
                    fmt::format("{}: its architecture is unknown, so only orders of magnitude were checked.", profile.gpu.id));
        }
    }
    const auto counted = [](std::size_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); };
    report.after.push_back(
        fmt::format("{} checked: {}, {} of them unexplained", counted(checked.size(), "profile"), counted(rows.size(), "finding"), open));
    return report;
}

std::size_t unexplained(const std::vector<CheckedProfile>& checked) {
    std::size_t count = 0;
    for (const auto& c : checked) {
        count += static_cast<std::size_t>(
            std::count_if(c.findings.begin(), c.findings.end(), [](const ProfileFinding& f) { return !f.explained; }));
    }
    return count;
}

}  // namespace roofcast
