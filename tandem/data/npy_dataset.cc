#include "tandem/data/npy_dataset.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "tandem/data/node.h"
#include "tandem/data/rows.h"
#include "tandem/files/mapped_file.h"
#include "tandem/files/npy.h"
#include "tandem/files/npy_format.h"
#include "tandem/files/zip_places.h"

namespace tandem {
namespace data {
namespace {

/// One array: mapped, or in memory where it had to be loaded.
struct Column {
  Tensor loaded;
  const std::byte* rows = nullptr;  // of a mapped one
  TensorSpec spec;                  // of the whole array
  std::size_t row_bytes = 0;

  Shape row_shape() const { return Shape(spec.shape().sizes().subspan(1)); }
};

/// Bools are kept as bytes, and any but 0 and 1 would be no valid bool: they are loaded, and thereby checked.
bool usable_as_it_lies(const NpyHeader& header) {
  return header.kind == NpyKind::fixed && !header.swapped && !(header.fortran && header.shape.rank() > 1) &&
         header.dtype != DType::boolean;
}

Column column_of(std::string_view bytes, const std::string& name) {
  const NpyPlace place = find_npy(byte_source(bytes, name));
  Column column{.spec = {place.header.kind == NpyKind::fixed ? place.header.dtype : DType::string, place.header.shape}};
  if (place.header.shape.rank() == 0)
    fail(ErrorCode::shape_mismatch, name, " holds a single value; a dataset needs an array with rows");
  if (!usable_as_it_lies(place.header)) {
    column.loaded = npy_from_bytes(bytes, name);
    return column;
  }
  column.rows = reinterpret_cast<const std::byte*>(bytes.data()) + place.offset;
  column.row_bytes = static_cast<std::size_t>(column.row_shape().elements()) * place.header.item_bytes;
  return column;
}

class MappedRows final : public Node, public Indexed {
 public:
  MappedRows(std::shared_ptr<const MappedFile> file, StructureRef structure, std::vector<Column> columns)
      : file_(std::move(file)),
        columns_(std::move(columns)),
        count_(columns_[0].spec.shape()[0]) {
    spec_.structure = std::move(structure);
    for (const Column& column : columns_) {
      const Shape row = column.row_shape();
      spec_.leaves.push_back({.dtype = column.spec.dtype(), .sizes = {row.begin(), row.end()}});
      if (column.spec.shape()[0] != count_)
        fail(ErrorCode::shape_mismatch, file_->path(), ": the arrays must have equally many rows; the first has ",
             count_, ", another ", column.spec.shape()[0]);
    }
  }
  std::string_view name() const override { return "Npy"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t cardinality() const override { return count_; }
  const Indexed* indexed() const override { return this; }
  std::int64_t count() const override { return count_; }

  void read(std::int64_t begin, std::int64_t count, Element& out) const override {
    make(
        count, out,
        [&](const Column& column, std::byte* to) {
          std::memcpy(to, column.rows + static_cast<std::size_t>(begin) * column.row_bytes,
                      static_cast<std::size_t>(count) * column.row_bytes);
        },
        [&](const Tensor& loaded) { return rows(loaded, begin, count); });
  }
  void gather(std::span<const std::int64_t> numbers, Element& out) const override {
    make(
        static_cast<std::int64_t>(numbers.size()), out,
        [&](const Column& column, std::byte* to) { gather_bytes(to, column.rows, column.row_bytes, numbers); },
        [&](const Tensor& loaded) { return gather_rows(loaded, numbers); });
  }

 private:
  template <class Copy, class FromMemory>
  void make(std::int64_t count, Element& out, Copy copy, FromMemory from_memory) const {
    file_->check_size();
    out.resize(columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      if (!column.rows) {
        out[i] = Leaf(from_memory(column.loaded));
        continue;
      }
      Fresh block = fresh({column.spec.dtype(), with_first_axis(count, column.row_shape())});
      if (column.row_bytes > 0 && count > 0) copy(column, block.bytes);
      out[i] = Leaf(std::move(block.tensor));
    }
  }

  std::shared_ptr<const MappedFile> file_;
  std::vector<Column> columns_;
  std::int64_t count_;
  ElementSpec spec_;
};

std::string array_name(const std::string& entry) {
  return entry.ends_with(".npy") ? entry.substr(0, entry.size() - 4) : entry;
}

/// The places of the arrays wanted, or of all.
std::vector<ZipPlace> chosen(const std::vector<ZipPlace>& places, const std::vector<std::string>& names,
                             const std::string& path) {
  if (names.empty()) return places;
  std::vector<ZipPlace> out;
  for (const std::string& name : names) {
    const auto found =
        std::ranges::find_if(places, [&](const ZipPlace& place) { return array_name(place.name) == name; });
    if (found == places.end()) {
      std::vector<std::string> there;
      for (const ZipPlace& place : places) there.push_back(array_name(place.name));
      fail(ErrorCode::invalid_argument, path, " has no array '", name, "'; it has ", join(there));
    }
    out.push_back(*found);
  }
  return out;
}

}  // namespace
}  // namespace data

Dataset npy_dataset(const std::string& path) {
  auto file = std::make_shared<const MappedFile>(path);
  std::vector<data::Column> columns{data::column_of(file->bytes(), path)};
  return Dataset(std::make_shared<data::MappedRows>(std::move(file), Structure::leaf(), std::move(columns)));
}

Dataset npz_dataset(const std::string& path, const std::vector<std::string>& names) {
  auto file = std::make_shared<const MappedFile>(path);
  std::vector<ZipPlace> places = data::chosen(zip_places(file->bytes(), path), names, path);
  if (places.empty()) fail(ErrorCode::bad_file, path, " holds no arrays");
  std::vector<data::Column> columns;
  std::vector<std::string> keys;
  std::optional<NamedTensors> unpacked;
  for (const ZipPlace& place : places) {
    keys.push_back(data::array_name(place.name));
    if (!place.packed) {
      columns.push_back(data::column_of(file->bytes().substr(place.offset, place.size), path + ": " + place.name));
      continue;
    }
    if (!unpacked) unpacked = load_npz(path);
    const Tensor& loaded = unpacked->at(keys.back());
    if (loaded.rank() == 0)
      fail(ErrorCode::shape_mismatch, path, ": ", place.name,
           " holds a single value; a dataset needs arrays with rows");
    columns.push_back({.loaded = loaded, .spec = loaded.spec()});
  }
  std::vector<StructureRef> leaves(keys.size(), Structure::leaf());
  StructureRef structure = names.empty() ? Structure::map(keys, leaves) : Structure::tuple(leaves);
  return Dataset(std::make_shared<data::MappedRows>(std::move(file), std::move(structure), std::move(columns)));
}

}  // namespace tandem
