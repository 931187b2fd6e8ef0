// Files of saved functions, their checksum made to fit so that what lies behind it is reached.
#include "tandem/autodiff/saved_function.h"

#include <cstring>

#include "tandem/files/crc32c.h"
#include "tests/fuzz/fuzz.h"

void tandem::fuzz::read(std::string_view bytes) {
  std::string file("TANDEMFN\1\0\0\0", 12);
  const std::uint32_t sum = crc32c(bytes);
  file.append(reinterpret_cast<const char*>(&sum), 4).append(bytes);
  functions_from_bytes(file, "input");
}
