#include "tandem/data/csv.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "tandem/data/node.h"
#include "tandem/data/rows.h"

namespace tandem {
namespace data {

/// The values of a column read so far.
struct CsvReader::Column {
  DType dtype;
  std::string bytes;
  std::vector<std::string> strings;

  template <class T>
  void add(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void truncate(std::size_t rows) {
    bytes.resize(std::min(bytes.size(), rows * dtype_size(dtype)));
    if (dtype == DType::string) strings.resize(std::min(strings.size(), rows));
  }
  Tensor take(std::int64_t rows) {
    if (dtype == DType::string) return Tensor::from_strings(std::exchange(strings, {}), {rows});
    Fresh out = fresh({dtype, Shape{rows}});
    std::memcpy(out.bytes, bytes.data(), bytes.size());
    bytes.clear();
    return out.tensor;
  }
};

CsvReader::~CsvReader() = default;
CsvReader::CsvReader(CsvReader&&) noexcept = default;

CsvReader::CsvReader(ByteFile file, const CsvOptions& options) : file_(std::move(file)), options_(options) {
  for (const CsvColumn& column : options.columns) columns_.push_back({column.dtype, {}, {}});
  // A number may itself be what stands for a missing field.
  plain_ =
      options.na_value.empty() || std::string_view("+-.0123456789").find(options.na_value[0]) == std::string_view::npos;
  std::string_view line;
  if (options.header) next_line(line);
}

void CsvReader::bad(const std::string& what) const {
  fail(ErrorCode::bad_file, file_.path(), ", line ", line_, ": ", what);
}

/// Where the record that begins `bytes` ends; npos when that is not to be seen yet.
static std::size_t end_of_record(std::string_view bytes, bool quotes) {
  const std::size_t end = bytes.find('\n');
  if (!quotes || std::memchr(bytes.data(), '"', std::min(end, bytes.size())) == nullptr) return end;
  bool inside = false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '"') inside = !inside;
    else if (bytes[i] == '\n' && !inside) return i;
  }
  return std::string_view::npos;
}

bool CsvReader::next_line(std::string_view& line) {
  for (;;) {
    file_.skip(std::exchange(to_skip_, 0));
    std::size_t wanted = 1, end;
    std::string_view bytes;
    for (;;) {
      bytes = file_.peek(wanted);
      if (bytes.empty()) return false;
      end = end_of_record(bytes, options_.quotes);
      if (end != std::string_view::npos || bytes.size() < wanted) break;
      wanted = 2 * bytes.size();  // a record of any length is looked through twice at most
    }
    line = bytes.substr(0, end);
    to_skip_ = line.size() + (end == std::string_view::npos ? 0 : 1);
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) return true;  // empty lines are passed over, as in TensorFlow
  }
}

std::string_view CsvReader::field(std::string_view& rest, bool& last) {
  was_quoted_ = options_.quotes && rest.starts_with('"');
  std::string_view value;
  if (was_quoted_) {
    unquoted_.clear();
    std::size_t at = 1;
    for (;; ++at) {
      if (at >= rest.size()) bad("a quoted field does not end");
      if (rest[at] != '"') unquoted_ += rest[at];
      else if (at + 1 < rest.size() && rest[at + 1] == '"') unquoted_ += rest[at++];
      else break;
    }
    rest.remove_prefix(at + 1);
    if (!rest.empty() && rest[0] != options_.delimiter)
      bad(text("a quoted field is followed by '", rest[0], "' instead of '", options_.delimiter, "'"));
    value = unquoted_;
    last = rest.empty();
    if (!last) rest.remove_prefix(1);
    return value;
  }
  const std::size_t end = rest.find(options_.delimiter);
  value = rest.substr(0, end);
  if (options_.quotes && !value.empty() && std::memchr(value.data(), '"', value.size()) != nullptr)
    bad("a field with quotes inside must be quoted");
  last = end == std::string_view::npos;
  rest.remove_prefix(last ? rest.size() : end + 1);
  return value;
}

