#include "tandem/base/string_hash.h"

#include <bit>
#include <cstring>
#include <string>
#include <utility>

namespace tandem {
namespace {

constexpr std::uint64_t k0 = 0xC3A5C85C97CB3127, k1 = 0xB492B66FBE98F273, k2 = 0x9AE16A3B2F90404F;

template <class Word = std::uint64_t>
std::uint64_t at(std::string_view s, std::size_t i) {
  Word word;
  std::memcpy(&word, s.data() + i, sizeof word);
  return word;
}
std::uint64_t byte_at(std::string_view s, std::size_t i) { return static_cast<unsigned char>(s[i]); }
std::uint64_t mix(std::uint64_t value) { return value ^ (value >> 47); }

std::uint64_t hash16(std::uint64_t u, std::uint64_t v, std::uint64_t multiplier) {
  const std::uint64_t a = mix((u ^ v) * multiplier), b = mix((v ^ a) * multiplier);
  return b * multiplier;
}

std::uint64_t up_to_16(std::string_view s) {
  const std::size_t n = s.size();
  const std::uint64_t m = k2 + n * 2;
  if (n >= 8) {
    const std::uint64_t a = at(s, 0) + k2, b = at(s, n - 8);
    return hash16(std::rotr(b, 37) * m + a, (std::rotr(a, 25) + b) * m, m);
  }
  if (n >= 4) return hash16(n + (at<std::uint32_t>(s, 0) << 3), at<std::uint32_t>(s, n - 4), m);
  if (n == 0) return k2;
  const std::uint64_t y = byte_at(s, 0) + (byte_at(s, n >> 1) << 8), z = n + (byte_at(s, n - 1) << 2);
  return mix(y * k2 ^ z * k0) * k2;
}

/// What both middle lengths begin with: their ends mixed.
struct Ends {
  std::uint64_t a, y, z, m;
};
Ends mixed_ends(std::string_view s, std::uint64_t first) {
  const std::size_t n = s.size();
  const std::uint64_t m = k2 + n * 2, a = at(s, 0) * first, b = at(s, 8), c = at(s, n - 8) * m, d = at(s, n - 16) * k2;
  const std::uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  return {a, y, hash16(y, a + std::rotr(b + k2, 18) + c, m), m};
}

std::uint64_t up_to_64(std::string_view s) {
  const std::size_t n = s.size();
  const auto [a, y, z, m] = mixed_ends(s, k2);
  const std::uint64_t e = at(s, 16) * m, f = at(s, 24), g = (y + at(s, n - 32)) * m, h = (z + at(s, n - 24)) * m;
  return hash16(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, m);
}

using Pair = std::pair<std::uint64_t, std::uint64_t>;

Pair weak(std::string_view s, std::size_t i, std::uint64_t a, std::uint64_t b) {
  a += at(s, i);
  b = std::rotr(b + a + at(s, i + 24), 21);
  const std::uint64_t c = a;
  a += at(s, i + 8) + at(s, i + 16);
  b += std::rotr(a, 44);
  return {a + at(s, i + 24), b + c};
}

struct Long {
  std::uint64_t x, y, z;
  Pair v{0, 0}, w{0, 0};

  /// A block of 64 bytes.
  void block(std::string_view s, std::size_t i, std::uint64_t m, std::uint64_t factor) {
    x = std::rotr(x + y + v.first + at(s, i + 8), 37) * m;
    y = std::rotr(y + v.second + at(s, i + 48), 42) * m;
    x ^= w.second * factor;
    y += v.first * factor + at(s, i + 40);
    z = std::rotr(z + w.first, 33) * m;
    v = weak(s, i, v.second * m, x + w.first);
    w = weak(s, i + 32, z + w.second, y + at(s, i + 16));
    std::swap(z, x);
  }
};

}  // namespace

std::uint64_t fingerprint64(std::string_view s) {
  const std::size_t n = s.size();
  if (n <= 16) return up_to_16(s);
  if (n <= 32) return mixed_ends(s, k1).z;
  if (n <= 64) return up_to_64(s);
  constexpr std::uint64_t kSeed = 81;
  Long state{.x = kSeed * k2 + at(s, 0), .y = kSeed * k1 + 113, .z = 0};
  state.z = mix(state.y * k2 + 113) * k2;
  for (std::size_t i = 0; i < (n - 1) / 64 * 64; i += 64) state.block(s, i, k1, 1);
  const std::uint64_t m = k1 + ((state.z & 0xFF) << 1);
  state.w.first += (n - 1) & 63;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.block(s, n - 64, m, 9);
  return hash16(hash16(state.v.first, state.w.first, m) + mix(state.y) * k0 + state.z,
                hash16(state.v.second, state.w.second, m) + state.x, m);
}

std::uint64_t siphash(std::string_view bytes, std::uint64_t low, std::uint64_t high) {
  std::uint64_t a = low ^ 0x736F6D6570736575, b = high ^ 0x646F72616E646F6D, c = low ^ 0x6C7967656E657261,
                d = high ^ 0x7465646279746573;
  const auto rounds = [&](int count) {
    while (count--) {
      a += b, c += d;
      b = std::rotl(b, 13) ^ a, d = std::rotl(d, 16) ^ c;
      a = std::rotl(a, 32) + d, c += b;
      b = std::rotl(b, 17) ^ c, d = std::rotl(d, 21) ^ a;
      c = std::rotl(c, 32);
    }
  };
  std::string padded(bytes);
  padded.append(7 - bytes.size() % 8, '\0');
  padded += static_cast<char>(bytes.size() & 255);
  for (std::size_t i = 0; i < padded.size(); i += 8) {
    const std::uint64_t word = at(padded, i);
    d ^= word;
    rounds(2);
    a ^= word;
  }
  c ^= 0xFF;
  rounds(4);
  return a ^ b ^ c ^ d;
}

}  // namespace tandem
