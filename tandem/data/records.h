// TFRecord files: records with checksums, one after the other.
#pragma once
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/data/byte_file.h"
#include "tandem/data/dataset.h"

namespace tandem {

namespace data {

class RecordReader {
 public:
  explicit RecordReader(ByteFile file) : file_(std::move(file)) {}
  /// The next record, valid until the next call; false at the end. Throws bad_file naming the file, the record and
  /// where it stands; after a record whose content is damaged the next call goes on behind it.
  bool next(std::string_view& record);

 private:
  [[noreturn]] void damaged(std::string_view what);
  ByteFile file_;
  std::int64_t number_ = 0;
  std::size_t to_skip_ = 0;
  bool ended_ = false;
};

}  // namespace data

class RecordWriter {
 public:
  RecordWriter(std::string path, std::string_view compression);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  void write(std::string_view record);
  void flush();
  /// Writes what is left; throws file_error when it cannot.
  void close();

 private:
  struct Packer;
  void put(std::string_view bytes);
  std::string path_;
  std::ofstream file_;
  std::unique_ptr<Packer> packer_;
};

/// The records of TFRecord files as string tensors.
Dataset tfrecord_dataset(std::vector<std::string> files, std::string_view compression = "");
/// The lines of text files, without their ends.
Dataset text_line_dataset(std::vector<std::string> files, std::string_view compression = "");

}  // namespace tandem
