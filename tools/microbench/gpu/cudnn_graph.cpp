#include "gpu/cudnn_graph.hpp"

#include <algorithm>

#include "host/case_error.hpp"

namespace roofcast::microbench {

namespace {

constexpr std::int64_t byte_alignment = 16;

/// Configurations in the order of the heuristics; empty when this mode knows none.
std::vector<Descriptor> configurations(const CudnnApi& api, const Descriptor& graph, cudnnBackendHeurMode_t mode) {
    std::vector<Descriptor> found;
    Descriptor heuristics(api, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (api.finalize(heuristics.raw()) != CUDNN_STATUS_SUCCESS) return found;
    std::int64_t count = 0;
    if (api.get_attribute(heuristics.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr) !=
        CUDNN_STATUS_SUCCESS)
        return found;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::int64_t i = 0; i < count; ++i) raw.push_back(found.emplace_back(api, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).raw());
    api.require(
        api.get_attribute(heuristics.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, raw.data()),
        "asking cuDNN's heuristics");
    while (static_cast<std::int64_t>(found.size()) > count) found.pop_back();
    return found;
}

bool uses_tensor_cores(const CudnnApi& api, const Descriptor& configuration) {
    const Descriptor engine(api, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t raw = engine.raw();
    std::int64_t count = 0;
    api.require(api.get_attribute(configuration.raw(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw),
                "asking for an engine");
    std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
    api.require(api.get_attribute(raw, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count,
                                  notes.data()),
                "asking for an engine's notes");
    notes.resize(static_cast<std::size_t>(count));
    return std::find(notes.begin(), notes.end(), CUDNN_NUMERICAL_NOTE_TENSOR_CORE) != notes.end();
}

}  // namespace

CudnnApi::CudnnApi() : library({"libcudnn.so." + std::to_string(CUDNN_MAJOR), "libcudnn.so"}) {
    library.find("cudnnCreate", create);
    library.find("cudnnDestroy", destroy);
    library.find("cudnnSetStream", set_stream);
    library.find("cudnnGetVersion", version);
    library.find("cudnnGetErrorString", error_text);
    library.find("cudnnBackendCreateDescriptor", create_descriptor);
    library.find("cudnnBackendDestroyDescriptor", destroy_descriptor);
    library.find("cudnnBackendSetAttribute", set_attribute);
    library.find("cudnnBackendGetAttribute", get_attribute);
    library.find("cudnnBackendFinalize", finalize);
    library.find("cudnnBackendExecute", execute);
    require(create(&handle), "starting cuDNN");
}

CudnnApi::~CudnnApi() {
    destroy(handle);
}

void CudnnApi::require(cudnnStatus_t status, const char* what) const {
    if (status == CUDNN_STATUS_SUCCESS) return;
    const bool unsupported = status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000;
    throw CaseError((unsupported ? "not supported by cuDNN: " : "") + std::string(what) + ": " + error_text(status));
}

std::string CudnnApi::software() const {
    const std::size_t v = version();
    return "cuDNN " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
}

const CudnnApi& cudnn_api() {
    static const CudnnApi api;
    return api;
}

Descriptor::Descriptor(const CudnnApi& api, cudnnBackendDescriptorType_t type) : api_(&api) {
    api.require(api.create_descriptor(type, &raw_), "creating a descriptor");
}

Descriptor::~Descriptor() {
    if (raw_ != nullptr) api_->destroy_descriptor(raw_);
}

Descriptor& Descriptor::set_many(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                                 const void* values) {
    api_->require(api_->set_attribute(raw_, name, type, count, values), "describing the operation");
    return *this;
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& part) {
    const cudnnBackendDescriptor_t raw = part.raw();
    return set_many(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

Descriptor& Descriptor::finalize(const char* what) {
    api_->require(api_->finalize(raw_), what);
    return *this;
}

Descriptor tensor(const CudnnApi& api, std::int64_t id, cudnnDataType_t type, const std::vector<std::int64_t>& dims,
                  const std::vector<std::int64_t>& strides, Holding holding) {
    Descriptor t(api, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims)
        .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides)
        .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id)
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, byte_alignment)
        .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, holding == Holding::between_operations)
        .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, holding == Holding::host_scalar);
    t.finalize("describing a tensor");
    return t;
}

Plan::Plan(const CudnnApi& api, const std::vector<Descriptor>& operations, bool exact) : api_(api) {
    std::vector<cudnnBackendDescriptor_t> raw;
    for (const Descriptor& operation : operations) raw.push_back(operation.raw());
    Descriptor graph(api, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw)
        .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, api.handle);
    graph.finalize("the operation graph");
    for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
        for (Descriptor& configuration : configurations(api, graph, mode)) {
            if (exact && uses_tensor_cores(api, configuration)) continue;
            Descriptor plan(api, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
            plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, api.handle)
                .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
            if (api.finalize(plan.raw()) != CUDNN_STATUS_SUCCESS) continue;
            std::int64_t bytes = 0, count = 0;
            api.require(api.get_attribute(plan.raw(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes),
                        "asking for the workspace");
            workspace_ = Buffer(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
            kept_.push_back(std::move(graph));
            kept_.push_back(std::move(configuration));
            kept_.push_back(std::move(plan));
            return;
        }
    }
    throw CaseError("not supported by cuDNN: no engine for this operation");
}

void Plan::execute(const Binding& binding) const {
    Descriptor pack(api_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    void* workspace = workspace_.data();
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, binding.ids)
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, binding.addresses)
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    pack.finalize("binding data");
    api_.require(api_.execute(api_.handle, kept_.back().raw(), pack.raw()), "running the operation");
}

}  // namespace roofcast::microbench
