// A tensor: a value with a dtype and a shape. Cheap to copy, never changes once made.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "tandem/base/decision.h"
#include "tandem/base/error.h"
#include "tandem/core/spec.h"
#include "tandem/core/storage.h"

namespace tandem {

/// What tapes know a value by. Ids are unique for the process; all readings of a variable share its id.
struct ValueId {
  std::uint64_t number = 0;
  bool watched = false;  // reading of a trainable variable: tapes watch it by themselves
};
std::uint64_t next_value_id();

/// Without a storage it is symbolic: it stands for what a traced function will compute, and has no value yet.
class TensorImpl : public RefCounted {
 public:
  TensorImpl(const TensorSpec& spec, Ref<Storage> storage, const Decision* decision, ValueId id)
      : spec(spec),
        storage(std::move(storage)),
        decision(decision),
        id(id) {}
  TensorSpec spec;
  Ref<Storage> storage;
  const Decision* decision;  // how it came to be
  ValueId id;
  bool of_sizes = false;  // a number reckoned from sizes of other tensors: with others this value would be another
};

class Tensor {
 public:
  /// An undefined tensor: stands for "none".
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  /// A scalar: int gives i32, double f32, as in Python.
  explicit Tensor(int value);
  explicit Tensor(float value);
  explicit Tensor(double value);
  explicit Tensor(bool value);

  /// A tensor with a copy of the values; throws shape_mismatch when their number does not fit.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape) {
    return from_bytes(values.data(), values.size(), {dtype_of<T>(), shape});
  }
  template <class T>
  static Tensor from(std::initializer_list<T> values, const Shape& shape) {
    return from(std::span<const T>(values.begin(), values.size()), shape);
  }
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    return from(std::span<const T>(values), shape);
  }
  static Tensor from_strings(std::vector<std::string> values, const Shape& shape);
  /// `value` converted to `dtype`.
  static Tensor scalar(double value, DType dtype);
  static Tensor scalar(std::int64_t value, DType dtype);

  bool defined() const { return static_cast<bool>(impl_); }
  explicit operator bool() const = delete;  // use defined() or item<bool>()
  const TensorSpec& spec() const { return impl()->spec; }
  DType dtype() const { return spec().dtype(); }
  const Shape& shape() const { return spec().shape(); }
  int rank() const { return shape().rank(); }
  std::int64_t size() const { return shape().elements(); }

  /// The values on the host; waits for them.
  template <class T>
  std::span<const T> data() const {
    return {static_cast<const T*>(host_data(dtype_of<T>())), static_cast<std::size_t>(size())};
  }
  const void* raw_data() const { return storage().host(); }
  /// Where the bytes are; throws symbolic_value for a tensor that has none yet.
  Storage& storage() const {
    if (!impl()->storage) [[unlikely]]
      no_value();
    return *impl()->storage;
  }
  bool is_symbolic() const { return !impl()->storage; }
  const std::vector<std::string>& strings() const;
  /// The only value, converted to T.
  template <class T>
  T item() const {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(item_as_integer());
    else return static_cast<T>(item_as_double());
  }
  template <class T>
  std::vector<T> to_vector() const {
    auto values = data<T>();
    return {values.begin(), values.end()};
  }

  /// TensorFlow's long name of the device that produced it.
  std::string device() const;
  /// As TensorFlow prints it: tf.Tensor([1. 2.], shape=(2,), dtype=float32)
  std::string to_string() const;
  /// As TensorFlow's repr: <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>
  std::string repr() const;

  TensorImpl* impl() const {
    if (!impl_) [[unlikely]]
      undefined();
    return impl_.get();
  }
  TensorImpl* unchecked() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }

  static Tensor from_bytes(const void* values, std::size_t count, const TensorSpec& spec);
  /// A tensor whose values the caller writes before anybody reads it.
  static Tensor uninitialized(const TensorSpec& spec, MemorySpace& space, const Decision* decision);
  /// Stands for a value that a trace will compute.
  static Tensor symbolic(const TensorSpec& spec, ValueId id = {next_value_id()});
  /// The same bytes as another value: another spec, maker or identity.
  Tensor sharing(const TensorSpec& spec, const Decision* decision, ValueId id = {next_value_id()}) const;

 private:
  [[noreturn]] static void undefined();
  [[noreturn]] void no_value() const;
  const void* host_data(DType expected) const;
  double item_as_double() const;
  std::int64_t item_as_integer() const;
  Ref<TensorImpl> impl_;
};

using Tensors = std::vector<Tensor>;

std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

/// How `tensor` came to be: device, kernel, reason, what else was considered.
const Decision& explain(const Tensor& tensor);

/// The host's memory. Defined by the runtime, which owns the pool.
MemorySpace& host_memory();

}  // namespace tandem
