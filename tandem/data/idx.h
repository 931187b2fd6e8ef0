// IDX files, the format of MNIST: a magic number, the sizes, then the values, most significant byte first.
#pragma once
#include <string>
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// uint8, int8, int32, float32 and float64 arrays; files that end in .gz are unpacked. Throws file_error or bad_file.
Tensor load_idx(const std::string& path);
Tensor idx_from_bytes(std::string_view bytes, const std::string& name = "the bytes given");

}  // namespace tandem
