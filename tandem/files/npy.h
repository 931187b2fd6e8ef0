// NumPy's files: .npy holds one array, .npz a zip archive of named ones.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

using NamedTensors = std::map<std::string, Tensor>;

/// Reads format 1.0 to 3.0, either byte order, C or Fortran order; S and U arrays become string tensors.
/// Throws file_error or bad_file naming the file, what was found and what was expected.
Tensor load_npy(const std::string& path);
/// Writes format 1.0, byte for byte as numpy.save. NumPy has no bfloat16: cast to float32 first.
void save_npy(const std::string& path, const Tensor& tensor);

/// The arrays by name, without ".npy". An entry that is no array becomes a string scalar of its bytes.
NamedTensors load_npz(const std::string& path);
void save_npz(const std::string& path, const NamedTensors& tensors, bool compressed = false);

/// The same from and to memory; `name` stands for the file in errors.
Tensor npy_from_bytes(std::string_view bytes, const std::string& name = "the bytes given");
std::string npy_to_bytes(const Tensor& tensor);
NamedTensors npz_from_bytes(std::string_view bytes, const std::string& name = "the bytes given");
std::string npz_to_bytes(const NamedTensors& tensors, bool compressed = false);

}  // namespace tandem
