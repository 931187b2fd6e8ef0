#include "tandem/data/element_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "tandem/files/crc32c.h"
#include "tandem/data/rows.h"

namespace tandem::data {
namespace {

constexpr std::string_view kMagic = "TANDEM-ELEMENTS1";
constexpr std::string_view kEnd = "TANDEM-END";

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Reads numbers and strings from bytes; every read is checked.
class Bytes {
 public:
  Bytes(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) fail(ErrorCode::bad_file, where_, ": an element ends early");
    const std::string_view part = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return part;
  }
  std::string text() { return std::string(take(get<std::uint32_t>())); }
  std::size_t left() const { return bytes_.size(); }
  [[noreturn]] void bad(const std::string& what) const { fail(ErrorCode::bad_file, where_, ": ", what); }

 private:
  std::string_view bytes_;
  const std::string& where_;
};

void put_text(std::string& out, std::string_view value) {
  put(out, static_cast<std::uint32_t>(value.size()));
  out += value;
}

/// How structures stand in files: the kinds of Structure, and tuples with names.
enum FileKind : std::uint8_t { kLeaf, kTuple, kMap, kNamedTuple };

void encode_structure(const Structure& structure, std::string& out) {
  const bool named = structure.kind() == Structure::Kind::tuple && !structure.names().empty();
  put(out, named ? static_cast<std::uint8_t>(kNamedTuple) : static_cast<std::uint8_t>(structure.kind()));
  if (structure.kind() == Structure::Kind::leaf) return;
  put(out, static_cast<std::uint32_t>(structure.children().size()));
  if (named) put(out, static_cast<std::uint32_t>(structure.names().size()));
  if (named)
    for (const std::string& name : structure.names()) put_text(out, name);
  for (std::size_t i = 0; i < structure.children().size(); ++i) {
    if (structure.kind() == Structure::Kind::map) put_text(out, structure.names()[i]);
    encode_structure(*structure.children()[i], out);
  }
}

StructureRef decode_structure(Bytes& in, int depth) {
  const auto kind = in.get<std::uint8_t>();
  if (kind == kLeaf) return Structure::leaf();
  if (kind > kNamedTuple || depth > 64) in.bad("the structure of the elements is damaged");
  const auto count = in.get<std::uint32_t>();
  std::vector<std::string> names;
  std::vector<StructureRef> children;
  if (kind == kNamedTuple)
    for (auto left = in.get<std::uint32_t>(); left > 0; --left) names.push_back(in.text());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (kind == kMap) names.push_back(in.text());
    children.push_back(decode_structure(in, depth + 1));
  }
  if (kind == kMap) return Structure::map(std::move(names), std::move(children));
  return std::make_shared<Structure>(Structure::Kind::tuple, std::move(names), std::move(children));
}

/// The numbers of dtypes in files, which stay what they are whatever is added.
constexpr std::array kDTypeNumbers{DType::f16, DType::bf16, DType::f32, DType::f64,     DType::i8,
                                   DType::u8,  DType::i32,  DType::i64, DType::boolean, DType::string,
                                   DType::i16, DType::u16,  DType::u32, DType::u64};
static_assert(kDTypeNumbers.size() == kDTypeCount);

std::uint8_t number_of(DType dtype) {
  return static_cast<std::uint8_t>(std::find(kDTypeNumbers.begin(), kDTypeNumbers.end(), dtype) -
                                   kDTypeNumbers.begin());
}

std::string encode_spec(const ElementSpec& spec) {
  std::string out;
  encode_structure(*spec.structure, out);
  for (const LeafSpec& leaf : spec.leaves) {
    if (leaf.dataset)
      fail(ErrorCode::invalid_argument, "elements that are datasets cannot be written to a file; flat_map them first");
    put(out, number_of(leaf.dtype));
    put(out, static_cast<std::uint8_t>(leaf.ranked ? leaf.sizes.size() : 255));
    for (std::int64_t size : leaf.sizes) put(out, size);
  }
  return out;
}

DType dtype_from(Bytes& in) {
  const auto number = in.get<std::uint8_t>();
  if (number >= kDTypeNumbers.size()) in.bad(text("dtype ", int{number}, " does not exist"));
  return kDTypeNumbers[number];
}

ElementSpec decode_spec(Bytes& in) {
  ElementSpec spec{decode_structure(in, 0), {}};
  for (int i = 0; i < spec.structure->leaves(); ++i) {
    LeafSpec leaf{.dtype = dtype_from(in)};
    const auto rank = in.get<std::uint8_t>();
    leaf.ranked = rank != 255;
    if (leaf.ranked && rank > kMaxRank) in.bad(text("a tensor of ", int{rank}, " axes"));
    for (int axis = 0; leaf.ranked && axis < rank; ++axis) leaf.sizes.push_back(in.get<std::int64_t>());
    spec.leaves.push_back(std::move(leaf));
  }
  return spec;
}

}  // namespace

