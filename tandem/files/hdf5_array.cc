// Where the elements of an array stand: in its header, in one piece, or in chunks.
#include <zlib.h>

#include <algorithm>

#include "tandem/files/hdf5_object.h"

namespace tandem::hdf5 {
namespace {

enum Filter : std::uint16_t { kDeflate = 1, kShuffle = 2, kFletcher32 = 3 };

struct Filters {
  std::vector<std::uint16_t> ids;
};

Filters read_filters(Cursor cursor) {
  const int version = cursor.u8();
  const int count = cursor.u8();
  if (version != 1 && version != 2) cursor.refuse("version ", version, " of a list of filters");
  if (version == 1) cursor.skip(6);
  Filters filters;
  for (int i = 0; i < count; ++i) {
    const std::uint16_t id = cursor.u16();
    const std::size_t name = version == 1 || id >= 256 ? cursor.u16() : 0;
    cursor.skip(2);  // flags
    const std::size_t values = cursor.u16();
    cursor.skip(version == 1 ? (name + 7) / 8 * 8 : name);
    cursor.skip(4 * values);
    if (version == 1 && values % 2) cursor.skip(4);
    if (id != kDeflate && id != kShuffle && id != kFletcher32)
      cursor.refuse("filter number ", id, "; gzip (1), shuffle (2) and fletcher32 (3) are known");
    filters.ids.push_back(id);
  }
  return filters;
}

std::string inflated(const Image& image, std::string_view packed, std::size_t most) {
  std::string out(most, '\0');
  uLongf got = most;
  const int result = uncompress(reinterpret_cast<Bytef*>(out.data()), &got,
                                reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  if (result != Z_OK) image.refuse("a chunk is damaged: ", zError(result));
  out.resize(got);
  return out;
}

/// First the first bytes of all elements, then the second ones, and so on: back to elements.
std::string unshuffled(std::string_view bytes, std::size_t element) {
  const std::size_t count = bytes.size() / element;
  std::string out(bytes);
  for (std::size_t k = 0; k < element; ++k)
    for (std::size_t i = 0; i < count; ++i) out[i * element + k] = bytes[k * count + i];
  return out;
}

struct Chunks {
  const Image& image;
  const Filters& filters;
  Shape shape, chunk;
  std::size_t element, chunk_bytes;
  std::string& out;

  /// Undoes the filters that `mask` does not switch off.
  std::string unpack(std::string_view stored, std::uint32_t mask) const {
    std::string bytes(stored);
    for (std::size_t i = filters.ids.size(); i-- > 0;) {
      if (mask >> std::min<std::size_t>(i, 31) & 1) continue;
      const std::uint16_t id = filters.ids[i];
      if (id == kDeflate) bytes = inflated(image, bytes, chunk_bytes + 4 * i);  // checksums below it
      else if (id == kShuffle) bytes = unshuffled(bytes, element);
      else bytes.resize(bytes.size() - std::min<std::size_t>(bytes.size(), 4));
    }
    if (bytes.size() != chunk_bytes)
      image.refuse("a chunk unpacks to ", bytes.size(), " bytes where ", chunk_bytes, " were expected");
    return bytes;
  }

  /// Copies a chunk to its place, without what stands over the array's edge.
  void place(std::string_view bytes, const std::vector<std::uint64_t>& offset) const {
    const int rank = shape.rank();
    const Strides to = dense_strides(shape), from = dense_strides(chunk);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(rank));
    for (int i = 0; i < rank; ++i)
      rows[static_cast<std::size_t>(i)] =
          std::min<std::int64_t>(chunk[i], shape[i] - static_cast<std::int64_t>(offset[static_cast<std::size_t>(i)]));
    std::vector<std::int64_t> at(static_cast<std::size_t>(rank), 0);
    const std::size_t run = static_cast<std::size_t>(rows.back()) * element;
    for (;;) {
      std::int64_t target = 0, source = 0;
      for (int i = 0; i < rank; ++i) {
        const auto k = static_cast<std::size_t>(i);
        target += (static_cast<std::int64_t>(offset[k]) + at[k]) * to[k];
        source += at[k] * from[k];
      }
      std::memcpy(out.data() + static_cast<std::size_t>(target) * element,
                  bytes.data() + static_cast<std::size_t>(source) * element, run);
      int axis = rank - 2;
      while (axis >= 0 && ++at[static_cast<std::size_t>(axis)] == rows[static_cast<std::size_t>(axis)])
        at[static_cast<std::size_t>(axis--)] = 0;
      if (axis < 0) return;
    }
  }
};

/// The array as it is where nothing was written.
std::string filled(Image& image, const std::vector<Message>& messages, std::uint64_t bytes, std::size_t element) {
  image.make(bytes, "an array");
  std::string out(bytes, '\0');
  const Message* message = find(messages, kFillValue);
  if (!message || bytes == 0) return out;
  Cursor cursor = message->body;
  const int version = cursor.u8();
  bool defined;
  if (version == 3) defined = cursor.u8() & 32;
  else {
    cursor.skip(2);
    defined = cursor.u8() != 0;
  }
  const std::uint32_t size = defined || version == 1 ? cursor.u32() : 0;
  if (size != element) return out;
  const std::string_view value = cursor.take(size);
  for (std::size_t at = 0; at < bytes; at += element) std::memcpy(out.data() + at, value.data(), element);
  return out;
}

/// Sizes of a chunk; the last one stored is the element's.
Shape read_chunk_sizes(Cursor& cursor, int count, std::size_t bytes, const Shape& shape, std::size_t element) {
  if (count != shape.rank() + 1 || shape.rank() == 0)
    cursor.refuse("chunks of ", count - 1, " axes for an array of shape ", shape);
  std::vector<std::int64_t> sizes;
  std::uint64_t elements = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::uint64_t size = cursor.unsigned_of(bytes);
    if (size == 0 || size >> 32 != 0 || __builtin_mul_overflow(elements, size, &elements) || elements >> 40 != 0)
      cursor.refuse("chunks whose axis ", i, " has ", size, " elements");
    sizes.push_back(static_cast<std::int64_t>(size));
  }
  if (const std::uint64_t stored = cursor.unsigned_of(bytes); stored != element)
    cursor.refuse("elements of ", stored, " bytes in chunks where ", element, " were expected");
  return Shape(std::span<const std::int64_t>(sizes));
}

void place_chunk(Image& image, const Chunks& chunks, std::string_view stored, std::uint32_t mask,
                 const std::vector<std::uint64_t>& offset) {
  for (int i = 0; i < chunks.shape.rank(); ++i)
    if (offset[static_cast<std::size_t>(i)] >= static_cast<std::uint64_t>(chunks.shape[i]))
      image.refuse("a chunk begins at element ", offset[static_cast<std::size_t>(i)], " of axis ", i,
                   ", outside the array of shape ", chunks.shape);
  image.make(chunks.chunk_bytes, "a chunk");
  chunks.place(chunks.unpack(stored, mask), offset);
}

void read_tree_of_chunks(Image& image, const Chunks& chunks, std::uint64_t tree) {
  const auto rank = static_cast<std::size_t>(chunks.shape.rank());
  visit_tree(image, tree, TreeType::chunks, 8 + 8 * (rank + 1), [&](Cursor key, std::uint64_t address) {
    const std::uint32_t bytes = key.u32(), mask = key.u32();
    std::vector<std::uint64_t> offset;
    for (std::size_t i = 0; i < rank; ++i) offset.push_back(key.u64());
    place_chunk(image, chunks, image.at(address, bytes, "a chunk").take(bytes), mask, offset);
  });
}

struct Array {
  const std::vector<Message>& messages;
  const Datatype& type;
  Shape shape;
  std::uint64_t bytes;
};

/// `cursor` stands behind the class of the layout.
std::string read_chunks(Image& image, const Array& array, Cursor& cursor, int version) {
  constexpr std::uint8_t kSingleFiltered = 2, kSingle = 1;
  std::uint8_t flags = 0;
  std::size_t size_bytes = 4;
  std::uint64_t tree = kNowhere;
  if (version == 4) flags = cursor.u8();
  const int count = cursor.u8();
  if (version == 4) size_bytes = cursor.u8();
  else tree = cursor.u64();
  const Shape chunk = read_chunk_sizes(cursor, count, size_bytes, array.shape, array.type.size);
  const Message* pipeline = find(array.messages, kFilters);
  const Filters filters = pipeline ? read_filters(pipeline->body) : Filters{};
  std::string out = filled(image, array.messages, array.bytes, array.type.size);
  const Chunks chunks{image, filters, array.shape, chunk, array.type.size, stored_bytes(image, array.type, chunk), out};
  if (version == 3) {
    if (tree != kNowhere && array.bytes) read_tree_of_chunks(image, chunks, tree);
    return out;
  }
  if (const int index = cursor.u8(); index != kSingle)
    cursor.refuse("chunks found by an index of type ", index,
                  ", which this reader does not know; write the file with libver=\"earliest\", h5py's default");
  std::uint64_t stored = chunks.chunk_bytes;
  std::uint32_t mask = 0;
  if (flags & kSingleFiltered) {
    stored = cursor.u64();
    mask = cursor.u32();
  }
  const std::uint64_t address = cursor.u64();
  if (address == kNowhere || array.bytes == 0) return out;
  place_chunk(image, chunks, image.at(address, stored, "a chunk").take(stored), mask,
              std::vector<std::uint64_t>(static_cast<std::size_t>(array.shape.rank()), 0));
  return out;
}

}  // namespace

