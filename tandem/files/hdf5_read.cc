// The tree of an HDF5 file, from its superblock down.
#include <set>

#include "tandem/files/file_bytes.h"
#include "tandem/files/hdf5_checksum.h"
#include "tandem/files/hdf5_object.h"

namespace tandem {
namespace hdf5 {
namespace {

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
constexpr int kMostNesting = 64;

/// The address of the root group's header.
std::uint64_t read_superblock(Image& image) {
  if (image.size() < 48) image.refuse("no HDF5 file: it has ", image.size(), " bytes");
  Cursor cursor = image.at(0, std::min<std::uint64_t>(image.size(), 100), "the superblock");
  if (cursor.take(8) != kSignature) image.refuse("no HDF5 file: it does not begin with HDF5's signature");
  const int version = cursor.u8();
  if (version > 3) cursor.refuse("version ", version, "; 0 to 3 are known");
  const bool old = version < 2;
  if (old) cursor.skip(4);
  const int offset_bytes = cursor.u8(), length_bytes = cursor.u8();
  if (offset_bytes != 8 || length_bytes != 8)
    cursor.refuse("offsets of ", offset_bytes, " and lengths of ", length_bytes, " bytes; 8 are known");
  cursor.skip(old ? 1 + 4 + 4 : 1);
  if (version == 1) cursor.skip(4);
  if (const std::uint64_t base = cursor.u64(); base != 0)
    cursor.refuse("a base address of ", base, "; only 0 is known");
  cursor.skip(8);  // free space, or the extension of the superblock
  const std::uint64_t end = cursor.u64();
  if (end > image.size())
    cursor.refuse("the file should have ", end, " bytes but has ", image.size(), "; it is truncated");
  if (old) cursor.skip(8 + 8);  // driver, and the name of the root
  return cursor.u64();
}

struct Attribute {
  std::string name;
  Tensor value;
};

class Reader {
 public:
  explicit Reader(Image& image) : image_(image), heap_(image) {}

  Hdf5Object read(std::uint64_t address, const std::string& path, int depth) {
    try {
      return read_object(address, path, depth);
    } catch (const Error& error) {
      if (placed_) throw;  // said already where
      placed_ = true;
      fail(error.code(), error.message(), " (reading ", path.empty() ? "/" : path, ")");
    }
  }

 private:
  Hdf5Object read_object(std::uint64_t address, const std::string& path, int depth) {
    if (depth > kMostNesting) image_.refuse("groups are nested more than ", kMostNesting, " deep");
    if (const auto known = arrays_.find(address); known != arrays_.end()) {
      image_.spend(64 * known->second.attributes.size(), "an array of several names");
      return known->second;
    }
    const std::vector<Message> messages = read_messages(image_, address);
    Hdf5Object object;
    for (const Message& message : messages)
      if (message.type == kAttribute) {
        Attribute attribute = read_attribute(message.body);
        object.attributes.insert_or_assign(std::move(attribute.name), std::move(attribute.value));
      }
    if (const Message* type = find(messages, kDatatype)) {
      read_value(object, messages, read_datatype(type->body));
      return arrays_[address] = std::move(object);
    }
    if (!groups_.insert(address).second) image_.refuse("two links lead to the group at byte ", address);
    visit_links(image_, messages, [&](std::string_view name, std::uint64_t child) {
      Hdf5Object item = read(child, path + "/" + std::string(name), depth + 1);
      if (!object.items.emplace(name, std::move(item)).second) image_.refuse("two items are named ", name);
    });
    return object;
  }

  void read_value(Hdf5Object& object, const std::vector<Message>& messages, Datatype type) {
    if (type.kind == Kind::opaque) {
      const auto dtype = object.attributes.find("dtype");
      const bool known =
          dtype != object.attributes.end() && dtype->second.dtype() == DType::string && dtype->second.size() == 1;
      if (!known || dtype->second.strings()[0] != "bfloat16")
        image_.refuse("opaque elements without an attribute dtype = \"bfloat16\"");
      object.attributes.erase("dtype");  // the tensor's dtype says it
    }
    object.value = read_array(image_, heap_, messages, type);
  }

  Attribute read_attribute(Cursor cursor) {
    const int version = cursor.u8();
    if (version < 1 || version > 3) cursor.refuse("version ", version, " of an attribute");
    if (cursor.u8() && version > 1) cursor.refuse("an attribute with a type or shape shared between objects");
    const std::size_t name_bytes = cursor.u16(), type_bytes = cursor.u16(), space_bytes = cursor.u16();
    if (version == 3) cursor.skip(1);  // character set
    const auto padded = [&](std::size_t bytes, const char* what) {
      Cursor part = cursor.part(bytes, what);
      if (version == 1) cursor.align(8);
      return part;
    };
    const std::string name(padded(name_bytes, "an attribute's name").text());
    const Datatype type = read_datatype(padded(type_bytes, "an attribute's type"));
    const Dataspace space = read_dataspace(padded(space_bytes, "an attribute's shape"));
    if (type.kind == Kind::opaque) cursor.refuse("attribute ", name, " is opaque");
    return {name, decode(image_, heap_, type, space.shape, cursor.take(stored_bytes(image_, type, space.shape)))};
  }

  Image& image_;
  GlobalHeap heap_;
  std::set<std::uint64_t> groups_;
  std::map<std::uint64_t, Hdf5Object> arrays_;  // several names may lead to one
  bool placed_ = false;
};

}  // namespace
}  // namespace hdf5

Hdf5Object hdf5_from_bytes(std::string_view bytes, const std::string& name) {
  hdf5::Image image(bytes, name);
  const std::uint64_t root = hdf5::read_superblock(image);
  Hdf5Object object = hdf5::Reader(image).read(root, "", 0);
  if (!object.is_group()) image.refuse("the root is no group");
  hdf5::check_and_drop_checksum(object, name);
  return object;
}

Hdf5Object load_hdf5(const std::string& path) { return hdf5_from_bytes(read_file(path), path); }

const Hdf5Object* Hdf5Object::find(std::string_view path) const {
  if (path.empty()) return this;
  const std::size_t slash = path.find('/');
  const auto item = items.find(std::string(path.substr(0, slash)));
  if (item == items.end()) return nullptr;
  return slash == std::string_view::npos ? &item->second : item->second.find(path.substr(slash + 1));
}

Hdf5Object& Hdf5Object::group(std::string_view path) {
  if (path.empty()) return *this;
  const std::size_t slash = path.find('/');
  Hdf5Object& item = items[std::string(path.substr(0, slash))];
  return slash == std::string_view::npos ? item : item.group(path.substr(slash + 1));
}

}  // namespace tandem
