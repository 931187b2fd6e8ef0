// Object headers, B-trees and links.
#include "tandem/files/hdf5_object.h"

#include <algorithm>

namespace tandem::hdf5 {
namespace {

constexpr std::uint8_t kShared = 2;  // flag of a message that stands elsewhere

void add_message(std::vector<Message>& out, std::uint16_t type, std::uint8_t flags, Cursor body) {
  const bool read =
      type == kDataspace || type == kDatatype || type == kLayout || type == kFilters || type == kAttribute;
  if ((flags & kShared) && read) body.refuse("it is shared between objects; this reader wants it in place");
  if (out.size() > 0xFFFF) body.refuse("more than 65535 messages");
  out.push_back({type, body});
}

/// Where the header goes on.
struct Block {
  std::uint64_t address, bytes;
};

Block continuation(Cursor body) {
  const std::uint64_t address = body.u64();
  return {address, body.u64()};
}

void read_old_messages(Image& image, std::uint64_t address, std::vector<Message>& out) {
  Cursor head = image.at(address, 16, "an object header");
  head.skip(8);
  std::vector<Block> blocks{{address + 16, head.u32()}};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Cursor cursor = image.at(blocks[i].address, blocks[i].bytes, "an object header's messages");
    while (cursor.left() >= 8) {
      const std::uint16_t type = cursor.u16(), size = cursor.u16();
      const std::uint8_t flags = cursor.u8();
      cursor.skip(3);
      const Cursor body = cursor.part(size, "a message");
      if (type == kContinuation) blocks.push_back(continuation(body));
      else add_message(out, type, flags, body);
    }
  }
}

void read_new_block(Cursor cursor, bool ordered, std::vector<Message>& out, std::vector<Block>& blocks) {
  const std::size_t head = ordered ? 6 : 4;
  while (cursor.left() >= head) {
    const std::uint8_t type = cursor.u8();
    const std::uint16_t size = cursor.u16();
    const std::uint8_t flags = cursor.u8();
    if (ordered) cursor.skip(2);
    const Cursor body = cursor.part(size, "a message");
    if (type == kContinuation) blocks.push_back(continuation(body));
    else add_message(out, type, flags, body);
  }
}

void read_new_messages(Image& image, std::uint64_t address, std::vector<Message>& out) {
  constexpr std::uint8_t kSizeBits = 3, kOrdered = 4, kPhases = 16, kTimes = 32;
  Cursor head = image.at(address, std::min<std::uint64_t>(image.size() - address, 34), "an object header");
  head.skip(5);
  const std::uint8_t flags = head.u8();
  if (flags & kTimes) head.skip(16);
  if (flags & kPhases) head.skip(4);
  const std::uint64_t first = head.unsigned_of(std::size_t{1} << (flags & kSizeBits));
  std::vector<Block> blocks;
  read_new_block(image.at(head.address(), first, "an object header's messages"), flags & kOrdered, out, blocks);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Cursor cursor = image.at(blocks[i].address, blocks[i].bytes, "a continued object header");
    if (cursor.take(4) != "OCHK") cursor.refuse("it does not begin as one");
    if (cursor.left() < 4) cursor.refuse("no room for its checksum");
    read_new_block(cursor.part(cursor.left() - 4, "a continued object header"), flags & kOrdered, out, blocks);
  }
}

void visit_node(Image& image, std::uint64_t address, TreeType type, std::size_t key_bytes, int level,
                const std::function<void(Cursor, std::uint64_t)>& found) {
  Cursor head = image.at(address, 24, "a B-tree");
  if (head.take(4) != "TREE" || head.u8() != static_cast<std::uint8_t>(type)) head.refuse("it does not begin as one");
  const int own = head.u8();
  if (level >= 0 && own != level) head.refuse("level ", own, " below level ", level + 1);
  const std::size_t entries = head.u16();
  Cursor cursor = image.at(address + 24, entries * (key_bytes + 8), "the entries of a B-tree");
  for (std::size_t i = 0; i < entries; ++i) {
    const Cursor key = cursor.part(key_bytes, "a key of a B-tree");
    const std::uint64_t child = cursor.u64();
    if (own == 0) found(key, child);
    else visit_node(image, child, type, key_bytes, own - 1, found);
  }
}

