// CRC-32C, the checksum of TFRecord files and of our own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tandem {

/// The checksum of `bytes`, going on from `before`.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);
/// As TFRecord stores it: rotated and shifted, so that a checksum of checksums is not trivial.
inline std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

}  // namespace tandem