Tensor read_array(Image& image, GlobalHeap& heap, const std::vector<Message>& messages, const Datatype& type) {
  const Message* space = find(messages, kDataspace);
  const Message* layout = find(messages, kLayout);
  if (!space || !layout) image.refuse("an array without ", space ? "a layout" : "a shape");
  if (find(messages, kExternalFiles)) layout->body.refuse("the array's bytes are in another file");
  const Shape shape = read_dataspace(space->body).shape;
  const Array array{messages, type, shape, stored_bytes(image, type, shape)};
  Cursor cursor = layout->body;
  const int version = cursor.u8();
  if (version != 3 && version != 4) cursor.refuse("version ", version, " of a layout; 3 and 4 are known");
  enum { kCompact = 0, kContiguous = 1, kChunked = 2 };
  const int kind = cursor.u8();
  if (kind == kChunked) return decode(image, heap, type, shape, read_chunks(image, array, cursor, version));
  if (kind != kCompact && kind != kContiguous) cursor.refuse("layout of class ", kind);
  std::uint64_t address = 0, stored = 0;
  if (kind == kCompact) stored = cursor.u16();
  else {
    address = cursor.u64();
    stored = cursor.u64();
    if (address == kNowhere || array.bytes == 0)
      return decode(image, heap, type, shape, filled(image, messages, array.bytes, type.size));
  }
  if (stored < array.bytes)
    cursor.refuse("an array of shape ", shape, " needs ", array.bytes, " bytes, ", stored, " are stored");
  const std::string_view raw = kind == kCompact ? cursor.take(array.bytes)
                                                : image.at(address, array.bytes, "an array's bytes").take(array.bytes);
  return decode(image, heap, type, shape, raw);
}

}  // namespace tandem::hdf5
