#include "tandem/files/zip.h"

#include <zip.h>

#include <filesystem>
#include <set>

#include "tandem/base/error.h"
#include "tandem/files/unpack_limit.h"

namespace tandem {
namespace {

// Deflate makes at most 1032 bytes of one; an entry that claims more lies.
constexpr std::uint64_t kMaxInflation = 1032;

struct ZipClose {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct ZipFileClose {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
struct ZipSourceFree {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Handle = std::unique_ptr<zip_t, ZipClose>;
using EntryFile = std::unique_ptr<zip_file_t, ZipFileClose>;
using SourceHandle = std::unique_ptr<zip_source_t, ZipSourceFree>;

/// libzip's error as text.
class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  explicit ZipError(int code) { zip_error_init_with_code(&error_, code); }
  ~ZipError() { zip_error_fini(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  zip_error_t* get() { return &error_; }
  const char* text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_;
};

void read_exactly(zip_file_t* file, const std::string& name, char* to, std::size_t count) {
  for (std::size_t got = 0; got < count;) {
    const zip_int64_t n = zip_fread(file, to + got, count - got);
    if (n < 0) fail(ErrorCode::bad_file, name, ": ", zip_file_strerror(file));
    if (n == 0) fail(ErrorCode::bad_file, name, " ends after ", got, " bytes where ", count, " were expected");
    got += static_cast<std::size_t>(n);
  }
}

/// Reads to the end, where libzip compares the checksum.
void check_rest(zip_file_t* file, const std::string& name) {
  char rest[4096];
  zip_int64_t n;
  while ((n = zip_fread(file, rest, sizeof rest)) > 0) {}
  if (n < 0) fail(ErrorCode::bad_file, name, ": ", zip_file_strerror(file));
}

// 1 January 1980, the first day zip knows: the same entries give the same bytes whenever they are written.
constexpr zip_uint16_t kFirstDay = 1 << 5 | 1;

/// Adds the entries, which must live until the archive is closed.
void add_all(zip_t* archive, const ZipEntries& entries, bool compressed) {
  for (const auto& [name, bytes] : entries) {
    SourceHandle source(zip_source_buffer(archive, bytes.data(), bytes.size(), 0));
    const zip_int64_t index = source ? zip_file_add(archive, name.c_str(), source.get(), ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) fail(ErrorCode::file_error, "cannot add ", name, " to an archive: ", zip_strerror(archive));
    source.release();  // the archive owns it now
    const auto entry = static_cast<zip_uint64_t>(index);
    zip_set_file_compression(archive, entry, compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
    zip_file_set_dostime(archive, entry, 0, kFirstDay, 0);
  }
}

ZipEntries read_all(const ZipReader& reader, const std::string& name) {
  UnpackLimit limit(name, reader.archive_bytes());
  ZipEntries out;
  for (std::size_t i = 0; i < reader.entries().size(); ++i)
    reader.read(i, [&](const ByteSource& source) {
      limit.spend(source.size, "entry " + reader.entries()[i]);
      std::string bytes(source.size, '\0');
      source.read(bytes.data(), bytes.size());
      out.emplace(reader.entries()[i], std::move(bytes));
    });
  return out;
}

}  // namespace

struct ZipReader::Archive {
  explicit Archive(Handle opened) : handle(std::move(opened)) {}
  Handle handle;
};

ZipReader::ZipReader(const std::string& path) : name_(path) {
  int code = 0;
  archive_ = std::make_unique<Archive>(Handle(zip_open(path.c_str(), ZIP_RDONLY, &code)));
  if (!archive_->handle) {
    const bool content = code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS || code == ZIP_ER_EOF;
    fail(content ? ErrorCode::bad_file : ErrorCode::file_error, "cannot open ", path,
         " as a zip archive: ", ZipError(code).text());
  }
  std::error_code error;
  bytes_ = std::filesystem::file_size(path, error);
  if (error) fail(ErrorCode::file_error, "cannot read ", path, ": ", error.message());
  list();
}

ZipReader::ZipReader(std::string_view bytes, std::string name) : name_(std::move(name)), bytes_(bytes.size()) {
  ZipError error;
  SourceHandle source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, error.get()));
  archive_ =
      std::make_unique<Archive>(Handle(source ? zip_open_from_source(source.get(), ZIP_RDONLY, error.get()) : nullptr));
  if (!archive_->handle) fail(ErrorCode::bad_file, "cannot open ", name_, " as a zip archive: ", error.text());
  source.release();
  list();
}

ZipReader::~ZipReader() = default;

void ZipReader::list() {
  std::set<std::string_view> seen;
  const zip_int64_t count = zip_get_num_entries(archive_->handle.get(), 0);
  entries_.reserve(static_cast<std::size_t>(count));
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* raw = zip_get_name(archive_->handle.get(), static_cast<zip_uint64_t>(i), 0);
    if (!raw) fail(ErrorCode::bad_file, name_, ": entry ", i, " has no name");
    entries_.emplace_back(raw);
    if (!seen.insert(entries_.back()).second) fail(ErrorCode::bad_file, name_, " has two entries named ", raw);
  }
}

void ZipReader::read(std::size_t entry, const std::function<void(const ByteSource&)>& use) const {
  const std::string name = name_ + ", entry " + entries_.at(entry);
  zip_t* archive = archive_->handle.get();
  zip_stat_t stat;
  if (zip_stat_index(archive, entry, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_SIZE) ||
      !(stat.valid & ZIP_STAT_COMP_SIZE))
    fail(ErrorCode::bad_file, name, ": the archive does not say how large it is");
  if (stat.size / kMaxInflation > stat.comp_size + 1)
    fail(ErrorCode::bad_file, name, " claims ", stat.size, " bytes in ", stat.comp_size,
         " compressed ones, more than deflate can hold");
  const EntryFile file(zip_fopen_index(archive, entry, 0));
  if (!file) fail(ErrorCode::bad_file, name, ": ", zip_strerror(archive));
  use({.name = name, .size = stat.size, .read = [&](char* to, std::size_t count) {
         read_exactly(file.get(), name, to, count);
       }});
  check_rest(file.get(), name);
}

ZipEntries load_zip(const std::string& path) { return read_all(ZipReader(path), path); }
ZipEntries zip_from_bytes(std::string_view bytes, const std::string& name) {
  return read_all(ZipReader(bytes, name), name);
}

std::string zip_to_bytes(const ZipEntries& entries, bool compressed) {
  ZipError error;
  SourceHandle source(zip_source_buffer_create(nullptr, 0, 0, error.get()));
  Handle archive(source ? zip_open_from_source(source.get(), ZIP_TRUNCATE, error.get()) : nullptr);
  if (!archive) fail(ErrorCode::file_error, "cannot make an archive: ", error.text());
  zip_source_keep(source.get());  // outlives the archive, which would free it
  add_all(archive.get(), entries, compressed);
  if (zip_close(archive.get()) != 0)
    fail(ErrorCode::file_error, "cannot make an archive: ", zip_strerror(archive.get()));
  archive.release();
  zip_stat_t stat;
  if (zip_source_stat(source.get(), &stat) != 0 || zip_source_open(source.get()) != 0)
    fail(ErrorCode::file_error, "cannot read back an archive");
  std::string out(stat.size, '\0');
  const zip_int64_t got = zip_source_read(source.get(), out.data(), out.size());
  zip_source_close(source.get());
  if (got != static_cast<zip_int64_t>(out.size())) fail(ErrorCode::file_error, "cannot read back an archive");
  return out;
}

}  // namespace tandem
