/// What the names in a kernel row say of its kernel: who called it, how the host measured it, of which family it is.

#include <algorithm>
#include <map>

#include "kernels/family.hpp"
#include "roofcast/software.hpp"
#include "validation/hosts.hpp"

namespace roofcast {

namespace {

bool begins_with_any(std::string_view software, const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return begins_with_words(software, name); });
}

void mark_caller(KernelRow& row, const Caller& caller) {
    row.caller = caller;
    if (auto* attention = std::get_if<Attention>(&row.op); attention != nullptr && caller.has_plain_tensors()) attention->cached = false;
    if (auto* elementwise = std::get_if<Elementwise>(&row.op)) elementwise->any_operands = caller.framework;
    if (auto* quantize = std::get_if<Quantize>(&row.op)) quantize->schedule = caller.quantizing;
}

bool is_ungated(const Moe& moe, const std::string& software, const HostStack& host) {
    const auto is_size = [&](const UngatedExperts& e) { return e.hidden == moe.hidden && e.intermediate == moe.intermediate; };
    return begins_with_any(software, host.ungated_software) &&
           std::any_of(host.ungated_experts.begin(), host.ungated_experts.end(), is_size);
}

void mark_host(KernelRow& row, const HostStack& host) {
    if (row.cache == Cache::cold && contains(host.rotated, row.op_name)) row.cache = Cache::rotated;
    if (row.cache == Cache::cold && contains(host.repeated, row.op_name)) row.cache = Cache::warm;
    if (!host.split_ungrouped) row.caller.splits_ungrouped = false;
    if (auto* gemm = std::get_if<Gemm>(&row.op); gemm != nullptr && host.reduction_in_n) std::swap(gemm->n, gemm->k);
    if (auto* moe = std::get_if<Moe>(&row.op); moe != nullptr && is_ungated(*moe, row.origin.software, host)) moe->gated = false;
    if (auto* filter = std::get_if<CausalConvolution>(&row.op);
        filter != nullptr && filter->layer == RecurrentLayer::gated_delta && begins_with_any(row.origin.software, host.convolved_keys)) {
        filter->channels = filter->key_channels;
    }
}

bool is_of(const KernelFamily& family, const KernelRow& row) {
    return contains(family.kernels, row.kernel.empty() ? row.function : row.kernel) &&
           (family.engines.empty() || begins_with_any(row.origin.software, family.engines)) && takes(family, row.op);
}

void mark_family(KernelRow& row, std::shared_ptr<const KernelFamily> family) {
    if (auto* gemm = std::get_if<Gemm>(&row.op); gemm != nullptr && family->rows_include_quantization) gemm->dynamic_quantized = true;
    if (auto* moe = std::get_if<Moe>(&row.op)) moe->gated = family->gated.value_or(moe->gated);
    if (auto* recurrence = std::get_if<Recurrence>(&row.op)) {
        recurrence->state_read = family->facts.recurrent.state_read.value_or(recurrence->state_read);
        recurrence->state_written = family->facts.recurrent.state_written.value_or(recurrence->state_written);
    }
    row.caller = family->called_by(row.caller);
    row.family = std::move(family);
}

void mark_kernel(KernelRow& row, const SoftwareStacks& software, const GpuProfile* gpu) {
    if (std::holds_alternative<Collective>(row.op)) row.library = measured_library(software.libraries, row.kernel, row.origin.software);
    const auto runs = [&](const auto& family) { return is_of(*family, row) && (gpu == nullptr || family->runs_on(*gpu)); };
    const auto found = std::find_if(software.families.begin(), software.families.end(), runs);
    if (found != software.families.end()) mark_family(row, *found);
}

}  // namespace

void mark_rows(const SoftwareStacks& software, const MeasuringHosts& hosts, std::vector<KernelRow>& rows, const GpuOfRow& gpu) {
    std::map<std::pair<std::string, std::string>, Caller> callers;  // by software and vendor
    for (KernelRow& row : rows) {
        const GpuProfile* profile = gpu ? gpu(row.gpu) : nullptr;
        const std::string vendor = profile != nullptr ? profile->vendor : std::string();
        const auto [known, is_new] = callers.try_emplace({row.origin.software, vendor});
        if (is_new) known->second = software.caller(row.origin.software, vendor);
        mark_caller(row, known->second);
        if (const HostStack* host = hosts ? host_of(hosts->stacks, row) : nullptr) mark_host(row, *host);
        mark_kernel(row, software, profile);
    }
}

}  // namespace roofcast
