// The frame of a fuzz target: reads the bytes as it likes; an Error is a right answer to wrong bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tandem/base/error.h"

namespace tandem::fuzz {
void read(std::string_view bytes);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    tandem::fuzz::read({reinterpret_cast<const char*>(data), size});
  } catch (const tandem::Error& error) {
    if (error.code() == tandem::ErrorCode::internal) __builtin_trap();  // a check of ours failed
  }
  return 0;
}
