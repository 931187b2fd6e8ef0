#include "tandem/data/example.h"

#include <algorithm>
#include <cstring>

#include "tandem/data/recorder.h"
#include "tandem/data/rows.h"

namespace tandem {
namespace {

[[noreturn]] void damaged(std::string_view what) {
  fail(ErrorCode::bad_file, "Could not parse example input: ", what,
       "; the bytes are not a serialised tf.train.Example");
}

/// Protobuf's wire format, every read checked.
class Message {
 public:
  explicit Message(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) damaged("a number ends early");
      const auto byte = static_cast<unsigned char>(bytes_[0]);
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (!(byte & 0x80)) return value;
    }
    damaged("a number has more than ten bytes");
  }
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) damaged("a field ends early");
    const std::string_view part = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return part;
  }
  std::string_view field() { return take(varint()); }
  float number() {
    float value;
    std::memcpy(&value, take(4).data(), 4);
    return value;
  }
  std::size_t left() const { return bytes_.size(); }
  const char* data() const { return bytes_.data(); }

  /// Passes over a field of the given wire type.
  void pass(std::uint64_t tag) {
    switch (tag & 7) {
      case 0: varint(); return;
      case 1: take(8); return;
      case 2: field(); return;
      case 5: take(4); return;
      default: damaged("an unknown kind of field");
    }
  }

 private:
  std::string_view bytes_;
};

constexpr std::uint64_t tag(int field, int wire) {
  return static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire);
}

/// Calls found(key, value) for each feature of an Example; both are views into `bytes`.
template <class F>
void for_each_feature(std::string_view bytes, F found) {
  Message example(bytes);
  while (!example.done()) {
    const std::uint64_t t = example.varint();
    if (t != tag(1, 2)) {
      example.pass(t);
      continue;
    }
    Message features(example.field());
    while (!features.done()) {
      const std::uint64_t entry_tag = features.varint();
      if (entry_tag != tag(1, 2)) {
        features.pass(entry_tag);
        continue;
      }
      Message entry(features.field());
      std::string_view key, value;
      while (!entry.done()) {
        const std::uint64_t part = entry.varint();
        if (part == tag(1, 2)) key = entry.field();
        else if (part == tag(2, 2)) value = entry.field();
        else entry.pass(part);
      }
      found(key, value);
    }
  }
}

/// The list inside a Feature: its kind (1 bytes, 2 floats, 3 integers; 0 none) and its bytes.
struct List {
  int kind = 0;
  std::string_view bytes;
};
List list_of(std::string_view feature) {
  Message message(feature);
  List list;
  while (!message.done()) {
    const std::uint64_t t = message.varint();
    const auto kind = static_cast<int>(t >> 3);
    if ((t & 7) == 2 && kind >= 1 && kind <= 3) list = {kind, message.field()};
    else message.pass(t);
  }
  return list;
}

/// Calls put(value) for each value; floats and integers may be packed or not.
template <class F>
void for_each_bytes(std::string_view list, F put) {
  Message message(list);
  while (!message.done()) {
    const std::uint64_t t = message.varint();
    if (t == tag(1, 2)) put(message.field());
    else message.pass(t);
  }
}
template <class F>
void for_each_float(std::string_view list, F put) {
  Message message(list);
  while (!message.done()) {
    const std::uint64_t t = message.varint();
    if (t == tag(1, 2)) {
      Message packed(message.field());
      if (packed.left() % 4) damaged("packed floats of a broken length");
      put(packed.data(), packed.left() / 4);
    } else if (t == tag(1, 5)) {
      put(message.take(4).data(), std::size_t{1});
    } else {
      message.pass(t);
    }
  }
}
template <class F>
void for_each_integer(std::string_view list, F put) {
  Message message(list);
  while (!message.done()) {
    const std::uint64_t t = message.varint();
    if (t == tag(1, 2))
      for (Message packed(message.field()); !packed.done();) put(static_cast<std::int64_t>(packed.varint()));
    else if (t == tag(1, 0)) put(static_cast<std::int64_t>(message.varint()));
    else message.pass(t);
  }
}

int kind_of(DType dtype) { return dtype == DType::string ? 1 : dtype == DType::f32 ? 2 : 3; }
DType dtype_of_kind(int kind) { return kind == 1 ? DType::string : kind == 2 ? DType::f32 : DType::i64; }

/// The values of one feature over many examples, in the order they come.
struct Column {
  std::vector<std::string> strings;
  std::vector<float> floats;
  std::vector<std::int64_t> integers;

