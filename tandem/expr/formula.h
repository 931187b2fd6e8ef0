// The scalar formula of an elementwise op: a generic lambda. Called with plain numbers it is the reference,
// called with Expr it yields the tree.
#pragma once
#include <array>
#include <cstdint>

#include "tandem/expr/expr.h"
#include "tandem/expr/scalar_math.h"

namespace tandem {

/// A number of one of the lane types, for running a formula as the reference.
union ScalarValue {
  float f32;
  double f64;
  std::int32_t i32;
  std::int64_t i64;
  bool mask;

  template <class T>
  T get() const {
    if constexpr (std::is_same_v<T, float>) return f32;
    else if constexpr (std::is_same_v<T, double>) return f64;
    else if constexpr (std::is_same_v<T, std::int32_t>) return i32;
    else if constexpr (std::is_same_v<T, std::int64_t>) return i64;
    else return mask;
  }
  template <class T>
  void set(T value) {
    if constexpr (std::is_same_v<T, float>) f32 = value;
    else if constexpr (std::is_same_v<T, double>) f64 = value;
    else if constexpr (std::is_same_v<T, std::int32_t>) i32 = value;
    else if constexpr (std::is_same_v<T, std::int64_t>) i64 = value;
    else mask = value;
  }
};

/// A generic lambda, held as plain functions: one for the tree, one a lane type for the reference.
struct Formula {
  int arity = 0;
  int results = 1;
  std::uint32_t masks = 0;  // bit i: input i is a mask (a bool tensor)
  void (*tree)(const expr::Expr* in, expr::Expr* out) = nullptr;
  void (*reference[4])(const ScalarValue* in, ScalarValue* out) = {};  // f32, f64, i32, i64

  explicit operator bool() const { return tree != nullptr; }
};

namespace formula_detail {

template <class T>
struct Results {
  static constexpr int count = 1;
};
template <class T, std::size_t N>
struct Results<std::array<T, N>> {
  static constexpr int count = static_cast<int>(N);
};

template <class F, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<F, decltype((void)I, expr::Expr{})...>;
}

template <class F, int kArity = 1>
constexpr int arity_of() {
  static_assert(kArity <= 10, "a formula takes one to ten operands");
  if constexpr (takes<F>(std::make_index_sequence<kArity>())) return kArity;
  else return arity_of<F, kArity + 1>();
}

template <class F, class T, std::uint32_t kMasks, std::size_t... I>
void run_reference(const ScalarValue* in, ScalarValue* out, std::index_sequence<I...>) {
  auto operand = [&]<std::size_t i>() {
    if constexpr (kMasks >> i & 1) return in[i].mask;
    else return in[i].template get<T>();
  };
  auto result = F{}(operand.template operator()<I>()...);
  if constexpr (Results<decltype(result)>::count == 1) out[0].set(result);
  else
    for (std::size_t k = 0; k < result.size(); ++k) out[k].set(result[k]);
}

template <class F, std::size_t... I>
void run_tree(const expr::Expr* in, expr::Expr* out, std::index_sequence<I...>) {
  auto result = F{}(in[I]...);
  if constexpr (Results<decltype(result)>::count == 1) out[0] = result;
  else
    for (std::size_t k = 0; k < result.size(); ++k) out[k] = result[k];
}

}  // namespace formula_detail

/// Makes the record's formula from a captureless generic lambda; several results come as a std::array.
/// `kMasks` bit i says that operand i is a mask.
template <std::uint32_t kMasks = 0, class F>
constexpr Formula formula(F) {
  using namespace formula_detail;
  constexpr int arity = arity_of<F>();
  using Operands = std::make_index_sequence<arity>;
  using Result = decltype([]<std::size_t... I>(std::index_sequence<I...>) {
    return F{}((static_cast<void>(I), expr::Expr{})...);
  }(Operands{}));
  return {
      .arity = arity,
      .results = Results<Result>::count,
      .masks = kMasks,
      .tree = [](const expr::Expr* in, expr::Expr* out) { run_tree<F>(in, out, Operands{}); },
      .reference = {
          [](const ScalarValue* in, ScalarValue* out) { run_reference<F, float, kMasks>(in, out, Operands{}); },
          [](const ScalarValue* in, ScalarValue* out) { run_reference<F, double, kMasks>(in, out, Operands{}); },
          [](const ScalarValue* in, ScalarValue* out) { run_reference<F, std::int32_t, kMasks>(in, out, Operands{}); },
          [](const ScalarValue* in, ScalarValue* out) { run_reference<F, std::int64_t, kMasks>(in, out, Operands{}); },
      },
  };
}

}  // namespace tandem
