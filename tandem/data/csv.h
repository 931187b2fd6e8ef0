// CSV files: rows of fields with types given or inferred, quoted fields, missing values.
#pragma once
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/data/byte_file.h"
#include "tandem/data/dataset.h"

namespace tandem {

struct CsvColumn {
  DType dtype = DType::f32;  // f32, f64, i32, i64 or string
  Tensor default_value;      // for a missing field; undefined: it must be there
  std::string name;
};

struct CsvOptions {
  std::vector<CsvColumn> columns;  // those that are read
  std::vector<std::int64_t> select;  // their places in the file, rising; none: the first ones
  bool exact = true;                 // rows must have no further fields
  char delimiter = ',';
  bool header = false;
  bool quotes = true;
  std::string na_value;              // stands for a missing field, as an empty one does
  std::string compression;
};

namespace data {

/// Rows of one file, many at a time.
class CsvReader {
 public:
  /// `options` must outlive the reader.
  CsvReader(ByteFile file, const CsvOptions& options);
  ~CsvReader();
  CsvReader(CsvReader&&) noexcept;
  /// Up to `most` rows, a tensor a column; 0 at the end. Throws bad_file naming file, line and column; the next call
  /// goes on behind the row that was at fault.
  std::int64_t next(std::int64_t most, Element& out);

 private:
  struct Column;
  bool next_line(std::string_view& line);
  void read_row(std::string_view line);
  std::string_view field(std::string_view& rest, bool& last);
  /// Reads a plain number and passes over it; false: nothing was done.
  bool put_plain(std::size_t column, std::string_view& rest, bool& last);
  void put(std::size_t column, std::string_view text, bool quoted);
  [[noreturn]] void bad(const std::string& what) const;

  ByteFile file_;
  const CsvOptions& options_;
  std::vector<Column> columns_;
  std::int64_t line_ = 0;
  std::size_t to_skip_ = 0;
  std::string unquoted_;
  bool was_quoted_ = false, plain_ = true;
  std::exception_ptr error_;
};

}  // namespace data

/// What the first rows of a file look like: names of the header (or none), and the narrowest dtype that fits each
/// column, of int32, int64, float32, float64, string.
std::vector<CsvColumn> infer_csv(const std::string& path, const CsvOptions& options, std::int64_t rows = 100);

/// A tuple of scalars a row; a map when the columns have names.
Dataset csv_dataset(std::vector<std::string> files, CsvOptions options);

}  // namespace tandem
