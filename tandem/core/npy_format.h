// The .npy format itself: its header, and reading an array from any source of bytes. For npy.cc and npz.cc.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "tandem/core/tensor.h"

namespace tandem {

/// Where an array is read from: a file, an archive's entry, or memory.
struct ByteSource {
  std::string name;                                       // for errors
  std::uint64_t size = 0;                                 // bytes there are, known before reading
  std::function<void(char* to, std::size_t bytes)> read;  // exactly so many; throws when they do not come
};

enum class NpyKind { fixed, bytes, unicode };

struct NpyHeader {
  NpyKind kind = NpyKind::fixed;
  DType dtype = DType::f32;
  std::size_t item_bytes = 4;
  bool swapped = false;  // big-endian
  bool fortran = false;
  Shape shape;
};

/// Reads the `text` between magic and data: a Python dict literal. Throws bad_file or unsupported_dtype.
NpyHeader parse_npy_header(std::string_view text, const std::string& name);
/// What precedes the data, padded to 64 bytes.
std::string npy_header_bytes(const NpyHeader& header);
/// How `tensor` is stored.
NpyHeader npy_header_of(const Tensor& tensor);

Tensor read_npy(const ByteSource& source);
/// The elements of a string tensor, each filled up to `item_bytes`.
std::string packed_strings(const Tensor& tensor, std::size_t item_bytes);

}  // namespace tandem
