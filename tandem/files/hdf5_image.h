// The bytes of an HDF5 file, and the only ways to look at them: every place and length is checked, and what is read
// in all is bounded, so that structures which contain themselves end.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "tandem/base/error.h"
#include "tandem/files/unpack_limit.h"

namespace tandem::hdf5 {

inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0};  // the address of what is not stored

class Image;

/// Reads little-endian numbers one after the other from a part of the file.
class Cursor {
 public:
  Cursor(const Image& image, std::string_view bytes, std::uint64_t address, const char* what)
      : image_(&image),
        bytes_(bytes),
        address_(address),
        what_(what) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(take(1)[0]); }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  /// A number of `bytes` bytes, at most eight.
  std::uint64_t unsigned_of(std::size_t bytes);
  std::string_view take(std::uint64_t count);
  void skip(std::uint64_t count) { take(count); }
  /// To a multiple of `step` counted from where the cursor began.
  void align(std::size_t step);
  /// A part as a cursor of its own.
  Cursor part(std::uint64_t count, const char* what);
  /// The text up to a zero byte, which is passed.
  std::string_view text();

  std::size_t left() const { return bytes_.size() - at_; }
  std::uint64_t address() const { return address_ + at_; }
  const char* what() const { return what_; }
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const;

 private:
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  const Image* image_;
  std::string_view bytes_;
  std::uint64_t address_;
  const char* what_;
  std::size_t at_ = 0;
};

class Image {
 public:
  Image(std::string_view bytes, std::string name)
      : bytes_(bytes),
        name_(std::move(name)),
        left_(4 * bytes.size() + (1 << 16)),
        made_(name_, bytes.size(), kAlways) {}

  /// `size` bytes from `address` on, which a file without tricks asks for once or twice.
  Cursor at(std::uint64_t address, std::uint64_t size, const char* what);
  /// Counts bytes that a file without tricks asks for once.
  void spend(std::uint64_t bytes, const char* what);
  /// Counts bytes that are about to be allocated and are not in the file as they are.
  void make(std::uint64_t bytes, const char* what) { made_.spend(bytes, what); }

  std::uint64_t size() const { return bytes_.size(); }
  const std::string& name() const { return name_; }
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(ErrorCode::bad_file, name_, ": ", parts...);
  }

 private:
  static constexpr std::uint64_t kAlways = 32 << 20;  // what a small file may unpack to; Keras packs nothing

  std::string_view bytes_;
  std::string name_;
  std::uint64_t left_;
  UnpackLimit made_;
};

template <class... Parts>
void Cursor::refuse(const Parts&... parts) const {
  image_->refuse(what_, " at byte ", address_, ": ", parts...);
}

}  // namespace tandem::hdf5
