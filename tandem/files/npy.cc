#include "tandem/files/npy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tandem/files/npy_format.h"
#include "tandem/core/print.h"

namespace tandem {
namespace {

constexpr std::size_t kMagicBytes = 8;
constexpr std::uint32_t kMaxHeader = 1 << 20;  // NumPy itself trusts 10,000

std::string read_header_text(const ByteSource& source, std::uint64_t& consumed) {
  char start[kMagicBytes + 4];
  if (source.size < kMagicBytes + 2)
    fail(ErrorCode::bad_file, source.name, " has ", source.size, " bytes, too few for a NumPy array");
  source.read(start, kMagicBytes);
  if (std::memcmp(start, "\x93NUMPY", 6) != 0)
    fail(ErrorCode::bad_file, source.name, " does not begin as a NumPy array: found ", bytes_repr({start, 6}),
         ", expected b'\\x93NUMPY'");
  const int major = static_cast<unsigned char>(start[6]);
  if (major < 1 || major > 3)
    fail(ErrorCode::bad_file, source.name, " has NumPy format version ", major, ", expected 1, 2 or 3");
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  if (source.size < kMagicBytes + length_bytes)
    fail(ErrorCode::bad_file, source.name, " ends inside its header, after ", source.size, " bytes");
  source.read(start + kMagicBytes, length_bytes);
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(start[kMagicBytes + i])) << (8 * i);
  consumed = kMagicBytes + length_bytes + length;
  if (length > kMaxHeader || consumed > source.size)
    fail(ErrorCode::bad_file, source.name, ": the header claims ", length, " bytes; ",
         source.size - kMagicBytes - length_bytes, " follow, and at most ", kMaxHeader, " are accepted");
  std::string text(length, '\0');
  source.read(text.data(), length);
  return text;
}

void swap_bytes(char* data, std::size_t bytes, std::size_t item) {
  if (item < 2) return;
  for (char* at = data; at < data + bytes; at += item) std::reverse(at, at + item);
}

/// Element numbers in C order, as they lie in a Fortran-ordered file.
std::vector<std::size_t> fortran_order(const Shape& shape) {
  std::vector<std::size_t> out;
  out.reserve(static_cast<std::size_t>(shape.elements()));
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t n = 0; n < shape.elements(); ++n) {
    std::int64_t at = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) at = at * shape[axis] + index[static_cast<std::size_t>(axis)];
    out.push_back(static_cast<std::size_t>(at));
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++index[static_cast<std::size_t>(axis)] < shape[axis]) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
  }
  return out;
}

void append_utf8(std::string& out, std::uint32_t code, const std::string& name) {
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
    fail(ErrorCode::bad_file, name, ": ", code, " is no Unicode character");
  auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) put(0xC0 | code >> 6);
  else if (code < 0x10000) put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F));
  else put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F)), put(0x80 | (code >> 6 & 0x3F));
  put(0x80 | (code & 0x3F));
}

std::string unpacked_string(const char* item, const NpyHeader& header, const std::string& name) {
  std::string out;
  std::size_t used = header.item_bytes;
  if (header.kind == NpyKind::bytes) {
    while (used > 0 && item[used - 1] == '\0') --used;
    return {item, used};
  }
  for (; used > 0; used -= 4)  // trailing zeros fill the item up
    if (std::any_of(item + used - 4, item + used, [](char c) { return c != '\0'; })) break;
  for (std::size_t i = 0; i < used; i += 4) {
    std::uint32_t code;
    std::memcpy(&code, item + i, 4);
    append_utf8(out, code, name);
  }
  return out;
}

Tensor read_strings(const ByteSource& source, const NpyHeader& header, std::size_t bytes) {
  std::string data(bytes, '\0');
  source.read(data.data(), bytes);
  if (header.swapped) swap_bytes(data.data(), bytes, header.kind == NpyKind::unicode ? 4 : 1);
  std::vector<std::string> values;
  values.reserve(static_cast<std::size_t>(header.shape.elements()));
  const bool reorder = header.fortran && header.shape.rank() > 1;
  const std::vector<std::size_t> order = reorder ? fortran_order(header.shape) : std::vector<std::size_t>{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(header.shape.elements()); ++i)
    values.push_back(unpacked_string(data.data() + (reorder ? order[i] : i) * header.item_bytes, header, source.name));
  return Tensor::from_strings(std::move(values), header.shape);
}

const Decision* loaded_decision() {
  static const Decision* decision = intern({.op = "load_npy", .device = "/CPU:0", .reason = ReasonCode::host_value});
  return decision;
}

