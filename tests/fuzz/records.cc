// TFRecord files, plain and packed; the first byte chooses.
#include "tandem/data/records.h"

#include "tests/fuzz/fuzz.h"

void tandem::fuzz::read(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto compression = static_cast<data::Compression>(static_cast<unsigned char>(bytes[0]) % 3);
  data::RecordReader reader(data::ByteFile(bytes.substr(1), "input", compression));
  std::string_view record;
  while (reader.next(record)) {}
}
