// The parts of an HDF5 object: its header's messages, its links and its array.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tandem/files/hdf5_type.h"

namespace tandem::hdf5 {

enum MessageType : std::uint16_t {
  kDataspace = 0x01,
  kLinkInfo = 0x02,
  kDatatype = 0x03,
  kFillValue = 0x05,
  kLink = 0x06,
  kExternalFiles = 0x07,
  kLayout = 0x08,
  kFilters = 0x0B,
  kAttribute = 0x0C,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
  kAttributeInfo = 0x15,
};

struct Message {
  std::uint16_t type;
  Cursor body;
};

/// The messages of the object whose header is at `address`, those of continued blocks included.
std::vector<Message> read_messages(Image& image, std::uint64_t address);
const Message* find(const std::vector<Message>& messages, MessageType type);

/// Calls `found` with the key and the address of every leaf of a version 1 B-tree.
enum class TreeType : std::uint8_t { group = 0, chunks = 1 };
void visit_tree(Image& image, std::uint64_t address, TreeType type, std::size_t key_bytes,
                const std::function<void(Cursor key, std::uint64_t child)>& found);

/// Calls `found` with the name and the header's address of every object in a group; links by name are left out.
void visit_links(Image& image, const std::vector<Message>& messages,
                 const std::function<void(std::string_view, std::uint64_t)>& found);

/// The array that the messages describe.
Tensor read_array(Image& image, GlobalHeap& heap, const std::vector<Message>& messages, const Datatype& type);

}  // namespace tandem::hdf5