namespace {

/// The number in `text`; spaces around it are allowed. False when it is not one, or does not fit.
template <class T>
bool parse_number(std::string_view text, T& value) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range && std::is_floating_point_v<T> && end == text.data() + text.size()) {
    // Too large is infinite, too small is zero, as strtof has them.
    value = static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
    return true;
  }
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

namespace {

/// What most fields are: a plain decimal number up to the delimiter or the end. Gives where it ends, or null when the
/// field is anything else, or its rounding needs more care; then parse_number decides.
template <class T>
const char* plain_number(const char* at, const char* end, char delimiter, T& value) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                       1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
  const bool negative = at != end && *at == '-';
  at += negative;
  std::uint64_t digits = 0;
  auto take_digits = [&] {
    const char* begin = at;
    for (unsigned digit; at != end && (digit = static_cast<unsigned>(*at - '0')) < 10; ++at)
      digits = digits * 10 + digit;
    return at - begin;
  };
  std::ptrdiff_t count = take_digits(), decimals = 0;
  if (std::is_floating_point_v<T> && at != end && *at == '.') {
    ++at;
    count += decimals = take_digits();
  }
  if (count == 0 || count > 18 || (at != end && *at != delimiter)) return nullptr;
  if constexpr (std::is_floating_point_v<T>) {
    if (digits > (std::uint64_t{1} << 53)) return nullptr;
    const double exact = static_cast<double>(digits) / kPowers[decimals];  // both exact: the quotient is rounded once
    if constexpr (std::is_same_v<T, float>) {
      // Rounding again to float is right unless the double lies on, or beside, the middle between two floats.
      const std::uint64_t below = std::bit_cast<std::uint64_t>(exact) & 0x1FFFFFFF;
      if (below - 0x0FFFFFFF <= 2) return nullptr;
    }
    value = static_cast<T>(negative ? -exact : exact);
  } else {
    if (digits > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return nullptr;
    value = static_cast<T>(negative ? -static_cast<std::int64_t>(digits) : static_cast<std::int64_t>(digits));
  }
  return at;
}

}  // namespace

bool CsvReader::put_plain(std::size_t number, std::string_view& rest, bool& last) {
  Column& column = columns_[number];
  auto plain = [&]<class T>(T value) {
    const char* begin = rest.data();
    const char* end = plain_number(begin, begin + rest.size(), options_.delimiter, value);
    if (!end) return false;
    column.add(value);
    last = end == begin + rest.size();
    rest.remove_prefix(static_cast<std::size_t>(end - begin) + (last ? 0 : 1));
    return true;
  };
  switch (column.dtype) {
    case DType::f32: return plain(0.f);
    case DType::f64: return plain(0.0);
    case DType::i32: return plain(std::int32_t{0});
    case DType::i64: return plain(std::int64_t{0});
    default: return false;
  }
}

void CsvReader::put(std::size_t number, std::string_view value, bool quoted) {
  Column& column = columns_[number];
  const CsvColumn& wanted = options_.columns[number];
  const bool missing = (value.empty() && !quoted) || (!options_.na_value.empty() && value == options_.na_value);
  if (missing) {
    if (!wanted.default_value.defined()) bad(text("Field ", number, " is required but missing in record!"));
    if (column.dtype == DType::string) column.strings.push_back(wanted.default_value.strings()[0]);
    else column.bytes.append(static_cast<const char*>(wanted.default_value.raw_data()), dtype_size(column.dtype));
    return;
  }
  if (column.dtype == DType::string) {
    column.strings.emplace_back(value);
    return;
  }
  auto number_of = [&]<class T>(T zero) {
    T parsed = zero;
    if (!parse_number(value, parsed))
      bad(text("Field ", number, wanted.name.empty() ? "" : " (" + wanted.name + ")", " is not a valid ", column.dtype,
               ": '", value.substr(0, 60), "'"));
    column.add(parsed);
  };
  switch (column.dtype) {
    case DType::f32: return number_of(0.f);
    case DType::f64: return number_of(0.0);
    case DType::i32: return number_of(std::int32_t{0});
    default: return number_of(std::int64_t{0});
  }
}

