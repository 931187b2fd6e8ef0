// Types of columns found out from a CSV file; the first byte chooses the options.
#include "tandem/data/csv.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/in_file.h"

void tandem::fuzz::read(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto flags = static_cast<unsigned char>(bytes[0]);
  const InFile file(bytes.substr(1));
  infer_csv(file.path(), {.header = (flags & 1) != 0, .quotes = (flags & 2) != 0, .na_value = flags & 4 ? "NA" : ""},
            10);
}