void visit_symbols(Image& image, Cursor message, const std::function<void(std::string_view, std::uint64_t)>& found) {
  const std::uint64_t tree = message.u64(), heap = message.u64();
  Cursor head = image.at(heap, 32, "a local heap");
  if (head.take(4) != "HEAP") head.refuse("it does not begin as one");
  head.skip(4);
  const std::uint64_t heap_bytes = head.u64();
  head.skip(8);
  const Cursor names = image.at(head.u64(), heap_bytes, "the names of a group");
  visit_tree(image, tree, TreeType::group, 8, [&](Cursor, std::uint64_t child) {
    Cursor node = image.at(child, 8, "a symbol table");
    if (node.take(4) != "SNOD") node.refuse("it does not begin as one");
    node.skip(2);
    const std::size_t count = node.u16();
    Cursor entries = image.at(child + 8, count * 40, "the entries of a symbol table");
    for (std::size_t i = 0; i < count; ++i) {
      Cursor name = names;
      name.skip(entries.u64());
      const std::uint64_t object = entries.u64();
      const std::uint32_t cached = entries.u32();
      entries.skip(4 + 16);
      const std::string_view text = name.text();
      image.spend(text.size(), "names of a group");
      if (cached != 2) found(text, object);  // 2: a link by name
    }
  });
}

void visit_link(Cursor link, const std::function<void(std::string_view, std::uint64_t)>& found) {
  if (const int version = link.u8(); version != 1) link.refuse("version ", version, " of a link");
  const std::uint8_t flags = link.u8();
  const std::uint8_t type = flags & 8 ? link.u8() : 0;
  if (flags & 4) link.skip(8);  // creation order
  if (flags & 16) link.skip(1);  // character set
  const std::uint64_t length = link.unsigned_of(std::size_t{1} << (flags & 3));
  const std::string_view name = link.take(length);
  if (type == 0) found(name, link.u64());
}

void refuse_dense(Cursor info, std::size_t skipped, const char* what) {
  info.skip(1);
  const std::uint8_t flags = info.u8();
  if (flags & 1) info.skip(skipped);
  if (info.u64() != kNowhere)
    info.refuse(what,
                " are kept in a fractal heap, which this reader does not know; write the file with "
                "libver=\"earliest\", h5py's default");
}

}  // namespace

std::vector<Message> read_messages(Image& image, std::uint64_t address) {
  std::vector<Message> out;
  Cursor start = image.at(address, 4, "an object header");
  const std::string_view magic = start.take(4);
  if (magic == "OHDR") read_new_messages(image, address, out);
  else if (magic[0] == 1) read_old_messages(image, address, out);
  else start.refuse("it does not begin as one");
  if (const Message* info = find(out, kAttributeInfo)) refuse_dense(info->body, 2, "attributes");
  return out;
}

const Message* find(const std::vector<Message>& messages, MessageType type) {
  for (const Message& message : messages)
    if (message.type == type) return &message;
  return nullptr;
}

void visit_tree(Image& image, std::uint64_t address, TreeType type, std::size_t key_bytes,
                const std::function<void(Cursor, std::uint64_t)>& found) {
  visit_node(image, address, type, key_bytes, -1, found);
}

void visit_links(Image& image, const std::vector<Message>& messages,
                 const std::function<void(std::string_view, std::uint64_t)>& found) {
  if (const Message* info = find(messages, kLinkInfo)) refuse_dense(info->body, 8, "links");
  for (const Message& message : messages) {
    if (message.type == kSymbolTable) visit_symbols(image, message.body, found);
    if (message.type == kLink) visit_link(message.body, found);
  }
}

}  // namespace tandem::hdf5
