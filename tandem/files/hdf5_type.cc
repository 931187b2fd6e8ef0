#include "tandem/files/hdf5_type.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tandem::hdf5 {
namespace {

constexpr const char* kClassNames[] = {"integer",  "float",     "time",        "string",          "bit field", "opaque",
                                       "compound", "reference", "enumeration", "variable length", "array"};
enum Class { kInteger = 0, kFloat = 1, kString = 3, kOpaque = 5, kEnumeration = 8, kVariable = 9 };

Datatype read_integer(Cursor& cursor, std::uint32_t bits, std::uint32_t size) {
  const auto offset = cursor.u16(), precision = cursor.u16();
  if ((size != 1 && size != 2 && size != 4 && size != 8) || offset != 0 || precision != 8 * size)
    cursor.refuse("integers of ", precision, " bits in ", size, " bytes; 8, 16, 32 and 64 are known");
  const auto [signed_dtype, unsigned_dtype] = size == 1   ? std::pair(DType::i8, DType::u8)
                                              : size == 2 ? std::pair(DType::i16, DType::u16)
                                              : size == 4 ? std::pair(DType::i32, DType::u32)
                                                          : std::pair(DType::i64, DType::u64);
  return {.size = size, .dtype = bits & 8 ? signed_dtype : unsigned_dtype, .big_endian = (bits & 1) != 0};
}

Datatype read_float(Cursor& cursor, std::uint32_t bits, std::uint32_t size) {
  cursor.skip(2 + 2);  // offset and precision, which the rest fixes
  cursor.skip(1);      // where the exponent stands
  const int exponent = cursor.u8();
  cursor.skip(1);      // where the mantissa stands
  const int mantissa = cursor.u8();
  Datatype type{.size = size, .big_endian = (bits & 1) != 0};
  if (size == 2 && exponent == 5 && mantissa == 10) type.dtype = DType::f16;
  else if (size == 2 && exponent == 8 && mantissa == 7) type.dtype = DType::bf16;
  else if (size == 4 && exponent == 8 && mantissa == 23) type.dtype = DType::f32;
  else if (size == 8 && exponent == 11 && mantissa == 52) type.dtype = DType::f64;
  else cursor.refuse("floats of ", size, " bytes with ", exponent, " bits of exponent and ", mantissa, " of mantissa");
  return type;
}

/// h5py's bool: FALSE and TRUE as numbers 0 and 1 of one byte.
Datatype read_enumeration(Cursor& cursor, std::uint32_t bits, int version) {
  const Datatype base = read_datatype(cursor.part(12, "the base of an enumeration"));
  if ((bits & 0xFFFF) != 2 || base.size != 1) cursor.refuse("an enumeration that is not h5py's bool");
  for (const std::string_view name : {"FALSE", "TRUE"}) {
    if (cursor.text() != name) cursor.refuse("an enumeration that is not h5py's bool");
    if (version < 3) cursor.skip(7 - name.size() % 8);  // name and zero fill eight bytes
  }
  if (cursor.u8() != 0 || cursor.u8() != 1) cursor.refuse("an enumeration that is not h5py's bool");
  return {.size = 1, .dtype = DType::boolean};
}

void swap_bytes(char* bytes, std::size_t count, std::size_t size) {
  for (std::size_t i = 0; i < count; ++i) std::reverse(bytes + i * size, bytes + (i + 1) * size);
}

const Decision* loaded_decision() {
  static const Decision* decision = intern({.op = "load_hdf5", .device = "/CPU:0", .reason = ReasonCode::host_value});
  return decision;
}

Tensor decode_numbers(const Datatype& type, const Shape& shape, std::string_view raw) {
  Tensor tensor = Tensor::uninitialized({type.dtype, shape}, host_memory(), loaded_decision());
  char* to = static_cast<char*>(tensor.storage().address());
  const std::int64_t count = shape.elements();
  std::string swapped;
  if (type.big_endian && type.size > 1) {
    swapped = raw;
    swap_bytes(swapped.data(), static_cast<std::size_t>(count), type.size);
    raw = swapped;
  }
  if (!raw.empty()) std::memcpy(to, raw.data(), raw.size());
  if (type.dtype == DType::boolean)
    for (std::int64_t i = 0; i < count; ++i) to[i] = to[i] != 0;  // any other byte is no valid bool
  return tensor;
}

std::string fixed_text(std::string_view item, bool space_padded) {
  if (space_padded) return std::string(item.substr(0, item.find_last_not_of(' ') + 1));
  return std::string(item.substr(0, item.find('\0')));
}

Tensor decode_text(Image& image, GlobalHeap& heap, const Datatype& type, const Shape& shape, std::string_view raw) {
  std::vector<std::string> values;
  TANDEM_CHECK(raw.size() >= static_cast<std::uint64_t>(shape.elements()), "text of no bytes");
  image.make(static_cast<std::uint64_t>(shape.elements()) * sizeof(std::string), "text");
  values.reserve(static_cast<std::size_t>(shape.elements()));
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::string_view item = raw.substr(static_cast<std::size_t>(i) * type.size, type.size);
    if (type.kind == Kind::fixed_text) {
      values.push_back(fixed_text(item, type.space_padded));
      continue;
    }
    std::uint32_t length, index;
    std::uint64_t address;
    std::memcpy(&length, item.data(), 4);
    std::memcpy(&address, item.data() + 4, 8);
    std::memcpy(&index, item.data() + 12, 4);
    if (length == 0 || address == 0) {
      values.emplace_back();
      continue;
    }
    const std::string_view stored = heap.find(address, index);
    if (length > stored.size())
      image.refuse("a text of ", length, " bytes is stored in ", stored.size(), " bytes of the heap at byte ", address);
    image.spend(length, "text");
    values.push_back(fixed_text(stored.substr(0, length), false));
  }
  return Tensor::from_strings(std::move(values), shape);
}

}  // namespace

