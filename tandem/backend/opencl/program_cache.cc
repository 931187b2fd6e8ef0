#include "tandem/backend/opencl/program_cache.h"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>

#include "tandem/base/cache_folder.h"
#include "tandem/base/environment.h"
#include "tandem/base/fault.h"
#include "tandem/base/hash.h"
#include "tandem/base/text.h"

namespace tandem::opencl {
namespace {

namespace fs = std::filesystem;

std::uint64_t hash_bytes(const void* data, std::size_t size, std::uint64_t seed) {
  std::uint64_t hash = mix(seed, size);
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t at = 0; at < size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min<std::size_t>(8, size - at));
    hash = mix(hash, word);
  }
  return hash;
}

/// The head of a file; the binary follows.
struct Header {
  char magic[8] = {'T', 'F', 'O', 'C', 'L', '0', '0', '1'};
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;
};

}  // namespace

fs::path ProgramCache::default_folder() {
  if (!environment_switch("TANDEM_PROGRAM_CACHE").value_or(true)) return {};
  return cache_folder("opencl");
}

std::optional<ProgramCache::Bytes> ProgramCache::load(const std::string& key) const {
  if (!enabled()) return {};
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path_of(key), error);
  if (error) return {};
  std::ifstream file(path_of(key), std::ios::binary);
  Header header;
  const Header expected;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header))) return {};
  if (std::memcmp(header.magic, expected.magic, sizeof(header.magic)) != 0 || header.size != size - sizeof(header))
    return {};
  Bytes binary(header.size);
  if (!file.read(reinterpret_cast<char*>(binary.data()), static_cast<std::streamsize>(header.size))) return {};
  if (fault(Fault::cache_read) && !binary.empty()) binary[0] ^= 1;
  if (hash_bytes(binary.data(), binary.size(), 1) != header.checksum) return {};
  return binary;
}

void ProgramCache::store(const std::string& key, const Bytes& binary) const {
  if (!enabled()) return;
  static std::atomic<unsigned> counter{0};
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  const fs::path temporary = folder_ / text(key, ".", ::getpid(), ".", counter++, ".tmp");
  Header header;
  header.size = binary.size();
  header.checksum = hash_bytes(binary.data(), binary.size(), 1);
  bool written = false;
  {
    std::ofstream file(temporary, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof(header));
    file.write(reinterpret_cast<const char*>(binary.data()), static_cast<std::streamsize>(binary.size()));
    written = static_cast<bool>(file.flush()) && !fault(Fault::cache_write);
  }
  if (written) fs::rename(temporary, path_of(key), ignored);
  if (!written || ignored) fs::remove(temporary, ignored);
}

std::string program_key(const std::vector<std::string>& parts) {
  std::uint64_t low = 1, high = 2;
  for (const std::string& part : parts) {
    low = hash_bytes(part.data(), part.size(), low);
    high = hash_bytes(part.data(), part.size(), high ^ 0x5851F42D4C957F2Dull);
  }
  char digits[33];
  std::snprintf(digits, sizeof(digits), "%016llx%016llx", static_cast<unsigned long long>(low),
                static_cast<unsigned long long>(high));
  return digits;
}

}  // namespace tandem::opencl
