// A file's bytes mapped into memory: read by the page, when they are used, and shared with the system's cache.
#pragma once
#include <string>
#include <string_view>

namespace tandem {

class MappedFile {
 public:
  /// Throws file_error when it cannot be opened or is no regular file.
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(address_), size_}; }
  const std::string& path() const { return path_; }
  /// Throws file_error when the file was cut off since: reading beyond its end would end the process.
  void check_size() const;

 private:
  std::string path_;
  int file_ = -1;
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tandem
