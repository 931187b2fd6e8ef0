// Where a reader takes its bytes from: a file, an archive's entry, or memory.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace tandem {

struct ByteSource {
  std::string name;                                       // for errors
  std::uint64_t size = 0;                                 // bytes there are, known before reading
  std::function<void(char* to, std::size_t bytes)> read;  // exactly so many; throws when they do not come
};

}  // namespace tandem
