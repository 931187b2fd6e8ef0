// Where the entries of a zip archive lie, so that those that are not packed can be read in place.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct ZipPlace {
  std::string name;
  std::uint64_t offset = 0, size = 0;  // of the bytes; of a packed entry as they lie in the archive
  bool packed = false;                 // deflated, encrypted or otherwise not there as they are
};

/// In the archive's order. Throws bad_file when the lists at its end contradict themselves or point outside.
std::vector<ZipPlace> zip_places(std::string_view archive, const std::string& name);

}  // namespace tandem
