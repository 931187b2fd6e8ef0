// Functions that are traced once and run as one plan.
//
//   auto f = function([](Tensor x, Tensor y) { return reduce_mean(square(x - y)); });
//   Tensor loss = f(a, b);   // traced at the first call, then only run
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/autodiff/graph_function.h"

namespace tandem {

/// A dtype and a shape in which sizes may be left open.
struct InputSpec {
  static constexpr std::int64_t kAny = -1;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
};

struct FunctionOptions {
  std::string name = "function";
  /// Empty: any tensors, one trace a signature. Sizes of kAny are left open: one trace serves all of them, where that
  /// gives what a trace for each would give. While it is made, the shapes of tensors have numbers that no program has
  /// in their places.
  std::vector<InputSpec> input_signature = {};
  /// Called when the body has been traced: what it gives is kept with the graphs made of that trace
  /// (GraphFunction::origin).
  std::function<std::shared_ptr<const void>()> note = {};
};

/// By argument: bit i is set where the size of axis i is left open.
using OpenAxes = std::vector<std::uint32_t>;

/// Why a function was traced.
struct Retrace {
  std::string reason;  // "input 0 shape [32, 100] -> [16, 100]"
  std::size_t nodes = 0;
  double microseconds = 0;
};

class Function {
 public:
  using Body = std::function<Tensors(const Tensors&)>;
  /// Traced signatures kept at most; the one used longest ago goes.
  static constexpr std::size_t kMostTraces = 64;

  explicit Function(Body body, FunctionOptions options = {});

  /// `key` stands for what else the trace depends on: a training flag, Python values.
  Tensors call(const Tensors& arguments, const std::string& key = "") const;

  /// The traced function that a call with such arguments runs; traces if need be. Axes that are `open` may have other
  /// sizes without another trace, if the body does not reckon with the numbers that stand for them; the input_signature
  /// says it for bodies that may, and those are traced twice and compared.
  std::shared_ptr<const GraphFunction> concrete(const Tensors& arguments, const std::string& key = "",
                                                const OpenAxes& open = {}) const;

  int tracing_count() const;
  std::vector<Retrace> retraces() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// While true, traced functions run op by op, so that one can look inside.
void run_functions_eagerly(bool on);
bool functions_run_eagerly();

namespace function_detail {

template <class R>
Tensors as_list(R result) {
  if constexpr (std::is_same_v<R, Tensor>) return {std::move(result)};
  else return result;
}

template <class F, std::size_t... I>
auto call_with(F& f, const Tensors& a, std::index_sequence<I...>) {
  return f(a[I]...);
}

template <class F, std::size_t kArity>
constexpr bool takes = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::is_invocable_v<F, decltype((void)I, Tensor())...>;
}(std::make_index_sequence<kArity>());

template <class F, std::size_t kArity = 0>
constexpr std::size_t arity_of() {
  constexpr std::size_t kMost = 12;
  static_assert(takes<F, kArity> || kArity < kMost, "a traced function takes up to twelve tensors, or one Tensors");
  if constexpr (takes<F, kArity> || kArity == kMost) return kArity;
  else return arity_of<F, kArity + 1>();
}

}  // namespace function_detail

/// A traced function with the parameters of the lambda it was made from.
template <class F>
class TypedFunction : public Function {
  static constexpr bool kTakesList = std::is_invocable_v<F, const Tensors&> && !std::is_invocable_v<F, Tensor>;
  static constexpr std::size_t arity() {
    if constexpr (kTakesList) return 0;
    else return function_detail::arity_of<F>();
  }
  using Indices = std::make_index_sequence<arity()>;
  static auto call_body(F& f, const Tensors& a) {
    if constexpr (kTakesList) return f(a);
    else return function_detail::call_with(f, a, Indices{});
  }
  using Result = decltype(call_body(std::declval<F&>(), Tensors{}));

 public:
  TypedFunction(F f, FunctionOptions options)
      : Function([f](const Tensors& a) mutable { return function_detail::as_list(call_body(f, a)); },
                 std::move(options)) {}

  template <class... Args>
  Result operator()(const Args&... arguments) const {
    if constexpr (kTakesList) return typed(call(arguments...));
    else return typed(call(Tensors{Tensor(arguments)...}));
  }

 private:
  static Result typed(Tensors results) {
    if constexpr (std::is_same_v<Result, Tensor>) return results.at(0);
    else return results;
  }
};

/// Traces `f`, a callable that takes tensors (or one Tensors) and returns a Tensor or Tensors.
template <class F>
TypedFunction<F> function(F f, FunctionOptions options = {}) {
  return TypedFunction<F>(std::move(f), std::move(options));
}

}  // namespace tandem
