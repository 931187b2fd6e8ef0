#include "tandem/core/tensor.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <ostream>
#include <utility>

namespace tandem {
namespace {

const Decision* host_decision() {
  static const Decision* decision =
      intern({.op = "constant", .device = "/CPU:0", .kernel = "", .reason = ReasonCode::host_value});
  return decision;
}

template <class T>
Tensor make_scalar(T value) {
  return Tensor::from_bytes(&value, 1, {dtype_of<T>(), Shape{}});
}

/// The comparison with a float is with the largest power of two that is out of range: max() itself may be none.
template <class T, class From>
bool fits(From value) {
  if constexpr (std::is_integral_v<From>) return std::in_range<T>(value);
  else
    return value >= static_cast<From>(std::numeric_limits<T>::min()) &&
           value < std::ldexp(From{1}, std::numeric_limits<T>::digits);
}

template <class From>
Tensor scalar_as(From value, DType dtype) {
  if (dtype == DType::string) fail(ErrorCode::cannot_convert, "the number ", value, " cannot become a string tensor");
  return visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const T converted = fits<T>(value) ? static_cast<T>(value) : T{0};
      if (static_cast<From>(converted) != value)
        fail(ErrorCode::cannot_convert, "the number ", value, " does not fit ", dtype,
             "; cast the tensor or write a number of its dtype");
      return make_scalar(converted);
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return make_scalar(T(static_cast<float>(value)));
    } else {
      return make_scalar(static_cast<T>(value));
    }
  });
}

}  // namespace

std::uint64_t next_value_id() {
  // A block of ids a thread: one shared increment in a thousand.
  constexpr std::uint64_t kBlock = 1024;
  static std::atomic<std::uint64_t> next_block{1};
  thread_local std::uint64_t next = 0, end = 0;
  if (next == end) {
    next = next_block.fetch_add(1, std::memory_order_relaxed) * kBlock;
    end = next + kBlock;
  }
  return next++;
}

Tensor::Tensor(int value) : Tensor(make_scalar(static_cast<std::int32_t>(value))) {}
Tensor::Tensor(float value) : Tensor(make_scalar(value)) {}
Tensor::Tensor(double value) : Tensor(make_scalar(static_cast<float>(value))) {}
Tensor::Tensor(bool value) : Tensor(make_scalar(value)) {}

Tensor Tensor::scalar(double value, DType dtype) { return scalar_as(value, dtype); }
Tensor Tensor::scalar(std::int64_t value, DType dtype) { return scalar_as(value, dtype); }

Tensor Tensor::uninitialized(const TensorSpec& spec, MemorySpace& space, const Decision* decision) {
  Ref<Storage> storage(new Storage(space, spec.bytes()));
  if (!space.is_host()) storage->describe(spec, decision);
  return Tensor(Ref<TensorImpl>(new TensorImpl(spec, std::move(storage), decision, {next_value_id()})));
}

Tensor Tensor::from_bytes(const void* values, std::size_t count, const TensorSpec& spec) {
  if (count != static_cast<std::size_t>(spec.shape().elements()))
    fail(ErrorCode::shape_mismatch, "shape ", spec.shape(), " needs ", spec.shape().elements(), " values, got ", count);
  Tensor tensor = uninitialized(spec, host_memory(), host_decision());
  if (count) std::memcpy(tensor.impl()->storage->address(), values, spec.bytes());
  return tensor;
}

Tensor Tensor::from_strings(std::vector<std::string> values, const Shape& shape) {
  if (values.size() != static_cast<std::size_t>(shape.elements()))
    fail(ErrorCode::shape_mismatch, "shape ", shape, " needs ", shape.elements(), " strings, got ", values.size());
  Ref<Storage> storage(new Storage(host_memory(), std::move(values)));
  return Tensor(
      Ref<TensorImpl>(new TensorImpl({DType::string, shape}, std::move(storage), host_decision(), {next_value_id()})));
}

Tensor Tensor::symbolic(const TensorSpec& spec, ValueId id) {
  return Tensor(Ref<TensorImpl>(new TensorImpl(spec, {}, nullptr, id)));
}

Tensor Tensor::sharing(const TensorSpec& spec, const Decision* decision, ValueId id) const {
  return Tensor(Ref<TensorImpl>(new TensorImpl(spec, impl()->storage, decision, id)));
}

void Tensor::no_value() const {
  fail(ErrorCode::symbolic_value, "a ", spec(),
       " tensor of a traced function was read, but it has no value before the "
       "function runs; return it from the function, compute with ops (cond, where, while_loop) instead of reading it, "
       "or "
       "call run_functions_eagerly(true) to look inside");
}

void Tensor::undefined() {
  fail(ErrorCode::invalid_argument,
       "an undefined tensor was used: it holds no value (moved from, or a gradient that does not exist?)");
}

const std::vector<std::string>& Tensor::strings() const {
  if (dtype() != DType::string) fail(ErrorCode::dtype_mismatch, "strings() of a ", spec(), " tensor");
  const auto& values = storage().strings();
  if (values.size() != static_cast<std::size_t>(size()))
    fail(ErrorCode::invalid_argument, "the values of this tensor are not known while a function is recorded");
  return values;
}

const void* Tensor::host_data(DType expected) const {
  if (dtype() != expected)
    fail(ErrorCode::dtype_mismatch, "the tensor holds ", dtype(), ", read as ", expected, "; cast it first");
  return raw_data();
}

namespace {

template <class To>
To only_value(const Tensor& tensor) {
  if (tensor.size() != 1)
    fail(ErrorCode::shape_mismatch, "item() needs a tensor of one value, got shape ", tensor.shape());
  if (tensor.dtype() == DType::string) fail(ErrorCode::dtype_mismatch, "item() of a string tensor; use strings()");
  return visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T value = tensor.data<T>()[0];
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return static_cast<To>(static_cast<float>(value));
    else return static_cast<To>(value);
  });
}

}  // namespace

double Tensor::item_as_double() const { return only_value<double>(*this); }
std::int64_t Tensor::item_as_integer() const { return only_value<std::int64_t>(*this); }

std::string Tensor::device() const {
  return impl()->decision ? DeviceName::parse(impl()->decision->device).long_name() : std::string();
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.to_string(); }

const Decision& explain(const Tensor& tensor) {
  tensor.storage();  // a symbolic tensor has not been decided on
  return *tensor.impl()->decision;
}

}  // namespace tandem
