#include "tandem/data/byte_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "tandem/base/error.h"

namespace tandem::data {

Compression parse_compression(std::string_view name) {
  if (name.empty()) return Compression::none;
  if (name == "GZIP") return Compression::gzip;
  if (name == "ZLIB") return Compression::zlib;
  fail(ErrorCode::invalid_argument, "compression_type must be \"\", \"GZIP\" or \"ZLIB\", got \"", name, "\"");
}

/// The packed bytes and the state of unpacking them.
struct ByteFile::Source {
  std::FILE* file = nullptr;
  std::string_view memory;
  bool packed = false;
  z_stream stream{};
  bool stream_ended = false;
  std::vector<unsigned char> input = {};  // packed bytes on their way
  std::size_t piece = 1 << 12;

  ~Source() {
    if (file) std::fclose(file);
    if (packed) inflateEnd(&stream);
  }

  void unpack(Compression compression) {
    if (compression == Compression::none) return;
    const int window = compression == Compression::gzip ? 15 + 16 : 15;
    TANDEM_CHECK(inflateInit2(&stream, window) == Z_OK, "zlib cannot start");
    packed = true;
    input.resize(file ? 1 << 16 : std::clamp<std::size_t>(memory.size(), 1, 1 << 16));
  }

  /// How much room to make for the next bytes: little for a small file, and no more than are there where that is known.
  std::size_t next_piece() {
    constexpr std::size_t kLargest = 1 << 18;
    const std::size_t size = std::exchange(piece, std::min(2 * piece, kLargest));
    return packed || file ? size : std::min(memory.size(), size);
  }

  std::size_t read_raw(void* to, std::size_t most, const std::string& path) {
    if (!file) {
      const std::size_t count = std::min(most, memory.size());
      std::memcpy(to, memory.data(), count);
      memory.remove_prefix(count);
      return count;
    }
    const std::size_t count = std::fread(to, 1, most, file);
    if (count < most && std::ferror(file))
      fail(ErrorCode::file_error, path, ": cannot be read: ", std::strerror(errno));
    return count;
  }

  std::size_t read(char* to, std::size_t most, const std::string& path) {
    if (!packed) return read_raw(to, most, path);
    stream.next_out = reinterpret_cast<unsigned char*>(to);
    stream.avail_out = static_cast<unsigned>(most);
    while (stream.avail_out == most) {
      if (stream.avail_in == 0) {
        stream.next_in = input.data();
        stream.avail_in = static_cast<unsigned>(read_raw(input.data(), input.size(), path));
        if (stream.avail_in == 0) {
          if (!stream_ended) fail(ErrorCode::bad_file, path, ": the compressed data ends early");
          return 0;
        }
      }
      if (stream_ended) {  // another member follows, as in files that were joined
        inflateReset(&stream);
        stream_ended = false;
      }
      const int result = inflate(&stream, Z_NO_FLUSH);
      if (result == Z_STREAM_END) stream_ended = true;
      else if (result != Z_OK && result != Z_BUF_ERROR)
        fail(ErrorCode::bad_file, path, ": the compressed data is damaged, or not compressed this way: ",
             stream.msg ? stream.msg : "unknown format");
    }
    return most - stream.avail_out;
  }
};

ByteFile::ByteFile(std::string path, Compression compression)
    : path_(std::move(path)),
      source_(std::make_unique<Source>()) {
  source_->file = std::fopen(path_.c_str(), "rb");
  if (!source_->file) fail(ErrorCode::file_error, path_, ": cannot be opened: ", std::strerror(errno));
  source_->unpack(compression);
}

ByteFile::ByteFile(std::string_view bytes, std::string name, Compression compression)
    : path_(std::move(name)),
      source_(std::make_unique<Source>()) {
  source_->memory = bytes;
  source_->unpack(compression);
}

ByteFile::~ByteFile() = default;
ByteFile::ByteFile(ByteFile&&) noexcept = default;

void ByteFile::fill(std::size_t count) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  while (!ended_ && buffer_.size() < count) {
    // A length that a damaged file claims is not believed: the buffer grows with the bytes that are there.
    const std::size_t before = buffer_.size(), piece = source_->next_piece();
    buffer_.resize(before + piece);
    const std::size_t got = source_->read(buffer_.data() + before, piece, path_);
    buffer_.resize(before + got);
    ended_ = got == 0;
  }
}

std::string_view ByteFile::peek(std::size_t count) {
  if (buffer_.size() - begin_ < count && !ended_) fill(count);
  return std::string_view(buffer_).substr(begin_);
}

void ByteFile::skip(std::size_t count) {
  begin_ += count;
  offset_ += count;
}

}  // namespace tandem::data
