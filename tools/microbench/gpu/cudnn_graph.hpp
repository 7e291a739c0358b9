#pragma once
/// cuDNN's graph API (the backend descriptors of version 9): tensors, operations, and the plan that its heuristics choose.

#include <cudnn.h>

#include <string>
#include <vector>

#include "gpu/buffer.hpp"
#include "gpu/library.hpp"

namespace roofcast::microbench {

/// The functions of the library that are used, found when the program runs.
struct CudnnApi {
    Library library;
    decltype(&cudnnCreate) create = nullptr;
    decltype(&cudnnDestroy) destroy = nullptr;
    decltype(&cudnnSetStream) set_stream = nullptr;
    decltype(&cudnnGetVersion) version = nullptr;
    decltype(&cudnnGetErrorString) error_text = nullptr;
    decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
    decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
    decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
    decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
    decltype(&cudnnBackendFinalize) finalize = nullptr;
    decltype(&cudnnBackendExecute) execute = nullptr;
    cudnnHandle_t handle = nullptr;

    /// Throws CaseError when the library is not installed.
    CudnnApi();
    CudnnApi(const CudnnApi&) = delete;
    CudnnApi& operator=(const CudnnApi&) = delete;
    ~CudnnApi();
    /// Throws CaseError with the library's text.
    void require(cudnnStatus_t status, const char* what) const;
    [[nodiscard]] std::string software() const;
};

/// Loaded with the first case that needs it.
const CudnnApi& cudnn_api();

/// A backend descriptor. Setters return the descriptor, so that a description reads as one.
class Descriptor {
public:
    Descriptor(const CudnnApi& api, cudnnBackendDescriptorType_t type);
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    Descriptor(Descriptor&& other) noexcept : api_(other.api_), raw_(std::exchange(other.raw_, nullptr)) {}
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor();

    template <class T>
    Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
        return set_many(name, type, 1, &value);
    }
    template <class T>
    Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const std::vector<T>& values) {
        return set_many(name, type, static_cast<std::int64_t>(values.size()), values.data());
    }
    Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& part);
    Descriptor& finalize(const char* what);
    [[nodiscard]] cudnnBackendDescriptor_t raw() const { return raw_; }

private:
    Descriptor& set_many(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
    const CudnnApi* api_;
    cudnnBackendDescriptor_t raw_ = nullptr;
};

/// How a tensor is held.
enum class Holding { memory, between_operations, host_scalar };

Descriptor tensor(const CudnnApi& api, std::int64_t id, cudnnDataType_t type, const std::vector<std::int64_t>& dims,
                  const std::vector<std::int64_t>& strides, Holding holding = Holding::memory);

/// Data a plan runs on: tensor ids with their addresses.
struct Binding {
    std::vector<std::int64_t> ids;
    std::vector<void*> addresses;
};

/// The first engine that the library's heuristics offer and that can be built.
class Plan {
public:
    /// With `exact`, engines that round fp32 inputs for tensor cores are passed over. Throws CaseError when none is left.
    Plan(const CudnnApi& api, const std::vector<Descriptor>& operations, bool exact);

    /// Runs the plan on the stream that was set last.
    void execute(const Binding& binding) const;

private:
    const CudnnApi& api_;
    std::vector<Descriptor> kept_;  ///< graph, configuration, plan
    Buffer workspace_;
};

}  // namespace roofcast::microbench
