/// Collectives over all GPUs of the machine, by NCCL where it is installed.

#include <array>
#include <memory>

#include "gpu/library.hpp"
#include "gpu/suites.hpp"
#include "gpu/timing.hpp"

namespace roofcast::microbench {

namespace {

using Communicator = void*;
constexpr int nccl_half = 6, nccl_sum = 0;  // ncclFloat16, ncclSum

/// The few functions needed, by the prototypes of NCCL 2.
struct Nccl {
    Library library{{"libnccl.so.2"}};
    int (*init_all)(Communicator*, int count, const int* devices) = nullptr;
    int (*destroy)(Communicator) = nullptr;
    int (*version)(int*) = nullptr;
    int (*group_start)() = nullptr;
    int (*group_end)() = nullptr;
    int (*all_reduce)(const void*, void*, std::size_t count, int type, int op, Communicator, cudaStream_t) = nullptr;
    int (*all_gather)(const void*, void*, std::size_t count, int type, Communicator, cudaStream_t) = nullptr;
    const char* (*error_text)(int) = nullptr;

    Nccl() {
        library.find("ncclCommInitAll", init_all);
        library.find("ncclCommDestroy", destroy);
        library.find("ncclGetVersion", version);
        library.find("ncclGroupStart", group_start);
        library.find("ncclGroupEnd", group_end);
        library.find("ncclAllReduce", all_reduce);
        library.find("ncclAllGather", all_gather);
        library.find("ncclGetErrorString", error_text);
    }
    void require(int status, const char* what) const {
        if (status != 0) throw CaseError(std::string(what) + ": " + error_text(status));
    }
};

/// One GPU's part: its stream and buffers.
struct Rank {
    int device = 0;
    cudaStream_t stream = nullptr;
    Buffer send, receive;

    Rank(int index, std::size_t send_bytes, std::size_t receive_bytes) : device(index) {
        check(cudaSetDevice(index), "choosing a GPU");
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
        send = Buffer(send_bytes);
        receive = Buffer(receive_bytes);
        check(cudaMemset(send.data(), 0x3C, send_bytes), "filling buffers");  // halves of about 1
    }
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;
    ~Rank() {
        cudaSetDevice(device);
        cudaStreamDestroy(stream);
    }
};

/// Communicators of all GPUs, and the GPU that was current before.
class Group {
public:
    Group(const Nccl& nccl, int gpus, int home) : nccl_(&nccl), home_(home), communicators_(static_cast<std::size_t>(gpus)) {
        nccl.require(nccl.init_all(communicators_.data(), gpus, nullptr), "starting NCCL");
    }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    ~Group() {
        for (Communicator c : communicators_) nccl_->destroy(c);
        cudaSetDevice(home_);
    }
    [[nodiscard]] Communicator of(std::size_t rank) const { return communicators_[rank]; }

private:
    const Nccl* nccl_;
    int home_;
    std::vector<Communicator> communicators_;
};

int gpu_count() {
    int count = 0;
    check(cudaGetDeviceCount(&count), "counting GPUs");
    if (count < 2) throw CaseError("not supported: collectives need two GPUs or more, this machine has one");
    return count;
}

}  // namespace

Outcome measure_collective(const Device& device, const Collective& w) {
    const int gpus = gpu_count();
    const Nccl nccl;
    const bool gather = w.op == "all_gather";
    const auto sent = static_cast<std::size_t>(w.bytes), received = gather ? sent * static_cast<std::size_t>(gpus) : sent;
    const Group group(nccl, gpus, device.index());
    std::vector<std::unique_ptr<Rank>> ranks;
    for (int g = 0; g < gpus; ++g) ranks.push_back(std::make_unique<Rank>(g, sent, received));
    const auto call = [&](cudaStream_t own) {
        nccl.require(nccl.group_start(), "grouping");
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            const Rank& rank = *ranks[r];
            const cudaStream_t stream = rank.device == device.index() ? own : rank.stream;
            const int status =
                gather ? nccl.all_gather(rank.send.data(), rank.receive.data(), sent / 2, nccl_half, group.of(r), stream)
                       : nccl.all_reduce(rank.send.data(), rank.receive.data(), sent / 2, nccl_half, nccl_sum, group.of(r), stream);
            nccl.require(status, "the collective");
        }
        nccl.require(nccl.group_end(), "grouping");
    };
    check(cudaSetDevice(device.index()), "choosing a GPU");
    int version = 0;
    nccl.require(nccl.version(&version), "reading NCCL's version");
    Outcome outcome{timed_calls(device, call), {}, "NCCL " + std::to_string(version) + " " + device.software()};
    outcome.launch_included = true;
    outcome.gpus = gpus;
    return outcome;
}

}  // namespace roofcast::microbench
