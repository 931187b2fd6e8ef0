// Bytes of a file in order, as they are or unpacked from gzip or zlib.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tandem::data {

enum class Compression : std::uint8_t { none, gzip, zlib };
/// TensorFlow's names: "", "GZIP", "ZLIB"; throws invalid_argument for others.
Compression parse_compression(std::string_view name);

class ByteFile {
 public:
  /// Throws file_error when it cannot be opened.
  ByteFile(std::string path, Compression compression);
  /// Unpacks bytes at hand; `name` stands for the file in errors.
  ByteFile(std::string_view bytes, std::string name, Compression compression);
  ~ByteFile();
  ByteFile(ByteFile&&) noexcept;

  /// The next bytes, at least `count` of them unless the file ends before; valid until the next call.
  std::string_view peek(std::size_t count);
  void skip(std::size_t count);
  /// Where the next byte stands in the unpacked file.
  std::uint64_t offset() const { return offset_; }
  const std::string& path() const { return path_; }

 private:
  struct Source;
  void fill(std::size_t count);
  std::string path_;
  std::unique_ptr<Source> source_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
};

}  // namespace tandem::data