void CsvReader::read_row(std::string_view line) {
  const bool all = options_.select.empty();
  std::size_t column = 0;
  bool last = false;
  std::int64_t place = 0;
  for (; !last; ++place) {
    const bool wanted = column < columns_.size() && (all || options_.select[column] == place);
    if (wanted && plain_ && put_plain(column, line, last)) {
      ++column;
      continue;
    }
    const std::string_view value = field(line, last);
    if (wanted) put(column++, value, was_quoted_);
  }
  if (column == columns_.size() && (!all || !options_.exact || place == static_cast<std::int64_t>(column))) return;
  const std::int64_t needed = all ? static_cast<std::int64_t>(columns_.size()) : options_.select.back() + 1;
  bad(text("Expect ", needed, " fields but have ", place, " in record"));
}

std::int64_t CsvReader::next(std::int64_t most, Element& out) {
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  std::int64_t rows = 0;
  std::string_view line;
  try {
    for (; rows < most && next_line(line); ++rows) read_row(line);
  } catch (...) {
    for (Column& column : columns_) column.truncate(static_cast<std::size_t>(rows));
    if (rows == 0) throw;
    error_ = std::current_exception();  // the rows before it come first
  }
  out.resize(columns_.size());
  if (rows > 0)
    for (std::size_t i = 0; i < columns_.size(); ++i) out[i] = Leaf(columns_[i].take(rows));
  return rows;
}

namespace {

class Csv final : public Node {
 public:
  Csv(std::vector<std::string> files, CsvOptions options)
      : files_(std::move(files)),
        options_(std::move(options)),
        compression_(parse_compression(options_.compression)) {
    if (options_.columns.empty()) fail(ErrorCode::invalid_argument, "csv_dataset: at least one column is needed");
    if (!options_.select.empty() && options_.select.size() != options_.columns.size())
      fail(ErrorCode::invalid_argument, "csv_dataset: ", options_.select.size(), " selected columns, ",
           options_.columns.size(), " described");
    if (std::ranges::adjacent_find(options_.select, std::greater_equal<>()) != options_.select.end())
      fail(ErrorCode::invalid_argument, "csv_dataset: selected columns must rise, got [", join(options_.select), "]");
    std::vector<std::string> names;
    for (const CsvColumn& column : options_.columns) {
      if (column.dtype != DType::f32 && column.dtype != DType::f64 && column.dtype != DType::i32 &&
          column.dtype != DType::i64 && column.dtype != DType::string)
        fail(ErrorCode::unsupported_dtype, "csv_dataset: columns are float32, float64, int32, int64 or string, got ",
             column.dtype);
      if (column.default_value.defined() &&
          (column.default_value.dtype() != column.dtype || column.default_value.size() != 1))
        fail(ErrorCode::dtype_mismatch, "csv_dataset: the default of a ", column.dtype, " column is ",
             column.default_value.spec());
      spec_.leaves.push_back({.dtype = column.dtype});
      if (!column.name.empty()) names.push_back(column.name);
    }
    std::vector<StructureRef> leaves(options_.columns.size(), Structure::leaf());
    spec_.structure = names.size() == leaves.size() ? Structure::map(std::move(names), std::move(leaves))
                                                    : Structure::tuple(std::move(leaves));
  }
  std::string_view name() const override { return "Csv"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  IteratorPtr iterate(const Pass&) const override { return std::make_unique<Reading>(*this); }

 private:
  class Reading final : public Iterator {
   public:
    explicit Reading(const Csv& node) : node_(node) {}
    bool next(Element& out) override {
      if (at_ == held_) {
        held_ = next_block(64, block_);
        at_ = 0;
        if (held_ == 0) return false;
      }
      row(block_, at_++, out);
      return true;
    }
    std::int64_t next_block(std::int64_t most, Element& out) override {
      if (at_ < held_) {
        const std::int64_t count = std::min(most, held_ - at_);
        rows(block_, at_, count, out);
        at_ += count;
        return count;
      }
      for (;;) {
        if (reader_)
          if (const std::int64_t count = reader_->next(most, out); count > 0) return count;
        reader_.reset();
        if (file_ == node_.files_.size()) return 0;
        reader_ = std::make_unique<CsvReader>(ByteFile(node_.files_[file_++], node_.compression_), node_.options_);
      }
    }

   private:
    const Csv& node_;
    std::size_t file_ = 0;
    std::unique_ptr<CsvReader> reader_;
    Element block_;
    std::int64_t at_ = 0, held_ = 0;
  };
  std::vector<std::string> files_;
  CsvOptions options_;
  Compression compression_;
  ElementSpec spec_;
};

/// The narrowest dtype of those before that still fits `value`.
DType widened(DType dtype, std::string_view value) {
  std::int32_t i32;
  std::int64_t i64;
  float f32;
  double f64;
  if (dtype == DType::i32 && parse_number(value, i32)) return DType::i32;
  if ((dtype == DType::i32 || dtype == DType::i64) && parse_number(value, i64)) return DType::i64;
  if (dtype != DType::f64 && dtype != DType::string && parse_number(value, f32) && std::isfinite(f32))
    return DType::f32;
  if (dtype != DType::string && parse_number(value, f64)) return DType::f64;
  return DType::string;
}

}  // namespace
}  // namespace data

