// A function on elements: what map, filter and their kin take. Made from a lambda on tensors or on values.
#pragma once
#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/data/structure.h"

namespace tandem {

/// How a function may be run.
enum class Recording : std::uint8_t {
  automatic,  // recorded once as ops if it can be, as TensorFlow traces it; else called for each element
  never,      // called for each element: it has effects, or reads values
  blocks,     // takes and gives blocks of elements, stacked along the first axis, row by row
};

namespace element_function_detail {

inline Value to_value(Value value) { return value; }
inline Value to_value(Tensor tensor) { return Value(std::move(tensor)); }
inline Value to_value(bool value) { return Value(Tensor(value)); }
Value to_value(const Dataset& dataset);
template <class A, class B>
Value to_value(std::pair<A, B> pair) {
  return Value::tuple({to_value(std::move(pair.first)), to_value(std::move(pair.second))});
}
template <class... T>
Value to_value(std::tuple<T...> items) {
  return std::apply([](auto&&... item) { return Value::tuple({to_value(std::move(item))...}); }, std::move(items));
}

/// The i-th argument: a tensor where the item is one.
struct Argument {
  const Value& value;
  operator const Tensor&() const { return value.tensor(); }  // NOLINT: lambdas take tensors
  operator const Value&() const { return value; }            // NOLINT
};

template <class F, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<F, decltype((void)I, std::declval<Argument>())...>;
}

void check_arity(const Value& value, std::size_t arguments);

}  // namespace element_function_detail

class ElementFunction {
 public:
  using Call = std::function<Value(const Value&)>;

  ElementFunction() = default;
  /// From a callable on a Value, or on the tensors (or Values) of a tuple: [](Tensor x, Tensor y) {…}. It returns a
  /// Tensor, a pair or tuple of them, a bool, a Dataset or a Value.
  template <class F>
    requires(!std::same_as<std::decay_t<F>, ElementFunction>)
  ElementFunction(F function, Recording how = Recording::automatic)  // NOLINT: lambdas convert
      : recording(how),
        call_(adapt(std::move(function))) {}

  Value operator()(const Value& value) const { return call_(value); }
  explicit operator bool() const { return static_cast<bool>(call_); }

  Recording recording = Recording::automatic;

 private:
  template <class F>
  static Call adapt(F function) {
    namespace detail = element_function_detail;
    if constexpr (std::is_invocable_v<F, const Value&>) {
      return [f = std::move(function)](const Value& value) { return detail::to_value(f(value)); };
    } else if constexpr (std::is_invocable_v<F, const Tensor&>) {
      return [f = std::move(function)](const Value& value) { return detail::to_value(f(value.tensor())); };
    } else {
      return spread<2>(std::move(function));
    }
  }

  template <std::size_t kCount, class F>
  static Call spread(F function) {
    namespace detail = element_function_detail;
    static_assert(kCount <= 6, "a function on elements takes a Value, or one to six tensors or Values");
    if constexpr (detail::takes<F>(std::make_index_sequence<kCount>())) {
      return [f = std::move(function)](const Value& value) {
        detail::check_arity(value, kCount);
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
          const std::array<Value, kCount> items{value[I]...};
          return detail::to_value(f(detail::Argument{items[I]}...));
        }(std::make_index_sequence<kCount>());
      };
    } else {
      return spread<kCount + 1>(std::move(function));
    }
  }

  Call call_;
};

}  // namespace tandem
