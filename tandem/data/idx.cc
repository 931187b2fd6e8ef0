#include "tandem/data/idx.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "tandem/data/byte_file.h"
#include "tandem/data/rows.h"

namespace tandem {
namespace {

std::uint32_t big_endian(const char* bytes) {
  std::uint32_t value;
  std::memcpy(&value, bytes, 4);
  return __builtin_bswap32(value);
}

DType dtype_of_code(unsigned char code, const std::string& name) {
  switch (code) {
    case 0x08: return DType::u8;
    case 0x09: return DType::i8;
    case 0x0B: return DType::i16;
    case 0x0C: return DType::i32;
    case 0x0D: return DType::f32;
    case 0x0E: return DType::f64;
    default:
      fail(ErrorCode::bad_file, name, ": IDX type ", int{code},
           " is not known; 8 (uint8), 9 (int8), 11 (int16), 12 (int32), 13 (float32) and 14 (float64) are");
  }
}

}  // namespace

Tensor idx_from_bytes(std::string_view bytes, const std::string& name) {
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0)
    fail(ErrorCode::bad_file, name, ": not an IDX file: its magic number must begin with two zero bytes");
  const DType dtype = dtype_of_code(static_cast<unsigned char>(bytes[2]), name);
  const auto rank = static_cast<unsigned char>(bytes[3]);
  if (rank > kMaxRank - 1)
    fail(ErrorCode::bad_file, name, ": ", int{rank}, " axes; at most ", kMaxRank - 1, " can be read");
  const std::size_t header = 4 + std::size_t{rank} * 4;
  if (bytes.size() < header) fail(ErrorCode::bad_file, name, ": the header ends early");
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < rank; ++i) sizes.push_back(big_endian(bytes.data() + 4 + i * 4));
  const TensorSpec spec{dtype, Shape(std::span<const std::int64_t>(sizes))};
  if (bytes.size() - header != spec.bytes())
    fail(ErrorCode::bad_file, name, ": the header says ", spec, ", which needs ", spec.bytes(), " bytes; ",
         bytes.size() - header, " follow");
  data::Fresh out = data::fresh(spec);
  if (spec.bytes() == 0) return out.tensor;
  std::memcpy(out.bytes, bytes.data() + header, spec.bytes());
  const std::size_t size = dtype_size(dtype);
  if constexpr (std::endian::native == std::endian::little)
    for (std::size_t at = 0; size > 1 && at < spec.bytes(); at += size)
      std::reverse(out.bytes + at, out.bytes + at + size);
  return out.tensor;
}

Tensor load_idx(const std::string& path) {
  data::ByteFile file(path, path.ends_with(".gz") ? data::Compression::gzip : data::Compression::none);
  return idx_from_bytes(file.peek(~std::size_t{0} / 2), path);
}

}  // namespace tandem