Datatype read_datatype(Cursor cursor) {
  const std::uint8_t first = cursor.u8();
  const int kind = first & 15, version = first >> 4;
  const auto bits = static_cast<std::uint32_t>(cursor.unsigned_of(3));
  const std::uint32_t size = cursor.u32();
  if (version < 1 || version > 4) cursor.refuse("version ", version, " of a datatype");
  switch (kind) {
    case kInteger: return read_integer(cursor, bits, size);
    case kFloat: return read_float(cursor, bits, size);
    case kEnumeration: return read_enumeration(cursor, bits, version);
    case kString:
      if (size == 0) cursor.refuse("text of no bytes");
      return {.kind = Kind::fixed_text, .size = size, .dtype = DType::string, .space_padded = (bits & 15) == 2};
    case kOpaque:
      if (size == 2) return {.kind = Kind::opaque, .size = 2, .dtype = DType::bf16};  // Keras' bfloat16
      cursor.refuse("opaque elements of ", size, " bytes");
    case kVariable:
      if ((bits & 15) == 1 && size == kTextReferenceBytes)
        return {.kind = Kind::variable_text, .size = size, .dtype = DType::string};
      cursor.refuse("sequences of variable length; only text may be");
    default:
      cursor.refuse("elements of class ", kind <= 10 ? kClassNames[kind] : "unknown",
                    "; floats, integers, bools and text are known");
  }
}

std::string datatype_bytes(DType dtype) {
  using namespace std::string_literals;
  const std::string byte = "\x10\x08\0\0\x01\0\0\0\0\0\x08\0"s;
  switch (dtype) {
    case DType::f16: return "\x11\x20\x0f\0\x02\0\0\0\0\0\x10\0\x0a\x05\0\x0a\x0f\0\0\0"s;
    case DType::f32: return "\x11\x20\x1f\0\x04\0\0\0\0\0\x20\0\x17\x08\0\x17\x7f\0\0\0"s;
    case DType::f64: return "\x11\x20\x3f\0\x08\0\0\0\0\0\x40\0\x34\x0b\0\x34\xff\x03\0\0"s;
    case DType::bf16: return "\x15\x08\0\0\x02\0\0\0\0\0\0\0\0\0\0\0"s;  // opaque, as Keras has it
    case DType::i8: return byte;
    case DType::u8: return "\x10\0\0\0\x01\0\0\0\0\0\x08\0"s;
    case DType::i32: return "\x10\x08\0\0\x04\0\0\0\0\0\x20\0"s;
    case DType::i64: return "\x10\x08\0\0\x08\0\0\0\0\0\x40\0"s;
    case DType::i16: return "\x10\x08\0\0\x02\0\0\0\0\0\x10\0"s;
    case DType::u16: return "\x10\0\0\0\x02\0\0\0\0\0\x10\0"s;
    case DType::u32: return "\x10\0\0\0\x04\0\0\0\0\0\x20\0"s;
    case DType::u64: return "\x10\0\0\0\x08\0\0\0\0\0\x40\0"s;
    case DType::boolean: return "\x18\x02\0\0\x01\0\0\0"s + byte + "FALSE\0\0\0TRUE\0\0\0\0\0\x01"s;
    case DType::string: return "\x19\x01\x01\0\x10\0\0\0\x10\0\0\0\x01\0\0\0\0\0\x08\0"s;
  }
  return {};
}

