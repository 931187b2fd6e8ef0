// Writes HDF5 in the layout of its first versions, byte for byte what h5py's default means: every library reads it.
#include <algorithm>
#include <cstring>

#include "tandem/files/file_bytes.h"
#include "tandem/files/hdf5_checksum.h"
#include "tandem/files/hdf5_object.h"

namespace tandem {
namespace hdf5 {
namespace {

constexpr std::size_t kSymbolsPerNode = 8;    // twice the "leaf k" of the superblock
constexpr std::size_t kChildrenPerNode = 32;  // twice the "internal k"
constexpr std::size_t kMostMessageBytes = 0xFFF8;
constexpr std::size_t kSuperblockBytes = 96;

std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

/// Bytes put together from numbers and text.
class Bytes {
 public:
  template <class T>
  Bytes& number(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& u8(int value) { return number(static_cast<std::uint8_t>(value)); }
  Bytes& u16(std::size_t value) { return number(static_cast<std::uint16_t>(value)); }
  Bytes& u32(std::size_t value) { return number(static_cast<std::uint32_t>(value)); }
  Bytes& u64(std::uint64_t value) { return number(value); }
  Bytes& text(std::string_view value) {
    out_ += value;
    return *this;
  }
  Bytes& zeros(std::size_t count) {
    out_.append(count, '\0');
    return *this;
  }
  Bytes& align() { return zeros(padded(out_.size()) - out_.size()); }
  std::size_t size() const { return out_.size(); }
  const std::string& str() const { return out_; }

 private:
  std::string out_;
};

class Writer {
 public:
  Writer() : out_(kSuperblockBytes, '\0') {}

  std::string write(const Hdf5Object& root) {
    const Written group = write_object(root, "");
    finish_heap();
    Bytes head;
    head.text("\x89HDF\r\n\x1a\n").zeros(5).u8(8).u8(8).u8(0).u16(kSymbolsPerNode / 2).u16(kChildrenPerNode / 2).u32(0);
    head.u64(0).u64(kNowhere).u64(out_.size()).u64(kNowhere);
    head.u64(0).text(symbol(group));
    TANDEM_CHECK(head.size() == kSuperblockBytes, "the superblock has ", head.size(), " bytes");
    std::memcpy(out_.data(), head.str().data(), kSuperblockBytes);
    return std::move(out_);
  }

 private:
  struct Written {
    std::uint64_t header = 0;
    bool group = false;
    std::uint64_t tree = 0, names = 0;  // of a group
  };

  /// A symbol table's entry behind the name.
  static std::string symbol(const Written& object) {
    Bytes entry;
    entry.u64(object.header).u32(object.group ? 1 : 0).u32(0);
    if (object.group) entry.u64(object.tree).u64(object.names);
    else entry.zeros(16);
    return entry.str();
  }

  std::uint64_t append(std::string_view bytes) {
    out_.append(padded(out_.size()) - out_.size(), '\0');
    const std::uint64_t address = out_.size();
    out_ += bytes;
    return address;
  }

  static std::string message(MessageType type, const std::string& body, const std::string& path) {
    if (padded(body.size()) > kMostMessageBytes)
      fail(ErrorCode::invalid_argument, "HDF5: an attribute of ", path.empty() ? "/" : path, " has ", body.size(),
           " bytes; at most 64 KiB are possible");
    Bytes out;
    out.u16(type).u16(padded(body.size())).u8(type == kDatatype ? 1 : 0).zeros(3).text(body).align();
    return out.str();
  }

  std::uint64_t write_header(const std::vector<std::string>& messages, const std::string& path) {
    if (messages.size() > 0xFFFF)
      fail(ErrorCode::invalid_argument, "HDF5: ", path, " has ", messages.size(),
           " attributes; at most 65000 are possible");
    std::size_t bytes = 0;
    for (const std::string& one : messages) bytes += one.size();
    Bytes head;
    head.u8(1).u8(0).u16(messages.size()).u32(1).u32(bytes).u32(0);
    for (const std::string& one : messages) head.text(one);
    return append(head.str());
  }

