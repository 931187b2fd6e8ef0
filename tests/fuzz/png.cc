// PNG pictures of which some bytes were changed; the checksums are made right again, or libpng would look no further.
#include <zlib.h>

#include <cstring>

#include "tandem/files/pictures.h"
#include "tests/fuzz/fuzz.h"

namespace {

std::uint32_t number_at(const std::string& file, std::size_t at) {
  std::uint32_t value;
  std::memcpy(&value, file.data() + at, 4);
  return __builtin_bswap32(value);
}

void repair_checksums(std::string& file) {
  for (std::size_t at = 8; at + 12 <= file.size();) {
    const std::size_t length = number_at(file, at);
    if (length > file.size() - at - 12) return;
    const auto* begin = reinterpret_cast<const unsigned char*>(file.data()) + at + 4;
    const std::uint32_t sum =
        __builtin_bswap32(static_cast<std::uint32_t>(crc32(0, begin, static_cast<unsigned>(length + 4))));
    std::memcpy(file.data() + at + 8 + length, &sum, 4);
    at += length + 12;
  }
}

}  // namespace

void tandem::fuzz::read(std::string_view bytes) {
  static const std::string grey = encode_png(Tensor::from<std::uint8_t>({0, 50, 100, 150, 200, 250}, {2, 3, 1}));
  static const std::string colours =
      encode_png(Tensor::from<std::uint8_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {1, 3, 4}));
  if (bytes.empty()) return;
  const auto choice = static_cast<unsigned char>(bytes[0]);
  std::string file = damaged(choice & 1 ? grey : colours, bytes.substr(1));
  if (choice & 2) repair_checksums(file);
  decode_png(file, choice >> 2 & 7, choice & 32 ? DType::u16 : DType::u8);
}
