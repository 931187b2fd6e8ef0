// The frame of a fuzz target: reads the bytes as it likes; an Error is a right answer to wrong bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/base/error.h"

namespace tandem::fuzz {
void read(std::string_view bytes);

/// A file that is right but for some bytes: each three of `changes` are a place and what stands there. The last may cut
/// it off. For formats whose smallest file is no accident.
inline std::string damaged(std::string file, std::string_view changes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(changes[i]); };
  for (std::size_t i = 0; i + 2 < changes.size(); i += 3)
    file[(at(i) * 256u + at(i + 1)) % file.size()] = changes[i + 2];
  if (changes.size() % 3 == 2) file.resize((at(changes.size() - 2) * 256u + at(changes.size() - 1)) % file.size());
  return file;
}
}  // namespace tandem::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    tandem::fuzz::read({reinterpret_cast<const char*>(data), size});
  } catch (const tandem::Error& error) {
    if (error.code() == tandem::ErrorCode::internal) __builtin_trap();  // a check of ours failed
  }
  return 0;
}