  std::size_t size(DType dtype) const {
    return dtype == DType::string ? strings.size() : dtype == DType::f32 ? floats.size() : integers.size();
  }
  void append(const List& list) {
    if (list.kind == 1) for_each_bytes(list.bytes, [&](std::string_view value) { strings.emplace_back(value); });
    else if (list.kind == 2)
      for_each_float(list.bytes, [&](const char* values, std::size_t count) {
        if (count == 0) return;  // an empty vector has no address to copy to
        const std::size_t before = floats.size();
        floats.resize(before + count);
        std::memcpy(floats.data() + before, values, count * 4);
      });
    else for_each_integer(list.bytes, [&](std::int64_t value) { integers.push_back(value); });
  }
  void append(const Tensor& tensor) {
    if (tensor.dtype() == DType::string)
      strings.insert(strings.end(), tensor.strings().begin(), tensor.strings().end());
    else if (tensor.dtype() == DType::f32)
      floats.insert(floats.end(), tensor.data<float>().begin(), tensor.data<float>().end());
    else integers.insert(integers.end(), tensor.data<std::int64_t>().begin(), tensor.data<std::int64_t>().end());
  }
  /// Zeros and empty strings up to `count` values.
  void pad(DType dtype, std::size_t count) {
    if (dtype == DType::string) strings.resize(count);
    else if (dtype == DType::f32) floats.resize(count);
    else integers.resize(count);
  }
  void reserve(DType dtype, std::size_t count) {
    if (dtype == DType::f32) floats.reserve(count);
    else if (dtype == DType::i64) integers.reserve(count);
    else strings.reserve(count);
  }
  Tensor take(DType dtype, const Shape& shape) {
    if (dtype == DType::string) return Tensor::from_strings(std::move(strings), shape);
    if (dtype == DType::f32) return Tensor::from(floats, shape);
    return Tensor::from(integers, shape);
  }
};

void check(const std::vector<FeatureSpec>& features) {
  for (const FeatureSpec& feature : features) {
    if (feature.dtype != DType::f32 && feature.dtype != DType::i64 && feature.dtype != DType::string)
      fail(ErrorCode::unsupported_dtype, "parse_example: feature ", feature.name,
           " must be float32, int64 or string, got ", feature.dtype);
    const Tensor& value = feature.default_value;
    if (value.defined() &&
        (value.dtype() != feature.dtype || (value.size() != 1 && value.size() != feature.shape.elements())))
      fail(ErrorCode::shape_mismatch, "parse_example: the default of feature ", feature.name, " is ", value.spec(),
           ", needed ", TensorSpec(feature.dtype, feature.shape));
  }
}

void append_default(const FeatureSpec& feature, Column& column) {
  if (!feature.default_value.defined())
    fail(ErrorCode::invalid_argument, "Feature: ", feature.name, " (data type: ", feature.dtype,
         ") is required but could not be found.");
  const auto times = feature.default_value.size() == 1 ? feature.shape.elements() : 1;
  for (std::int64_t i = 0; i < times; ++i) column.append(feature.default_value);
}

/// Reads one example into the columns.
class ExampleParser {
 public:
  explicit ExampleParser(const std::vector<FeatureSpec>& features) : features_(features), lists_(features.size()) {}

  void parse(std::string_view bytes, std::vector<Column>& columns) {
    std::ranges::fill(lists_, List{});
    std::size_t guess = 0;  // examples of one file mostly list their features in one order
    for_each_feature(bytes, [&](std::string_view key, std::string_view value) {
      const std::size_t count = features_.size();
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = (guess + i) % count;
        if (features_[at].name != key) continue;
        lists_[at] = list_of(value);
        guess = at + 1;
        return;
      }
    });
    for (std::size_t i = 0; i < features_.size(); ++i) append(features_[i], lists_[i], columns[i]);
  }

 private:
  static void append(const FeatureSpec& feature, const List& list, Column& column) {
    if (list.kind == 0) {
      if (!feature.variable) append_default(feature, column);
      return;
    }
    if (list.kind != kind_of(feature.dtype))
      fail(ErrorCode::invalid_argument, "Key: ", feature.name,
           ".  Data types don't match. Data type: ", dtype_of_kind(list.kind), " but expected type: ", feature.dtype);
    const std::size_t before = column.size(feature.dtype);
    column.append(list);
    const auto got = static_cast<std::int64_t>(column.size(feature.dtype) - before);
    if (!feature.variable && got != feature.shape.elements())
      fail(ErrorCode::invalid_argument, "Key: ", feature.name, ".  Number of ", feature.dtype,
           " values != expected.  values size: ", got, " but output shape: ", feature.shape);
  }
  const std::vector<FeatureSpec>& features_;
  std::vector<List> lists_;
};

