// Archives of arrays, as libzip reads them and as they are read in place; stored or deflated, the first byte chooses.
#include "tandem/files/npy.h"
#include "tandem/files/npy_format.h"
#include "tandem/files/zip_places.h"
#include "tests/fuzz/fuzz.h"

namespace {

void read_in_place(std::string_view archive) {
  for (const tandem::ZipPlace& place : tandem::zip_places(archive, "input"))
    if (!place.packed) tandem::find_npy(tandem::byte_source(archive.substr(place.offset, place.size), place.name));
}

}  // namespace

void tandem::fuzz::read(std::string_view bytes) {
  static const NamedTensors arrays{{"x", Tensor::from<float>({1, 2, 3, 4}, {2, 2})},
                                   {"y", Tensor::from<std::int32_t>({1, 2}, {2})}};
  static const std::string stored = npz_to_bytes(arrays), deflated = npz_to_bytes(arrays, true);
  if (bytes.empty()) return;
  const auto choice = static_cast<unsigned char>(bytes[0]);
  const std::string archive =
      choice & 1 ? std::string(bytes.substr(1)) : damaged(choice & 2 ? deflated : stored, bytes.substr(1));
  if (choice & 4) read_in_place(archive);
  else npz_from_bytes(archive, "input");
}
