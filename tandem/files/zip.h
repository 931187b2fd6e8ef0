// Zip archives: read entry by entry, written as a whole.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/files/byte_source.h"

namespace tandem {

class ZipReader {
 public:
  /// Throws file_error when it cannot be opened, bad_file when it is no archive.
  explicit ZipReader(const std::string& path);
  /// Of bytes that outlive the reader; `name` stands for the file in errors.
  ZipReader(std::string_view bytes, std::string name);
  ~ZipReader();

  /// The entries' names in the archive's order; no two are the same.
  const std::vector<std::string>& entries() const { return entries_; }
  /// Gives the bytes of an entry, stored or deflated, to `use`, then compares the checksum.
  void read(std::size_t entry, const std::function<void(const ByteSource&)>& use) const;
  std::uint64_t archive_bytes() const { return bytes_; }

 private:
  struct Archive;
  void list();
  std::string name_;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<Archive> archive_;
  std::vector<std::string> entries_;
};

/// Entries by name.
using ZipEntries = std::map<std::string, std::string>;

/// All entries; throws bad_file when they would unpack to more than UnpackLimit lets them.
ZipEntries load_zip(const std::string& path);
ZipEntries zip_from_bytes(std::string_view bytes, const std::string& name = "the bytes given");

std::string zip_to_bytes(const ZipEntries& entries, bool compressed = false);

}  // namespace tandem
