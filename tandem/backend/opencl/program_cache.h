// Compiled programs on disk, so that a second process compiles nothing.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tandem::opencl {

/// One file an entry. Written to a temporary name and renamed, so that other processes see all of it or nothing;
/// an entry whose checksum is wrong counts as missing.
class ProgramCache {
 public:
  /// cache_folder("opencl"); none with TANDEM_PROGRAM_CACHE=0.
  static std::filesystem::path default_folder();

  explicit ProgramCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// False: nothing is kept. A driver may compile a program once more to hand it out, which short runs need not pay.
  bool enabled() const { return !folder_.empty(); }

  using Bytes = std::vector<unsigned char>;
  std::optional<Bytes> load(const std::string& key) const;
  /// A disk that cannot be written to costs speed, not results: failures are silent.
  void store(const std::string& key, const Bytes& binary) const;
  std::filesystem::path path_of(const std::string& key) const { return folder_ / (key + ".bin"); }

 private:
  std::filesystem::path folder_;
};

/// 32 hexadecimal digits for everything that decides what a compiled program is.
std::string program_key(const std::vector<std::string>& parts);

}  // namespace tandem::opencl
