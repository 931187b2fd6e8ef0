// JPEG pictures of which some bytes were changed.
#include "tandem/files/pictures.h"
#include "tests/fuzz/fuzz.h"

void tandem::fuzz::read(std::string_view bytes) {
  static const std::string grey = encode_jpeg(Tensor::from(std::vector<std::uint8_t>(64, 90), {8, 8, 1}));
  static const std::string colours =
      encode_jpeg(Tensor::from(std::vector<std::uint8_t>(16 * 17 * 3, 120), {16, 17, 3}));
  if (bytes.empty()) return;
  const auto choice = static_cast<unsigned char>(bytes[0]);
  decode_jpeg(damaged(choice & 1 ? grey : colours, bytes.substr(1)), {.channels = choice & 2 ? 0 : choice >> 2 & 3,
                                                                      .ratio = 1 << (choice >> 4 & 3),
                                                                      .recover_truncated = (choice & 64) != 0});
}
