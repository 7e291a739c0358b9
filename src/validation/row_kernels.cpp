#include <algorithm>

#include "kernels/family.hpp"
#include "roofcast/software.hpp"
#include "roofcast/validation.hpp"

namespace roofcast {

namespace {

bool is_of(const KernelFamily& family, const KernelRow& row) {
    const auto begins = [&row](const std::string& engine) { return begins_with_words(row.origin.software, engine); };
    return std::find(family.kernels.begin(), family.kernels.end(), row.kernel) != family.kernels.end() &&
           (family.engines.empty() || std::any_of(family.engines.begin(), family.engines.end(), begins)) && takes(family, row.op);
}

/// What an engine's model would say of the operator, as far as the family's kernels depend on it.
void mark(Op& op, const KernelFamily& family) {
    if (auto* gemm = std::get_if<Gemm>(&op); gemm != nullptr && family.rows_include_quantization) gemm->dynamic_quantized = true;
    if (auto* moe = std::get_if<Moe>(&op); moe != nullptr) moe->gated = family.gated.value_or(moe->gated);
    auto* attention = std::get_if<Attention>(&op);
    if (attention == nullptr) return;
    attention->converts_cache = family.converts_cache;
    if (!family.sharing_groups || attention->query_len > 1) return;
    const bool together = family.sharing_groups->has(attention->heads / attention->kv_heads);
    attention->lane_decoding = together ? LaneDecoding::possible : LaneDecoding::only;
}

}  // namespace

void mark_kernels(const SoftwareStacks& software, std::vector<KernelRow>& rows, const GpuOfRow& gpu) {
    for (KernelRow& row : rows) {
        if (row.kernel.empty()) continue;
        if (std::holds_alternative<Collective>(row.op)) row.library = measured_library(software.libraries, row.kernel, row.origin.software);
        const GpuProfile* profile = gpu ? gpu(row.gpu) : nullptr;
        const auto runs = [&](const auto& f) { return is_of(*f, row) && (profile == nullptr || f->runs_on(*profile)); };
        const auto found = std::find_if(software.families.begin(), software.families.end(), runs);
        if (found == software.families.end()) continue;
        row.family = *found;
        mark(row.op, **found);
    }
}

}  // namespace roofcast
