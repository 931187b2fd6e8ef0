// The hashes by which TensorFlow and Keras put strings into bins.
#pragma once
#include <cstdint>
#include <string_view>

namespace tandem {

/// FarmHash's Fingerprint64.
std::uint64_t fingerprint64(std::string_view bytes);
/// SipHash-2-4 under a key of two words: for bins that depend on a salt.
std::uint64_t siphash(std::string_view bytes, std::uint64_t low, std::uint64_t high);

}  // namespace tandem