/// Examples into tensors with a first axis.
Tensors parse_many(std::span<const std::string> serialized, const std::vector<FeatureSpec>& features) {
  std::vector<Column> columns(features.size());
  for (std::size_t i = 0; i < features.size(); ++i)
    if (!features[i].variable)
      columns[i].reserve(features[i].dtype, serialized.size() * static_cast<std::size_t>(features[i].shape.elements()));
  std::vector<std::vector<std::size_t>> ends(features.size());  // of each example, for variable features
  ExampleParser parser(features);
  for (const std::string& bytes : serialized) {
    parser.parse(bytes, columns);
    for (std::size_t i = 0; i < features.size(); ++i)
      if (features[i].variable) ends[i].push_back(columns[i].size(features[i].dtype));
  }
  const auto count = static_cast<std::int64_t>(serialized.size());
  Tensors out;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const FeatureSpec& feature = features[i];
    if (!feature.variable) {
      out.push_back(columns[i].take(feature.dtype, data::with_first_axis(count, feature.shape)));
      continue;
    }
    const Tensor all =
        columns[i].take(feature.dtype, {ends[i].empty() ? 0 : static_cast<std::int64_t>(ends[i].back())});
    std::size_t longest = 0, begin = 0;
    for (std::size_t end : ends[i]) longest = std::max(longest, end - std::exchange(begin, end));
    Column padded;
    begin = 0;
    for (std::size_t e = 0; e < ends[i].size(); ++e) {
      padded.append(data::rows(all, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(ends[i][e] - begin)));
      padded.pad(feature.dtype, (e + 1) * longest);
      begin = ends[i][e];
    }
    out.push_back(padded.take(feature.dtype, {count, static_cast<std::int64_t>(longest)}));
  }
  return out;
}

Tensors parse_one(const Tensor& serialized, const std::vector<FeatureSpec>& features) {
  std::vector<Column> columns(features.size());
  ExampleParser(features).parse(serialized.strings()[0], columns);
  Tensors out;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const auto size = static_cast<std::int64_t>(columns[i].size(features[i].dtype));
    out.push_back(columns[i].take(features[i].dtype, features[i].variable ? Shape{size} : features[i].shape));
  }
  return out;
}

/// parse_single_example in a recorded function: over a block it reads all examples into one tensor a feature.
class ParseCall final : public data::RecordedCall {
 public:
  explicit ParseCall(std::vector<FeatureSpec> features) : features_(std::move(features)) {}
  std::string_view name() const override { return "parse_single_example"; }
  Specs outputs() const override {
    Specs specs;
    for (const FeatureSpec& feature : features_) specs.emplace_back(feature.dtype, feature.shape);
    return specs;
  }
  Tensors run(std::span<const Tensor> inputs, std::int64_t rows) const override {
    return rows < 0 ? parse_one(inputs[0], features_) : parse_many(inputs[0].strings(), features_);
  }

 private:
  std::vector<FeatureSpec> features_;
};

void check_strings(std::string_view op, const Tensor& serialized, int rank) {
  if (serialized.dtype() != DType::string || serialized.rank() != rank)
    fail(ErrorCode::invalid_argument, op, ": needs a string tensor of ", rank, rank == 1 ? " axis" : " axes", ", got ",
         serialized.spec());
}

}  // namespace

Tensors parse_single_example(const Tensor& serialized, const std::vector<FeatureSpec>& features) {
  check(features);
  check_strings("parse_single_example", serialized, 0);
  // How long a variable feature is shows in its bytes only: such a function is called for each element.
  if (std::ranges::any_of(features, [](const FeatureSpec& feature) { return feature.variable; }))
    return parse_one(serialized, features);
  return data::run_or_record(std::make_shared<ParseCall>(features), std::span(&serialized, 1));
}

Tensors parse_example(const Tensor& serialized, const std::vector<FeatureSpec>& features) {
  check(features);
  check_strings("parse_example", serialized, 1);
  return parse_many(serialized.strings(), features);
}

// --- Whole examples. ---

namespace {

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void put_field(std::string& out, int field, std::string_view bytes) {
  put_varint(out, tag(field, 2));
  put_varint(out, bytes.size());
  out += bytes;
}

std::string encoded(const FeatureValues& values) {
  std::string list, out;
  if (const auto* strings = std::get_if<0>(&values)) {
    for (const std::string& value : *strings) put_field(list, 1, value);
  } else if (const auto* floats = std::get_if<1>(&values)) {
    if (!floats->empty()) put_field(list, 1, {reinterpret_cast<const char*>(floats->data()), floats->size() * 4});
  } else {
    std::string packed;
    for (std::int64_t value : std::get<2>(values)) put_varint(packed, static_cast<std::uint64_t>(value));
    if (!packed.empty()) put_field(list, 1, packed);
  }
  put_field(out, static_cast<int>(values.index()) + 1, list);
  return out;
}

}  // namespace

std::string serialize_example(const Features& features) {
  std::string all, out;
  for (const auto& [name, values] : features) {
    std::string entry;
    put_field(entry, 1, name);
    put_field(entry, 2, encoded(values));
    put_field(all, 1, entry);
  }
  put_field(out, 1, all);
  return out;
}

Features read_example(std::string_view bytes) {
  Features out;
  for_each_feature(bytes, [&](std::string_view key, std::string_view value) {
    const List list = list_of(value);
    Column column;
    if (list.kind != 0) column.append(list);
    FeatureValues& values = out[std::string(key)];
    if (list.kind == 2) values = std::move(column.floats);
    else if (list.kind == 3) values = std::move(column.integers);
    else values = std::move(column.strings);
  });
  return out;
}

}  // namespace tandem
