#include "tandem/files/crc32c.h"

#include <array>
#include <cstring>

namespace tandem {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0);
    table[i] = crc;
  }
  return table;
}

std::uint32_t by_table(std::string_view bytes, std::uint32_t crc) {
  static constexpr auto kTable = make_table();
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (crc >> 8);
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::string_view bytes, std::uint32_t start) {
  std::uint64_t crc = start;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    crc = __builtin_ia32_crc32di(crc, word);
  }
  auto low = static_cast<std::uint32_t>(crc);
  for (; left; ++at, --left) low = __builtin_ia32_crc32qi(low, static_cast<unsigned char>(*at));
  return low;
}
#endif

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return ~by_instruction(bytes, ~before);
#endif
  return ~by_table(bytes, ~before);
}

}  // namespace tandem
