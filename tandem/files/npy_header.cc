#include <optional>
#include <vector>

#include "tandem/files/npy_format.h"
#include "tandem/core/print.h"

namespace tandem {
namespace {

/// Reads the one literal NumPy writes: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  struct Result {
    std::string descr;
    bool fortran = false;
    std::vector<std::int64_t> shape;
  };

  Result read() {
    Result out;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !has_descr) out.descr = descr(), has_descr = true;
      else if (key == "fortran_order" && !has_order) out.fortran = boolean(), has_order = true;
      else if (key == "shape" && !has_shape) out.shape = tuple(), has_shape = true;
      else bad("each of descr, fortran_order and shape once");
      if (!accept(',') && peek() != '}') bad("',' or '}'");
    }
    if (peek() != '\0') bad("nothing behind the '}'");
    if (!has_descr || !has_order || !has_shape) bad("descr, fortran_order and shape");
    return out;
  }

 private:
  [[noreturn]] void bad(const char* expected) const {
    const std::string found(text_.substr(std::min(at_, text_.size()), 40));
    fail(ErrorCode::bad_file, name_, ": the array's header cannot be read: at character ", at_, " found ",
         bytes_repr(found), ", expected ", expected);
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    const char wanted[] = {'\'', c, '\'', '\0'};
    if (!accept(c)) bad(wanted);
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') bad("a quoted word");
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != quote) ++at_;
    if (at_ >= text_.size()) bad("a closing quote");
    return std::string(text_.substr(begin, at_++ - begin));
  }
  std::string descr() {
    if (peek() == '[' || peek() == '(')
      fail(ErrorCode::unsupported_dtype, name_,
           " holds a structured array; save each of its fields as an array of its own");
    return string();
  }
  bool boolean() {
    peek();
    for (auto [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    bad("True or False");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> out;
    expect('(');
    while (!accept(')')) {
      out.push_back(number());
      if (!accept(',') && peek() != ')') bad("',' or ')'");
    }
    return out;
  }
  std::int64_t number() {
    peek();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value))
        bad("a size below 2^63");
    if (at_ == begin) bad("a size of 0 or more");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
    return value;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

struct FixedDescr {
  std::string_view descr;  // without the byte order
  DType dtype;
};
constexpr FixedDescr kFixed[] = {{"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64}, {"i1", DType::i8},
                                 {"u1", DType::u8},  {"i4", DType::i32}, {"i8", DType::i64}, {"i2", DType::i16},
                                 {"u2", DType::u16}, {"u4", DType::u32}, {"u8", DType::u64}, {"b1", DType::boolean}};

/// The number behind S or U; nothing when it is none or absurd.
std::optional<std::size_t> item_length(std::string_view digits) {
  if (digits.empty() || digits.size() > 9) return std::nullopt;
  std::size_t value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::size_t>(c - '0');
  }
  return value;
}

void set_dtype(NpyHeader& header, std::string_view descr, const std::string& name) {
  const char order = descr.empty() ? '\0' : descr[0];
  const bool has_order = order == '<' || order == '>' || order == '|' || order == '=';
  const std::string_view type = has_order ? descr.substr(1) : descr;
  header.swapped = order == '>';
  for (const FixedDescr& fixed : kFixed) {
    if (fixed.descr != type) continue;
    header.dtype = fixed.dtype;
    header.item_bytes = dtype_size(fixed.dtype);
    return;
  }
  if (type.starts_with("O"))
    fail(ErrorCode::bad_file, name, " holds pickled Python objects (dtype ", descr,
         "), which are not read because loading them runs code; save a numeric or string array instead");
  if (type.starts_with("V"))
    fail(ErrorCode::unsupported_dtype, name, " holds raw records (dtype ", descr,
         "); NumPy stores bfloat16 this way and loses its name: save it as float32");
  const std::optional<std::size_t> length = type.empty() ? std::nullopt : item_length(type.substr(1));
  if (length && (type[0] == 'S' || type[0] == 'U' || type[0] == 'a')) {
    header.kind = type[0] == 'U' ? NpyKind::unicode : NpyKind::bytes;
    header.dtype = DType::string;
    header.item_bytes = *length * (type[0] == 'U' ? 4 : 1);
    return;
  }
  fail(ErrorCode::unsupported_dtype, name, ": no dtype here holds NumPy's '", descr,
       "'; convert it before saving, for example with .astype('float32') or .astype('int64')");
}

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& name) {
  const HeaderReader::Result raw = HeaderReader(text, name).read();
  NpyHeader header;
  header.fortran = raw.fortran;
  set_dtype(header, raw.descr, name);
  try {
    header.shape = Shape(std::span<const std::int64_t>(raw.shape));
  } catch (const Error& error) {
    fail(ErrorCode::bad_file, name, ": the header's shape (", join(raw.shape), ") is impossible: ", error.what());
  }
  return header;
}

NpyHeader npy_header_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::bf16)
    fail(ErrorCode::unsupported_dtype, "NumPy's files have no bfloat16; save cast(x, float32), which is exact");
  NpyHeader header{.dtype = tensor.dtype(), .item_bytes = dtype_size(tensor.dtype()), .shape = tensor.shape()};
  if (tensor.dtype() != DType::string) return header;
  header.kind = NpyKind::bytes;
  header.item_bytes = 1;
  for (const std::string& value : tensor.strings()) {
    if (!value.empty() && value.back() == '\0')
      fail(ErrorCode::cannot_convert, "the string ", bytes_repr(value),
           " ends in a zero byte, which NumPy's files do not keep");
    header.item_bytes = std::max(header.item_bytes, value.size());
  }
  return header;
}

std::string npy_header_bytes(const NpyHeader& header) {
  std::string descr;
  for (const FixedDescr& fixed : kFixed)
    if (fixed.dtype == header.dtype) descr = (header.item_bytes == 1 ? "|" : "<") + std::string(fixed.descr);
  if (header.kind == NpyKind::bytes) descr = "|S" + std::to_string(header.item_bytes);
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + tuple_text(header.shape) + ", }";
  // NumPy leaves room for the first size to grow to 21 digits in place.
  if (header.shape.rank() > 0) dict += std::string(21 - std::to_string(header.shape[0]).size(), ' ');
  constexpr std::size_t kPrefix = 10;  // magic, version, length
  dict += std::string(63 - (kPrefix + dict.size()) % 64, ' ') + '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(dict.size() & 0xFF);
  out += static_cast<char>(dict.size() >> 8);
  return out + dict;
}

}  // namespace tandem
