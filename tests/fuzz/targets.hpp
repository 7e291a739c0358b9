#pragma once
/// The fuzz targets: each takes an input, and returns 0 unless it ends the process.

#include <cstddef>
#include <cstdint>

namespace roofcast::fuzz {

int csv(const std::uint8_t* data, std::size_t size);
int json(const std::uint8_t* data, std::size_t size);
int toml(const std::uint8_t* data, std::size_t size);
int net(const std::uint8_t* data, std::size_t size);
int onnx(const std::uint8_t* data, std::size_t size);
int files(const std::uint8_t* data, std::size_t size);
int options(const std::uint8_t* data, std::size_t size);
int scheduler(const std::uint8_t* data, std::size_t size);
int weights(const std::uint8_t* data, std::size_t size);

}  // namespace roofcast::fuzz
