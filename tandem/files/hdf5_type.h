// How the elements of HDF5 arrays are stored, and their way to and from tensors.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tandem/core/tensor.h"
#include "tandem/files/hdf5_image.h"

namespace tandem::hdf5 {

enum class Kind { number, fixed_text, variable_text, opaque };

struct Datatype {
  Kind kind = Kind::number;
  std::size_t size = 4;         // bytes of an element in the file
  DType dtype = DType::f32;     // what it becomes
  bool big_endian = false;
  bool space_padded = false;    // of fixed text; else it ends at a zero
};
Datatype read_datatype(Cursor cursor);
/// As h5py writes it. Text is of variable length.
std::string datatype_bytes(DType dtype);
inline constexpr std::size_t kTextReferenceBytes =
    16;  // length, heap, index: what stands for a text of variable length

/// The sizes of an array; `null`: there is not even one element.
struct Dataspace {
  Shape shape;
  bool null = false;
};
Dataspace read_dataspace(Cursor cursor);
std::string dataspace_bytes(const Shape& shape);

/// The texts of variable length, which stand in collections anywhere in the file.
class GlobalHeap {
 public:
  explicit GlobalHeap(Image& image) : image_(image) {}
  std::string_view find(std::uint64_t address, std::uint32_t index);

 private:
  using Collection = std::map<std::uint32_t, std::string_view>;
  Collection read(std::uint64_t address);
  Image& image_;
  std::map<std::uint64_t, Collection> collections_;
};

/// A tensor of stored elements; `raw` has exactly as many bytes as they take.
Tensor decode(Image& image, GlobalHeap& heap, const Datatype& type, const Shape& shape, std::string_view raw);
/// Bytes that the elements take in the file; throws when that is no number.
std::uint64_t stored_bytes(const Image& image, const Datatype& type, const Shape& shape);

}  // namespace tandem::hdf5
