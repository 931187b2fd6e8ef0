// Safetensors files: named arrays behind a JSON header.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "tandem/files/npy.h"

namespace tandem {

struct Safetensors {
  NamedTensors tensors = {};
  std::map<std::string, std::string> metadata = {};
};

/// Throws file_error, or bad_file naming the file and the tensor whose place or shape is wrong.
Safetensors load_safetensors(const std::string& path);
Safetensors safetensors_from_bytes(std::string_view bytes, const std::string& name = "the bytes given");
std::string safetensors_to_bytes(const Safetensors& file);
/// Atomically: see write_file_atomically.
void save_safetensors(const std::string& path, const Safetensors& file);

}  // namespace tandem
