#include "tandem/files/zip_places.h"

#include <algorithm>
#include <cstring>

#include "tandem/base/error.h"

namespace tandem {
namespace {

constexpr std::string_view kEnd{"PK\5\6"}, kEnd64{"PK\6\6"}, kLocator64{"PK\6\7"}, kEntry{"PK\1\2"}, kLocal{"PK\3\4"};
constexpr std::size_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kEntryBytes = 46, kLocalBytes = 30;
constexpr std::uint32_t kSeeElsewhere = 0xFFFFFFFF;  // the number is in the entry's extra field, for large archives

/// Little-endian numbers and pieces; every read is checked.
class Bytes {
 public:
  Bytes(std::string_view all, const std::string& name) : all_(all), name_(name) {}

  template <class T>
  T number(std::uint64_t at) const {
    T value;
    std::memcpy(&value, piece(at, sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view piece(std::uint64_t at, std::uint64_t count) const {
    if (at > all_.size() || count > all_.size() - at)
      bad("a list of its entries points to byte ", at, ", and there are ", all_.size());
    return all_.substr(at, count);
  }
  void expect(std::string_view magic, std::uint64_t at, const char* what) const {
    if (piece(at, magic.size()) != magic) bad("no ", what, " at byte ", at, ", where one should be");
  }
  template <class... Parts>
  [[noreturn]] void bad(const Parts&... parts) const {
    fail(ErrorCode::bad_file, name_, ": not a whole zip archive: ", parts...);
  }

 private:
  std::string_view all_;
  const std::string& name_;
};

struct Directory {
  std::uint64_t offset, entries;
};

Directory find_directory(const Bytes& bytes, std::string_view archive) {
  const std::size_t end = archive.rfind(kEnd);
  if (end == archive.npos) bytes.bad("its end is missing");
  bytes.piece(end, kEndBytes);
  Directory found{bytes.number<std::uint32_t>(end + 16), bytes.number<std::uint16_t>(end + 10)};
  if (found.offset != kSeeElsewhere && found.entries != 0xFFFF) return found;
  if (end < kLocatorBytes || bytes.piece(end - kLocatorBytes, 4) != kLocator64) return found;
  const auto large = bytes.number<std::uint64_t>(end - kLocatorBytes + 8);
  bytes.expect(kEnd64, large, "end of a large archive");
  bytes.piece(large, kEnd64Bytes);
  return {bytes.number<std::uint64_t>(large + 48), bytes.number<std::uint64_t>(large + 32)};
}

/// Numbers too large for their fields stand in an extra one, in this order.
void read_large_numbers(const Bytes& bytes, std::uint64_t extra, std::uint64_t extra_end,
                        std::initializer_list<std::uint64_t*> numbers) {
  while (extra + 4 <= extra_end) {
    const auto kind = bytes.number<std::uint16_t>(extra), size = bytes.number<std::uint16_t>(extra + 2);
    std::uint64_t at = extra + 4;
    extra = at + size;
    if (kind != 1) continue;
    for (std::uint64_t* number : numbers) {
      if (*number != kSeeElsewhere) continue;
      if (at + 8 > std::min(extra, extra_end)) bytes.bad("an entry's extra field is too short");
      *number = bytes.number<std::uint64_t>(at);
      at += 8;
    }
  }
}

}  // namespace

std::vector<ZipPlace> zip_places(std::string_view archive, const std::string& name) {
  const Bytes bytes(archive, name);
  const Directory directory = find_directory(bytes, archive);
  std::vector<ZipPlace> places;
  std::uint64_t at = directory.offset;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    bytes.expect(kEntry, at, "entry");
    bytes.piece(at, kEntryBytes);
    const auto flags = bytes.number<std::uint16_t>(at + 8), method = bytes.number<std::uint16_t>(at + 10);
    std::uint64_t packed = bytes.number<std::uint32_t>(at + 20), size = bytes.number<std::uint32_t>(at + 24);
    std::uint64_t local = bytes.number<std::uint32_t>(at + 42);
    const std::uint64_t name_bytes = bytes.number<std::uint16_t>(at + 28),
                        extra_bytes = bytes.number<std::uint16_t>(at + 30);
    const std::uint64_t extra = at + kEntryBytes + name_bytes, extra_end = extra + extra_bytes;
    ZipPlace place{.name = std::string(bytes.piece(at + kEntryBytes, name_bytes))};
    bytes.piece(extra, extra_bytes);
    read_large_numbers(bytes, extra, extra_end, {&size, &packed, &local});
    at = extra_end + bytes.number<std::uint16_t>(at + 32);

    bytes.expect(kLocal, local, "entry's data");
    place.offset =
        local + kLocalBytes + bytes.number<std::uint16_t>(local + 26) + bytes.number<std::uint16_t>(local + 28);
    place.size = packed;
    place.packed = method != 0 || packed != size || (flags & 1) != 0;
    bytes.piece(place.offset, place.size);
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace tandem