  Written write_object(const Hdf5Object& object, const std::string& path) {
    if (object.is_group()) return write_group(object, path);
    if (!object.items.empty())
      fail(ErrorCode::invalid_argument, "HDF5: ", path, " is an array and cannot contain items");
    return {.header = write_array(object, path)};
  }

  Written write_group(const Hdf5Object& group, const std::string& path) {
    Bytes names;
    names.zeros(8);  // the empty name, which bounds the tree from below
    std::vector<std::string> symbols;
    std::vector<std::uint64_t> offsets;
    for (const auto& [name, item] : group.items) {
      if (name.empty() || name == "." || name.find('/') != std::string::npos || name.find('\0') != std::string::npos)
        fail(ErrorCode::invalid_argument, "HDF5: '", name, "' cannot be the name of an item in ",
             path.empty() ? "/" : path);
      const Written written = write_object(item, path + "/" + name);
      offsets.push_back(names.size());
      symbols.push_back(Bytes().u64(names.size()).str() + symbol(written));
      names.text(name).u8(0).align();
    }
    Written out{.group = true, .tree = write_tree(symbols, offsets), .names = write_names(names.str())};
    std::vector<std::string> messages{message(kSymbolTable, Bytes().u64(out.tree).u64(out.names).str(), path)};
    add_attributes(group, path, messages);
    out.header = write_header(messages, path);
    return out;
  }

  std::uint64_t write_names(const std::string& names) {
    constexpr std::uint64_t kNoFreeBlock = 1;
    const std::uint64_t segment = append(names);
    return append(Bytes().text("HEAP").zeros(4).u64(names.size()).u64(kNoFreeBlock).u64(segment).str());
  }

  /// A node of the tree, with the name that bounds it from above.
  struct Node {
    std::uint64_t address, last;
  };

  std::uint64_t write_tree(const std::vector<std::string>& symbols, const std::vector<std::uint64_t>& offsets) {
    std::vector<Node> nodes;
    for (std::size_t begin = 0; begin < symbols.size(); begin += kSymbolsPerNode) {
      const std::size_t count = std::min(kSymbolsPerNode, symbols.size() - begin);
      Bytes node;
      node.text("SNOD").u8(1).u8(0).u16(count);
      for (std::size_t i = 0; i < count; ++i) node.text(symbols[begin + i]);
      node.zeros(40 * (kSymbolsPerNode - count));
      nodes.push_back({append(node.str()), offsets[begin + count - 1]});
    }
    for (int level = 0;; ++level) {
      nodes = write_level(nodes, level);
      if (nodes.size() == 1) return nodes[0].address;
    }
  }

  std::vector<Node> write_level(const std::vector<Node>& children, int level) {
    constexpr std::size_t kNodeBytes = 24 + 16 * kChildrenPerNode + 8;
    const std::size_t count = std::max<std::size_t>(1, (children.size() + kChildrenPerNode - 1) / kChildrenPerNode);
    const std::uint64_t first = append("");
    const auto address = [&](std::size_t i) { return i < count ? first + i * kNodeBytes : kNowhere; };
    std::vector<Node> nodes;
    std::uint64_t below = 0;
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t begin = n * kChildrenPerNode, used = std::min(kChildrenPerNode, children.size() - begin);
      Bytes node;
      node.text("TREE").u8(0).u8(level).u16(used).u64(n ? address(n - 1) : kNowhere).u64(address(n + 1)).u64(below);
      for (std::size_t i = 0; i < used; ++i)
        node.u64(children[begin + i].address).u64(below = children[begin + i].last);
      node.zeros(kNodeBytes - node.size());
      nodes.push_back({append(node.str()), below});
    }
    return nodes;
  }