Dataset csv_dataset(std::vector<std::string> files, CsvOptions options) {
  return Dataset(std::make_shared<data::Csv>(std::move(files), std::move(options)));
}

std::vector<CsvColumn> infer_csv(const std::string& path, const CsvOptions& options, std::int64_t rows) {
  data::ByteFile probe(path, data::parse_compression(options.compression));
  std::size_t fields = 1;
  {  // as many string columns as the first line has fields
    const std::string_view bytes = probe.peek(1 << 16);
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    bool inside = false;
    for (char c : line) {
      if (c == '"' && options.quotes) inside = !inside;
      else if (c == options.delimiter && !inside) ++fields;
    }
    if (line.empty())
      fail(ErrorCode::bad_file, path, ": the first line is empty; a CSV file begins with its header or first row");
  }
  CsvOptions as_text{.columns = {},
                     .delimiter = options.delimiter,
                     .header = false,
                     .quotes = options.quotes,
                     .na_value = options.na_value};
  as_text.columns.assign(fields, {.dtype = DType::string, .default_value = Tensor::from_strings({""}, {})});
  data::CsvReader reader(data::ByteFile(path, data::parse_compression(options.compression)), as_text);
  std::vector<CsvColumn> columns(fields, CsvColumn{.dtype = DType::i32});
  Element block;
  if (options.header && reader.next(1, block))
    for (std::size_t i = 0; i < fields; ++i) columns[i].name = block[i].tensor.strings()[0];
  std::vector<bool> seen(fields, false);
  if (reader.next(rows, block) > 0)
    for (std::size_t i = 0; i < fields; ++i)
      for (const std::string& value : block[i].tensor.strings()) {
        if (value.empty() || value == options.na_value) continue;
        columns[i].dtype = data::widened(columns[i].dtype, value);
        seen[i] = true;
      }
  for (std::size_t i = 0; i < fields; ++i) {
    if (!seen[i]) columns[i].dtype = DType::f32;  // nothing but missing values
    columns[i].default_value =
        columns[i].dtype == DType::string ? Tensor::from_strings({""}, {}) : Tensor::scalar(0.0, columns[i].dtype);
  }
  return columns;
}

}  // namespace tandem
