// CSV rows of every type of column; the first byte chooses the options.
#include "tandem/data/csv.h"

#include "tests/fuzz/fuzz.h"

void tandem::fuzz::read(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto flags = static_cast<unsigned char>(bytes[0]);
  const CsvOptions options{
      .columns = {{DType::f32, Tensor(1.f)}, {DType::i32, Tensor(1)}, {DType::string}, {DType::f64}, {DType::i64}},
      .select = flags & 1 ? std::vector<std::int64_t>{0, 1, 3, 4, 6} : std::vector<std::int64_t>{},
      .header = (flags & 2) != 0,
      .quotes = (flags & 4) != 0,
      .na_value = flags & 8 ? "NA" : ""};
  data::CsvReader reader(data::ByteFile(bytes.substr(1), "input", data::Compression::none), options);
  Element block;
  for (int failures = 0; failures < 8;) {
    try {
      if (reader.next(7, block) == 0) return;
    } catch (const Error&) {
      ++failures;  // the next rows must still be readable
    }
  }
}
