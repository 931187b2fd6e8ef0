#include <zip.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "tandem/core/npy.h"
#include "tandem/core/npy_format.h"

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
using Archive = std::unique_ptr<zip_t, ZipClose>;
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
    if (n == 0)
      fail(ErrorCode::bad_file, name, " ends after ", got, " bytes where ", count, " were expected");
    got += static_cast<std::size_t>(n);
  }
}

/// Reads to the end, where libzip compares the checksum.
void check_rest(zip_file_t* file, const std::string& name) {
  char rest[4096];
  zip_int64_t n;
  while ((n = zip_fread(file, rest, sizeof rest)) > 0) {
  }
  if (n < 0) fail(ErrorCode::bad_file, name, ": ", zip_file_strerror(file));
}

Tensor read_entry(zip_t* archive, zip_uint64_t index, const std::string& entry, const std::string& path) {
  const std::string name = path + ", entry " + entry;
  zip_stat_t stat;
  if (zip_stat_index(archive, index, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_SIZE) ||
      !(stat.valid & ZIP_STAT_COMP_SIZE))
    fail(ErrorCode::bad_file, name, ": the archive does not say how large it is");
  if (stat.size / kMaxInflation > stat.comp_size + 1)
    fail(ErrorCode::bad_file, name, " claims ", stat.size, " bytes in ", stat.comp_size,
         " compressed ones, more than deflate can hold");
  const EntryFile file(zip_fopen_index(archive, index, 0));
  if (!file) fail(ErrorCode::bad_file, name, ": ", zip_strerror(archive));
  const auto read = [&](char* to, std::size_t count) { read_exactly(file.get(), name, to, count); };
  Tensor tensor;
  if (entry.ends_with(".npy")) {
    tensor = read_npy({.name = name, .size = stat.size, .read = read});
  } else {
    std::string bytes(stat.size, '\0');
    read(bytes.data(), bytes.size());
    tensor = Tensor::from_strings({std::move(bytes)}, {});
  }
  check_rest(file.get(), name);
  return tensor;
}

NamedTensors read_all(zip_t* archive, const std::string& path) {
  NamedTensors out;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* raw = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    if (!raw) fail(ErrorCode::bad_file, path, ": entry ", i, " has no name");
    const std::string entry = raw;
    std::string key = entry.ends_with(".npy") ? entry.substr(0, entry.size() - 4) : entry;
    if (out.count(key)) fail(ErrorCode::bad_file, path, " has two entries named ", entry);
    Tensor tensor = read_entry(archive, static_cast<zip_uint64_t>(i), entry, path);
    out.emplace(std::move(key), std::move(tensor));
  }
  return out;
}

/// Adds the arrays; `files` must live until the archive is closed.
void add_all(zip_t* archive, const std::map<std::string, std::string>& files, bool compressed,
             const std::string& path) {
  for (const auto& [name, bytes] : files) {
    SourceHandle source(zip_source_buffer(archive, bytes.data(), bytes.size(), 0));
    const zip_int64_t index =
        source ? zip_file_add(archive, name.c_str(), source.get(), ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) fail(ErrorCode::file_error, path, ": cannot add ", name, ": ", zip_strerror(archive));
    source.release();  // the archive owns it now
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index),
                             compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
}

std::map<std::string, std::string> entry_files(const NamedTensors& tensors) {
  std::map<std::string, std::string> out;
  for (const auto& [name, tensor] : tensors) out.emplace(name + ".npy", npy_to_bytes(tensor));
  return out;
}

}  // namespace

NamedTensors load_npz(const std::string& path) {
  int code = 0;
  const Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) {
    const bool content = code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS || code == ZIP_ER_EOF;
    fail(content ? ErrorCode::bad_file : ErrorCode::file_error, "cannot open ", path,
         " as a zip archive of arrays: ", ZipError(code).text());
  }
  return read_all(archive.get(), path);
}

NamedTensors npz_from_bytes(std::string_view bytes, const std::string& name) {
  ZipError error;
  SourceHandle source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, error.get()));
  const Archive archive(source ? zip_open_from_source(source.get(), ZIP_RDONLY, error.get()) : nullptr);
  if (!archive)
    fail(ErrorCode::bad_file, "cannot open ", name, " as a zip archive of arrays: ", error.text());
  source.release();
  return read_all(archive.get(), name);
}

void save_npz(const std::string& path, const NamedTensors& tensors, bool compressed) {
  const auto files = entry_files(tensors);
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (!archive) fail(ErrorCode::file_error, "cannot write ", path, ": ", ZipError(code).text());
  add_all(archive.get(), files, compressed, path);
  if (zip_close(archive.get()) != 0)
    fail(ErrorCode::file_error, "cannot write ", path, ": ", zip_strerror(archive.get()));
  archive.release();
}

std::string npz_to_bytes(const NamedTensors& tensors, bool compressed) {
  const std::string name = "an archive in memory";
  const auto files = entry_files(tensors);
  ZipError error;
  SourceHandle source(zip_source_buffer_create(nullptr, 0, 0, error.get()));
  Archive archive(source ? zip_open_from_source(source.get(), ZIP_TRUNCATE, error.get()) : nullptr);
  if (!archive) fail(ErrorCode::file_error, "cannot make ", name, ": ", error.text());
  zip_source_keep(source.get());  // outlives the archive, which would free it
  add_all(archive.get(), files, compressed, name);
  if (zip_close(archive.get()) != 0)
    fail(ErrorCode::file_error, "cannot make ", name, ": ", zip_strerror(archive.get()));
  archive.release();
  zip_stat_t stat;
  if (zip_source_stat(source.get(), &stat) != 0 || zip_source_open(source.get()) != 0)
    fail(ErrorCode::file_error, "cannot read back ", name);
  std::string out(stat.size, '\0');
  const zip_int64_t got = zip_source_read(source.get(), out.data(), out.size());
  zip_source_close(source.get());
  if (got != static_cast<zip_int64_t>(out.size())) fail(ErrorCode::file_error, "cannot read back ", name);
  return out;
}

}  // namespace tandem
