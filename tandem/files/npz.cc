#include "tandem/files/file_bytes.h"
#include "tandem/files/npy.h"
#include "tandem/files/npy_format.h"
#include "tandem/files/zip.h"

namespace tandem {
namespace {

Tensor read_entry(const ByteSource& source, const std::string& entry) {
  if (entry.ends_with(".npy")) return read_npy(source);
  std::string bytes(source.size, '\0');
  source.read(bytes.data(), bytes.size());
  return Tensor::from_strings({std::move(bytes)}, {});
}

NamedTensors read_all(const ZipReader& archive, const std::string& path) {
  NamedTensors out;
  for (std::size_t i = 0; i < archive.entries().size(); ++i) {
    const std::string& entry = archive.entries()[i];
    const std::string key = entry.ends_with(".npy") ? entry.substr(0, entry.size() - 4) : entry;
    if (out.count(key)) fail(ErrorCode::bad_file, path, " has two entries named ", key);
    archive.read(i, [&](const ByteSource& source) { out.emplace(key, read_entry(source, entry)); });
  }
  return out;
}

}  // namespace

NamedTensors load_npz(const std::string& path) { return read_all(ZipReader(path), path); }
NamedTensors npz_from_bytes(std::string_view bytes, const std::string& name) {
  return read_all(ZipReader(bytes, name), name);
}

std::string npz_to_bytes(const NamedTensors& tensors, bool compressed) {
  ZipEntries entries;
  for (const auto& [name, tensor] : tensors) entries.emplace(name + ".npy", npy_to_bytes(tensor));
  return zip_to_bytes(entries, compressed);
}

void save_npz(const std::string& path, const NamedTensors& tensors, bool compressed) {
  write_file_atomically(path, npz_to_bytes(tensors, compressed));
}

}  // namespace tandem