void encode(const Element& element, std::string& out) {
  for (const Leaf& leaf : element) {
    if (leaf.dataset)
      fail(ErrorCode::invalid_argument, "elements that are datasets cannot be written to a file; flat_map them first");
    const Tensor& tensor = leaf.tensor;
    put(out, number_of(tensor.dtype()));
    put(out, static_cast<std::uint8_t>(tensor.rank()));
    for (std::int64_t size : tensor.shape()) put(out, size);
    if (tensor.dtype() == DType::string)
      for (const std::string& value : tensor.strings()) put_text(out, value);
    else out.append(static_cast<const char*>(tensor.raw_data()), tensor.spec().bytes());
  }
}

Element decode(std::string_view bytes, std::size_t leaves, const std::string& where) {
  Bytes in(bytes, where);
  Element element;
  for (std::size_t i = 0; i < leaves; ++i) {
    const DType dtype = dtype_from(in);
    std::vector<std::int64_t> sizes(in.get<std::uint8_t>());
    if (sizes.size() > kMaxRank) in.bad(text("a tensor of ", sizes.size(), " axes"));
    for (std::int64_t& size : sizes) size = in.get<std::int64_t>();
    const Shape shape{std::span<const std::int64_t>(sizes)};
    if (dtype == DType::string) {
      if (static_cast<std::uint64_t>(shape.elements()) > in.left()) in.bad("more strings than bytes");
      std::vector<std::string> values(static_cast<std::size_t>(shape.elements()));
      for (std::string& value : values) value = in.text();
      element.emplace_back(Tensor::from_strings(std::move(values), shape));
    } else {
      const TensorSpec spec{dtype, shape};
      const std::string_view values = in.take(spec.bytes());
      Fresh tensor = fresh(spec);
      if (!values.empty()) std::memcpy(tensor.bytes, values.data(), values.size());
      element.emplace_back(std::move(tensor.tensor));
    }
  }
  if (in.left()) in.bad("an element is longer than its tensors");
  return element;
}

ElementWriter::ElementWriter(std::string path, const ElementSpec& spec)
    : path_(std::move(path)),
      file_(path_, std::ios::binary) {
  if (!file_) fail(ErrorCode::file_error, path_, ": cannot be opened for writing");
  file_.write(kMagic.data(), kMagic.size());
  record(encode_spec(spec));
}

void ElementWriter::record(std::string_view payload) {
  const std::uint64_t size = payload.size();
  const std::uint32_t crc = crc32c(payload, static_cast<std::uint32_t>(size));
  file_.write(reinterpret_cast<const char*>(&size), 8);
  file_.write(reinterpret_cast<const char*>(&crc), 4);
  file_.write(payload.data(), static_cast<std::streamsize>(payload.size()));
}

void ElementWriter::append(const Element& element) {
  buffer_.clear();
  encode(element, buffer_);
  record(buffer_);
  ++count_;
}

void ElementWriter::finish() {
  std::string end(kEnd);
  put(end, count_);
  file_.write(end.data(), static_cast<std::streamsize>(end.size()));
  file_.close();
  if (!file_) fail(ErrorCode::file_error, path_, ": could not be written; is the disk full?");
}

ElementReader::ElementReader(std::string path) : path_(std::move(path)), file_(path_, std::ios::binary) {
  if (!file_) fail(ErrorCode::file_error, path_, ": cannot be opened");
  constexpr std::size_t kEndSize = kEnd.size() + 8;
  const auto size = static_cast<std::uint64_t>(std::filesystem::file_size(path_));
  if (size < kMagic.size() + kEndSize) damaged("too short for a file of elements");
  std::string magic(kMagic.size(), '\0'), end(kEndSize, '\0');
  file_.seekg(static_cast<std::streamoff>(size - kEndSize));
  file_.read(end.data(), static_cast<std::streamsize>(end.size()));
  if (!end.starts_with(kEnd)) damaged("its end is missing: writing it was interrupted, or it is cut short");
  std::memcpy(&count_, end.data() + kEnd.size(), 8);
  file_.seekg(0);
  file_.read(magic.data(), static_cast<std::streamsize>(magic.size()));
  if (magic != kMagic) damaged("not a file of elements");
  left_ = size - kMagic.size() - kEndSize;
  if (!record(payload_)) damaged("the spec of its elements is missing");
  Bytes in(payload_, path_);
  spec_ = decode_spec(in);
}

void ElementReader::damaged(const std::string& what) const { fail(ErrorCode::bad_file, path_, ": ", what); }

bool ElementReader::record(std::string& payload) {
  if (left_ == 0) return false;
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
  file_.read(reinterpret_cast<char*>(&size), 8);
  file_.read(reinterpret_cast<char*>(&crc), 4);
  if (!file_ || left_ < 12 || size > left_ - 12) damaged(text("element ", at_, " ends early"));
  payload.resize(size);
  file_.read(payload.data(), static_cast<std::streamsize>(size));
  left_ -= 12 + size;
  if (!file_ || crc32c(payload, static_cast<std::uint32_t>(size)) != crc)
    damaged(text("the checksum of element ", at_, " is wrong"));
  return true;
}

bool ElementReader::next(Element& out) {
  if (!record(payload_)) {
    if (at_ != count_) damaged(text("holds ", at_, " elements and says ", count_));
    return false;
  }
  out = decode(payload_, spec_.leaves.size(), path_);
  ++at_;
  return true;
}

}  // namespace tandem::data
