// Lines of text files, plain and packed; the first byte chooses. Without packing every byte is given out again.
#include "tandem/data/records.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/in_file.h"

void tandem::fuzz::read(std::string_view bytes) {
  static constexpr const char* kCompressions[] = {"", "GZIP", "ZLIB"};
  if (bytes.empty()) return;
  const std::string compression = kCompressions[static_cast<unsigned char>(bytes[0]) % 3];
  const InFile file(bytes.substr(1));
  std::size_t given = 0, ends = 0;
  for (const Value& value : text_line_dataset({file.path()}, compression)) {
    given += value.tensor().strings()[0].size();
    ++ends;
  }
  if (!compression.empty()) return;
  // A line may lose its "\n" and its "\r", nothing else.
  if (given > bytes.size() - 1 || given + 2 * ends < bytes.size() - 1) __builtin_trap();
}