  std::uint64_t write_array(const Hdf5Object& array, const std::string& path) {
    const Tensor& value = array.value;
    const std::string text = value.dtype() == DType::string ? text_references(value) : std::string();
    const std::string_view raw =
        value.dtype() == DType::string
            ? std::string_view(text)
            : std::string_view(static_cast<const char*>(value.raw_data()), value.spec().bytes());
    const std::uint64_t address = raw.empty() ? kNowhere : append(raw);
    using namespace std::string_literals;
    std::vector<std::string> messages{
        message(kDataspace, dataspace_bytes(value.shape()), path),
        message(kDatatype, datatype_bytes(value.dtype()), path),
        message(kFillValue, "\2\2\2\1\0\0\0\0"s, path),  // space allotted late, filled when set, zero
        message(kLayout, Bytes().u8(3).u8(1).u64(address).u64(raw.size()).str(), path)};
    add_attributes(array, path, messages);
    if (value.dtype() == DType::bf16)
      messages.push_back(attribute("dtype", Tensor::from_strings({"bfloat16"}, {}), path));
    return write_header(messages, path);
  }

  void add_attributes(const Hdf5Object& object, const std::string& path, std::vector<std::string>& messages) {
    for (const auto& [name, value] : object.attributes) messages.push_back(attribute(name, value, path));
  }

  std::string attribute(const std::string& name, const Tensor& value, const std::string& path) {
    if (name.find('\0') != std::string::npos || name.size() > 0xFFF0)
      fail(ErrorCode::invalid_argument, "HDF5: '", name, "' cannot be the name of an attribute");
    if (value.dtype() == DType::bf16)
      fail(ErrorCode::unsupported_dtype, "HDF5: attribute ", name, " cannot be bfloat16; cast it to float32");
    const std::string type = datatype_bytes(value.dtype()), space = dataspace_bytes(value.shape());
    Bytes out;
    out.u8(1).u8(0).u16(name.size() + 1).u16(type.size()).u16(space.size());
    for (const std::string_view part :
         {std::string_view(name.c_str(), name.size() + 1), std::string_view(type), std::string_view(space)})
      out.text(part).align();
    if (value.dtype() == DType::string) out.text(text_references(value));
    else out.text({static_cast<const char*>(value.raw_data()), value.spec().bytes()});
    return message(kAttribute, out.str(), path);
  }

  /// Puts the texts into the heap; what stands for them.
  std::string text_references(const Tensor& texts) {
    Bytes out;
    for (const std::string& text : texts.strings()) {
      if (text.size() > 0xFFFFFFF0)
        fail(ErrorCode::invalid_argument, "HDF5: a text of ", text.size(), " bytes; at most 4 GiB are possible");
      if (text.empty()) {
        out.zeros(kTextReferenceBytes);
        continue;
      }
      const std::size_t index = put_into_heap(text);
      out.u32(text.size()).u64(heap_.address).u32(index);
    }
    return out.str();
  }

  struct Heap {
    std::uint64_t address = 0;
    std::size_t bytes = 0, used = 0, objects = 0;
  };

  std::size_t put_into_heap(const std::string& text) {
    constexpr std::size_t kLeastBytes = 4096;
    const std::size_t needed = 16 + padded(text.size());
    if (heap_.bytes - heap_.used < needed) {
      finish_heap();
      heap_ = {.bytes = std::max(kLeastBytes, 16 + needed), .used = 16};
      heap_.address = append(Bytes().text("GCOL").u8(1).zeros(3).u64(heap_.bytes).zeros(heap_.bytes - 16).str());
    }
    const std::string object = Bytes().u16(++heap_.objects).u16(0).u32(0).u64(text.size()).text(text).str();
    std::memcpy(out_.data() + heap_.address + heap_.used, object.data(), object.size());
    heap_.used += needed;
    return heap_.objects;
  }

  /// The rest of a collection is its object 0.
  void finish_heap() {
    const std::size_t rest = heap_.bytes - heap_.used;
    if (rest >= 16) std::memcpy(out_.data() + heap_.address + heap_.used + 8, &rest, sizeof rest);
  }

  std::string out_;
  Heap heap_;
};

}  // namespace
}  // namespace hdf5

std::string hdf5_to_bytes(const Hdf5Object& root) {
  if (!root.is_group()) fail(ErrorCode::invalid_argument, "HDF5: the root must be a group, not an array");
  return hdf5::Writer().write(hdf5::with_checksum(root));
}

void save_hdf5(const std::string& path, const Hdf5Object& root) { write_file_atomically(path, hdf5_to_bytes(root)); }

}  // namespace tandem
