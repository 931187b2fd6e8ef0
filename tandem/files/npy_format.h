// The .npy format itself: its header, and reading an array from any source of bytes. For npy.cc and npz.cc.
#pragma once
#include <string>

#include "tandem/core/tensor.h"
#include "tandem/files/byte_source.h"

namespace tandem {

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

/// Where the elements lie: what the header says, checked against what is there.
struct NpyPlace {
  NpyHeader header;
  std::uint64_t offset = 0, bytes = 0;
};
NpyPlace find_npy(const ByteSource& source);
Tensor read_npy(const ByteSource& source);
/// A source over bytes at hand, which must outlive it.
ByteSource byte_source(std::string_view bytes, const std::string& name);
/// The elements of a string tensor, each filled up to `item_bytes`.
std::string packed_strings(const Tensor& tensor, std::size_t item_bytes);

}  // namespace tandem
