#pragma once
/// Memory that is released on every path.

#include <cstddef>
#include <utility>

#include "gpu/errors.hpp"

namespace roofcast::microbench {

enum class Place { device, pinned };

/// `bytes` of device or page-locked host memory. Throws CaseError when there is not enough.
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(std::size_t bytes, Place place = Place::device) : bytes_(bytes), place_(place) {
        if (bytes == 0) return;
        check(place == Place::device ? cudaMalloc(&data_, bytes) : cudaMallocHost(&data_, bytes), "allocating");
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer(Buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)), place_(other.place_) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        std::swap(place_, other.place_);
        return *this;
    }
    ~Buffer() {
        if (data_ == nullptr) return;
        if (place_ == Place::device) {
            cudaFree(data_);
        } else {
            cudaFreeHost(data_);
        }
    }

    [[nodiscard]] void* data() const { return data_; }
    /// `offset` bytes into the buffer.
    [[nodiscard]] void* at(std::size_t offset) const { return static_cast<std::byte*>(data_) + offset; }
    template <class T>
    [[nodiscard]] T* as() const {
        return static_cast<T*>(data_);
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
    Place place_ = Place::device;
};

}  // namespace roofcast::microbench
