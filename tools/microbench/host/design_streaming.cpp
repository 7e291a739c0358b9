/// What is bound by memory: element-wise, row-wise, embedding, plain reads and writes, copies, collectives; and launches and clocks.

#include <algorithm>

#include "host/design.hpp"
#include "host/shapes.hpp"

namespace roofcast::microbench {

namespace {

constexpr std::int64_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

/// Alternately cold and warm.
CacheState alternate(const std::vector<Case>& cases) {
    return cases.size() % 2 == 0 ? CacheState::cold : CacheState::warm;
}

void drop_unaffordable(std::vector<Case>& cases) {
    std::erase_if(cases, [](const Case& c) { return compulsory_bytes(c) > largest_bytes; });
}

}  // namespace

std::vector<Case> elementwise_cases(Precision p, Random& random) {
    std::vector<Case> cases;
    for (const char* function : {"add", "mul", "gelu", "silu", "copy"}) {
        for (std::int64_t elements = 1024; elements <= 256 * mib; elements *= 4) {
            const std::int64_t odd = std::max<std::int64_t>(1, elements + random.whole(-elements / 4, elements / 4));
            for (const std::int64_t count : {elements, odd}) cases.push_back({p, alternate(cases), Elementwise{function, count}});
        }
    }
    drop_unaffordable(cases);
    return cases;
}

std::vector<Case> row_wise_cases(Precision p, Random& random) {
    std::vector<Case> cases;
    for (const char* op : {"softmax", "layernorm", "rmsnorm"}) {
        for (const std::int64_t hidden : hidden_sizes) {
            for (int i = 0; i < 3; ++i) cases.push_back({p, alternate(cases), RowWise{op, random.log_uniform(1, 32768), hidden}});
        }
        for (int i = 0; i < 10; ++i)
            cases.push_back({p, alternate(cases), RowWise{op, random.log_uniform(1, 65536), random.log_uniform(16, 8192)}});
    }
    drop_unaffordable(cases);
    return cases;
}

std::vector<Case> embedding_cases(Precision p, Random& random) {
    std::vector<Case> cases;
    for (const std::int64_t hidden : hidden_sizes) {
        for (int i = 0; i < 3; ++i) cases.push_back({p, CacheState::cold, Embedding{random.log_uniform(1, 32768), hidden}});
    }
    return cases;
}

std::vector<Case> memory_cases() {
    std::vector<Case> cases;
    for (const char* function : {"read", "write", "copy", "triad"}) {
        for (std::int64_t bytes = 16 * kib; bytes <= gib; bytes *= 2) {
            cases.push_back({Precision::fp32, CacheState::warm, Memory{function, bytes, 0}});
            if (bytes >= mib && bytes < gib) cases.push_back({Precision::fp32, CacheState::warm, Memory{function, bytes + bytes / 2, 0}});
            if (bytes >= mib) cases.push_back({Precision::fp32, CacheState::cold, Memory{function, bytes, 0}});
        }
    }
    for (std::int64_t stride = 4; stride <= 4096; stride *= 2)
        cases.push_back({Precision::fp32, CacheState::cold, Memory{"strided_read", 512 * mib, stride}});
    for (std::int64_t bytes = 64 * kib; bytes <= gib; bytes *= 4)
        cases.push_back({Precision::fp32, CacheState::warm, Memory{"random_read", bytes, 0}});
    return cases;
}

std::vector<Case> copy_cases() {
    std::vector<Case> cases;
    for (std::int64_t bytes = kib; bytes <= gib; bytes *= 4) {
        for (const bool pinned : {true, false}) {
            cases.push_back({Precision::fp32, CacheState::cold, Copy{Direction::host_to_device, pinned, bytes}});
            cases.push_back({Precision::fp32, CacheState::cold, Copy{Direction::device_to_host, pinned, bytes}});
        }
        cases.push_back({Precision::fp32, CacheState::cold, Copy{Direction::device_to_device, true, bytes}});
    }
    return cases;
}

std::vector<Case> launch_cases() {
    std::vector<Case> cases;
    for (const char* quantity : {"empty_kernel", "launch_latency", "launch_interval", "graph_launch_latency", "graph_kernel_interval"})
        cases.push_back({Precision::fp32, CacheState::warm, Launch{quantity}});
    return cases;
}

std::vector<Case> sustained_cases(Precision p) {
    constexpr double seconds = 20;  // GPUs reach their steady clock within a few seconds, their temperature within some tens
    return {{p, CacheState::warm, Sustained{seconds}}};
}

std::vector<Case> collective_cases() {
    std::vector<Case> cases;
    for (const char* op : {"all_reduce", "all_gather"}) {
        for (std::int64_t bytes = kib; bytes <= gib; bytes *= 2)
            cases.push_back({Precision::fp16, CacheState::cold, Collective{op, bytes}});
    }
    return cases;
}

}  // namespace roofcast::microbench