Tensor read_numbers(const ByteSource& source, const NpyHeader& header, std::size_t bytes) {
  Tensor tensor = Tensor::uninitialized({header.dtype, header.shape}, host_memory(), loaded_decision());
  char* out = static_cast<char*>(tensor.impl()->storage->address());
  const std::size_t item = header.item_bytes;
  if (header.fortran && header.shape.rank() > 1) {
    std::string data(bytes, '\0');
    source.read(data.data(), bytes);
    char* to = out;
    for (std::size_t from : fortran_order(header.shape)) {
      std::memcpy(to, data.data() + from * item, item);
      to += item;
    }
  } else if (bytes) {
    source.read(out, bytes);
  }
  if (header.swapped) swap_bytes(out, bytes, item);
  if (header.dtype == DType::boolean)
    for (std::size_t i = 0; i < bytes; ++i) out[i] = out[i] != 0;  // any other byte is no valid bool
  return tensor;
}

}  // namespace

NpyPlace find_npy(const ByteSource& source) {
  std::uint64_t consumed = 0;
  const std::string text = read_header_text(source, consumed);
  const NpyHeader header = parse_npy_header(text, source.name);
  const std::uint64_t present = source.size - consumed;
  std::uint64_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(static_cast<std::uint64_t>(header.shape.elements()),
                                                static_cast<std::uint64_t>(header.item_bytes), &bytes);
  // A string tensor keeps an object an element, even of none or few bytes: as many as the file has bytes at
  // most.
  const bool too_many =
      header.kind != NpyKind::fixed && static_cast<std::uint64_t>(header.shape.elements()) > source.size;
  if (overflows || bytes > present || too_many)
    fail(ErrorCode::bad_file, source.name, ": the header promises shape ", header.shape, " with ", header.item_bytes,
         " bytes an element, but only ", present, " bytes of data are there");
  return {header, consumed, bytes};
}

Tensor read_npy(const ByteSource& source) {
  const auto [header, offset, bytes] = find_npy(source);
  return header.kind != NpyKind::fixed ? read_strings(source, header, bytes) : read_numbers(source, header, bytes);
}

std::string packed_strings(const Tensor& tensor, std::size_t item_bytes) {
  std::string out;
  for (const std::string& value : tensor.strings()) {
    out += value;
    out.append(item_bytes - value.size(), '\0');
  }
  return out;
}

ByteSource byte_source(std::string_view bytes, const std::string& name) {
  return {
      .name = name, .size = bytes.size(), .read = [bytes, at = std::size_t{0}](char* to, std::size_t count) mutable {
        TANDEM_CHECK(count <= bytes.size() - at, "read beyond the bytes given");
        std::memcpy(to, bytes.data() + at, count);
        at += count;
      }};
}

Tensor npy_from_bytes(std::string_view bytes, const std::string& name) { return read_npy(byte_source(bytes, name)); }

std::string npy_to_bytes(const Tensor& tensor) {
  const NpyHeader header = npy_header_of(tensor);
  std::string out = npy_header_bytes(header);
  if (header.kind == NpyKind::bytes) return out + packed_strings(tensor, header.item_bytes);
  return out.append(static_cast<const char*>(tensor.raw_data()), tensor.spec().bytes());
}

Tensor load_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file) fail(ErrorCode::file_error, "cannot open ", path, ": ", std::strerror(errno));
  if (!std::filesystem::is_regular_file(path, error)) fail(ErrorCode::file_error, path, " is not a regular file");
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) fail(ErrorCode::file_error, "cannot read ", path, ": ", error.message());
  return read_npy({.name = path, .size = size, .read = [&](char* to, std::size_t count) {
                     if (!file.read(to, static_cast<std::streamsize>(count)))
                       fail(ErrorCode::file_error, "cannot read ", count, " bytes of ", path, ": got ", file.gcount());
                   }});
}

void save_npy(const std::string& path, const Tensor& tensor) {
  const NpyHeader header = npy_header_of(tensor);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) fail(ErrorCode::file_error, "cannot write ", path, ": ", std::strerror(errno));
  file << npy_header_bytes(header);
  if (header.kind == NpyKind::bytes) file << packed_strings(tensor, header.item_bytes);
  else file.write(static_cast<const char*>(tensor.raw_data()), static_cast<std::streamsize>(tensor.spec().bytes()));
  file.close();
  if (!file) fail(ErrorCode::file_error, "cannot write ", path, ": ", std::strerror(errno), "; the file is incomplete");
}

}  // namespace tandem
