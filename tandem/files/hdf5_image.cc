#include "tandem/files/hdf5_image.h"

namespace tandem::hdf5 {

std::uint64_t Cursor::unsigned_of(std::size_t bytes) {
  if (bytes > 8) refuse("a number of ", bytes, " bytes");
  std::uint64_t value = 0;
  std::memcpy(&value, take(bytes).data(), bytes);
  return value;
}

std::string_view Cursor::take(std::uint64_t count) {
  if (count > left()) refuse(count, " bytes are needed from byte ", address(), " on, ", left(), " are there");
  const std::string_view part = bytes_.substr(at_, count);
  at_ += count;
  return part;
}

void Cursor::align(std::size_t step) { skip((step - at_ % step) % step); }

Cursor Cursor::part(std::uint64_t count, const char* what) {
  const std::uint64_t from = address();
  return {*image_, take(count), from, what};
}

std::string_view Cursor::text() {
  const std::size_t length = bytes_.substr(at_).find('\0');
  if (length == std::string_view::npos) refuse("a name from byte ", address(), " on has no end");
  const std::string_view found = take(length);
  skip(1);
  return found;
}

Cursor Image::at(std::uint64_t address, std::uint64_t size, const char* what) {
  if (address > bytes_.size() || size > bytes_.size() - address)
    refuse(what, " should be at byte ", address, " and have ", size, " bytes, but the file has ", bytes_.size(),
           "; it is truncated or damaged");
  spend(size, what);
  return {*this, bytes_.substr(address, size), address, what};
}

void Image::spend(std::uint64_t bytes, const char* what) {
  bytes += 8;  // so that empty parts come to an end too
  if (bytes > left_) refuse(what, ": the file refers to its own parts over and over");
  left_ -= bytes;
}

}  // namespace tandem::hdf5