Dataspace read_dataspace(Cursor cursor) {
  const int version = cursor.u8(), rank = cursor.u8();
  cursor.skip(1);  // whether largest sizes follow; they do not matter
  Dataspace space;
  if (version == 1) cursor.skip(5);
  else if (version == 2) space.null = cursor.u8() == 2;
  else cursor.refuse("version ", version, " of a dataspace");
  if (rank > kMaxRank) cursor.refuse("an array of ", rank, " axes; at most ", kMaxRank, " are possible");
  std::vector<std::int64_t> sizes;
  std::uint64_t elements = 1;
  for (int i = 0; i < rank; ++i) {
    const std::uint64_t size = cursor.u64();
    if (__builtin_mul_overflow(elements, std::max<std::uint64_t>(size, 1), &elements) || elements >> 62 != 0)
      cursor.refuse("axis ", i, " has ", size, " elements, more than any array can have");
    sizes.push_back(static_cast<std::int64_t>(size));
  }
  space.shape = space.null ? Shape{0} : Shape(std::span<const std::int64_t>(sizes));
  return space;
}

std::string dataspace_bytes(const Shape& shape) {
  std::string out{'\1', static_cast<char>(shape.rank()), '\0', '\0', '\0', '\0', '\0', '\0'};
  for (const std::int64_t size : shape) out.append(reinterpret_cast<const char*>(&size), sizeof size);
  return out;
}

std::string_view GlobalHeap::find(std::uint64_t address, std::uint32_t index) {
  auto known = collections_.find(address);
  if (known == collections_.end()) known = collections_.emplace(address, read(address)).first;
  const auto object = known->second.find(index);
  if (object == known->second.end()) image_.refuse("the heap at byte ", address, " has no object ", index);
  return object->second;
}

GlobalHeap::Collection GlobalHeap::read(std::uint64_t address) {
  constexpr const char* kWhat = "the global heap";
  Cursor head = image_.at(address, 16, kWhat);
  if (head.take(4) != "GCOL" || head.u8() != 1) head.refuse("it does not begin as one");
  head.skip(3);
  const std::uint64_t size = head.u64();
  if (size < 16) head.refuse("a size of ", size);
  Cursor cursor = image_.at(address, size, kWhat);
  cursor.skip(16);
  Collection objects;
  while (cursor.left() >= 16) {
    const std::uint32_t index = cursor.u16();
    cursor.skip(2 + 4);  // references, reserved
    const std::uint64_t bytes = cursor.u64();
    if (index == 0) break;  // the free rest
    objects.emplace(index, cursor.take(bytes));
    cursor.skip(std::min<std::uint64_t>((8 - bytes % 8) % 8, cursor.left()));
  }
  return objects;
}

std::uint64_t stored_bytes(const Image& image, const Datatype& type, const Shape& shape) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(shape.elements()), type.size, &bytes))
    image.refuse("an array of shape ", shape, " with ", type.size, " bytes an element is larger than any file");
  return bytes;
}

Tensor decode(Image& image, GlobalHeap& heap, const Datatype& type, const Shape& shape, std::string_view raw) {
  TANDEM_CHECK(raw.size() == stored_bytes(image, type, shape), "an array's bytes do not fit its shape");
  static_assert(std::endian::native == std::endian::little, "numbers are stored with the lowest byte first");
  if (type.kind == Kind::fixed_text || type.kind == Kind::variable_text)
    return decode_text(image, heap, type, shape, raw);
  return decode_numbers(type, shape, raw);
}

}  // namespace tandem::hdf5
