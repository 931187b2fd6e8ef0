// The attributes of one op call, as flat words: cheap to hash and compare.
// Key words choose the prepared call; run-time words (offsets, fill values, counters) are handed to the kernel.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/base/hash.h"
#include "tandem/core/dtype.h"
#include "tandem/core/shape.h"

namespace tandem {

enum class AttrKind : std::uint8_t { integer, real, boolean, dtype, ints, choice };

struct AttrDef {
  std::string_view name;
  AttrKind kind = AttrKind::integer;
  std::string_view default_value = {};  // Python text of the default; empty: must be given
  std::string_view choices = {};        // for choice: "same|valid"
  bool at_run_time = false;             // true: an argument of the kernel, not part of the cache key
};

/// Inline words with a fixed capacity; uninitialised beyond their size.
template <int kCapacity>
class Words {
 public:
  void push(std::int64_t word) {
    if (size_ == kCapacity) fail(ErrorCode::invalid_argument, "more than ", kCapacity, " attribute values in one op");
    words_[size_++] = word;
  }
  std::span<const std::int64_t> view() const { return {words_.data(), size_}; }
  friend bool operator==(const Words& a, const Words& b) {
    return a.size_ == b.size_ && std::memcmp(a.words_.data(), b.words_.data(), a.size_ * 8) == 0;
  }
  Words() = default;
  Words(const Words& other) : size_(other.size_) { std::memcpy(words_.data(), other.words_.data(), size_ * 8); }
  Words& operator=(const Words& other) {
    size_ = other.size_;
    std::memcpy(words_.data(), other.words_.data(), size_ * 8);
    return *this;
  }

 private:
  std::array<std::int64_t, kCapacity> words_;
  std::size_t size_ = 0;
};

/// The values of an op's attributes in the order of its record. A list is its length, then its values.
class Attrs {
 public:
  std::span<const std::int64_t> key() const { return key_.view(); }
  std::span<const std::int64_t> run_time() const { return run_time_.view(); }
  bool same_key(const Attrs& other) const { return key_ == other.key_; }
  std::uint64_t hash() const {
    std::uint64_t h = key_.view().size();
    for (std::int64_t word : key_.view()) h = mix(h, static_cast<std::uint64_t>(word));
    return h;
  }
  void push(bool at_run_time, std::int64_t word) { at_run_time ? run_time_.push(word) : key_.push(word); }

 private:
  Words<48> key_;
  Words<24> run_time_;
};

struct OpDef;

/// Writes attribute values in the record's order; make_attrs below is the usual way.
class AttrWriter {
 public:
  explicit AttrWriter(const OpDef& op) : op_(op) {}
  AttrWriter& put(std::int64_t value);
  AttrWriter& put(int value) { return put(static_cast<std::int64_t>(value)); }
  AttrWriter& put(bool value);
  AttrWriter& put(double value);
  AttrWriter& put(DType value);
  AttrWriter& put(std::span<const std::int64_t> values);
  AttrWriter& put(const std::vector<std::int64_t>& values) { return put(std::span<const std::int64_t>(values)); }
  AttrWriter& put(const Shape& shape) { return put(shape.sizes()); }
  AttrWriter& put(std::string_view choice);
  AttrWriter& put(const char* choice) { return put(std::string_view(choice)); }
  /// All attributes must have been written.
  const Attrs& done() const;

 private:
  const AttrDef& next(AttrKind kind);
  const OpDef& op_;
  Attrs attrs_;
  std::size_t at_ = 0;
};

template <class... Values>
Attrs make_attrs(const OpDef& op, const Values&... values) {
  AttrWriter writer(op);
  (writer.put(values), ...);
  return writer.done();
}

/// Reads attributes by name: for shape rules, gradients and kernels while they are prepared.
class AttrView {
 public:
  AttrView(const OpDef& op, const Attrs& attrs) : op_(op), attrs_(attrs) {}
  std::int64_t integer(std::string_view name) const { return find(name, AttrKind::integer)[0]; }
  bool boolean(std::string_view name) const { return find(name, AttrKind::boolean)[0] != 0; }
  double real(std::string_view name) const { return std::bit_cast<double>(find(name, AttrKind::real)[0]); }
  DType dtype(std::string_view name) const { return static_cast<DType>(find(name, AttrKind::dtype)[0]); }
  std::span<const std::int64_t> ints(std::string_view name) const { return find(name, AttrKind::ints); }
  /// The word chosen: "same".
  std::string_view choice(std::string_view name) const;
  /// "axis=[1], keepdims=true", for people.
  std::string to_string() const;
  const Attrs& attrs() const { return attrs_; }
  const OpDef& op() const { return op_; }

 private:
  std::span<const std::int64_t> find(std::string_view name, AttrKind kind) const;
  const OpDef& op_;
  const Attrs& attrs_;
};

/// The i-th of "same|valid".
std::string_view choice_at(std::string_view choices, std::int64_t index);

}  // namespace tandem
