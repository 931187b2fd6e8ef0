// A file of elements: their spec, then every element with a checksum, then their number. What cache(file) and save()
// write and load() reads.
#pragma once
#include <cstdint>
#include <fstream>
#include <string>

#include "tandem/data/structure.h"

namespace tandem::data {

class ElementWriter {
 public:
  ElementWriter(std::string path, const ElementSpec& spec);
  void append(const Element& element);
  /// Writes the number of elements; a file without it counts as cut short.
  void finish();

 private:
  void record(std::string_view payload);
  std::string path_;
  std::ofstream file_;
  std::string buffer_;
  std::int64_t count_ = 0;
};

/// Throws bad_file naming the file and the element where it is damaged.
class ElementReader {
 public:
  explicit ElementReader(std::string path);
  const ElementSpec& spec() const { return spec_; }
  std::int64_t count() const { return count_; }
  bool next(Element& out);

 private:
  bool record(std::string& payload);
  [[noreturn]] void damaged(const std::string& what) const;
  std::string path_;
  std::ifstream file_;
  ElementSpec spec_;
  std::int64_t count_ = 0, at_ = 0;
  std::uint64_t left_ = 0;  // bytes of the file not read yet
  std::string payload_;
};

/// An element as bytes and back; `where` stands for the file in errors.
void encode(const Element& element, std::string& out);
Element decode(std::string_view bytes, std::size_t leaves, const std::string& where);

}  // namespace tandem::data
