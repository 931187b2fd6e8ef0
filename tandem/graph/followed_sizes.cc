#include "tandem/graph/followed_sizes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "tandem/graph/trace.h"
#include "tandem/op/open_size.h"

namespace tandem {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kMostElements = 64;

Numbers integers_in(const Tensor& tensor) {
  Numbers numbers;
  visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>)
      for (T value : tensor.data<T>()) numbers.push_back(static_cast<std::int64_t>(value));
  });
  return numbers;
}

/// An integer that is an open size, or what is left of one in 32 bits.
bool is_size(std::int64_t number, DType dtype) {
  if (is_open_number(number)) return true;
  if (dtype != DType::i32 && dtype != DType::u32) return false;
  constexpr std::int64_t kNear = 1024;
  for (std::size_t i = 0; i < kMostStandIns; ++i)
    if (std::abs(number - static_cast<std::int32_t>(open_size(i))) <= kNear) return true;
  return false;
}

/// A real number that is a multiple of an open size, or one divided by it.
bool is_size(double number) {
  constexpr double kRounding = 2e-7, kMostTimes = 4096;
  if (!std::isfinite(number) || number == 0) return false;
  for (const double size : {std::abs(number), 1 / std::abs(number)})
    for (std::size_t i = 0; i < kMostStandIns; ++i) {
      const double ratio = size / static_cast<double>(open_size(i)), times = std::round(ratio);
      if (times >= 1 && times <= kMostTimes && std::abs(ratio - times) <= kRounding * times) return true;
    }
  return false;
}

// --- Ops that keep track of sizes ---

enum class Rule { none, same, moved, negated, sum, difference, product, quotient, remainder, whole_sum, whole_product };

Rule rule_of(const OpCall& call) {
  constexpr std::array<std::pair<std::string_view, Rule>, 14> kRules = {{
      {"identity", Rule::same},
      {"cast", Rule::same},
      {"negative", Rule::negated},
      {"reshape", Rule::moved},
      {"slice", Rule::moved},
      {"strided_slice", Rule::moved},
      {"concat", Rule::moved},
      {"add", Rule::sum},
      {"subtract", Rule::difference},
      {"multiply", Rule::product},
      {"floordiv", Rule::quotient},
      {"floormod", Rule::remainder},
      {"reduce_sum", Rule::whole_sum},
      {"reduce_prod", Rule::whole_product},
  }};
  const auto* const found =
      std::find_if(kRules.begin(), kRules.end(), [&](const auto& entry) { return entry.first == call.op.name; });
  return found == kRules.end() ? Rule::none : found->second;
}

/// Nothing where the divisor is open or not positive.
std::optional<std::int64_t> divided(Rule rule, std::int64_t a, std::int64_t divisor) {
  if (divisor <= 0 || is_open_number(divisor)) return std::nullopt;
  const std::int64_t quotient = floor_of_sizes(a, divisor);
  return rule == Rule::quotient ? quotient : a - divisor * quotient;
}

std::optional<std::int64_t> combined(Rule rule, std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (rule == Rule::quotient || rule == Rule::remainder) return divided(rule, a, b);
  const bool overflows = rule == Rule::sum || rule == Rule::whole_sum ? __builtin_add_overflow(a, b, &result)
                         : rule == Rule::difference                   ? __builtin_sub_overflow(a, b, &result)
                                                                      : __builtin_mul_overflow(a, b, &result);
  return overflows || !open_number(result) ? std::nullopt : std::optional(result);
}

/// Scalars beside lists, or lists of one length.
std::optional<Numbers> pairwise(Rule rule, const Numbers& a, const Numbers& b) {
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return std::nullopt;
  Numbers out;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const auto number = combined(rule, a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    if (!number) return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

std::optional<Numbers> reduced(Rule rule, const OpCall& call, const Numbers& numbers) {
  if (call.inputs[0]->rank() > 1 || call.outputs[0].size() != 1) return std::nullopt;
  std::int64_t result = rule == Rule::whole_product ? 1 : 0;
  for (std::int64_t number : numbers) {
    const auto next = combined(rule, result, number);
    if (!next) return std::nullopt;
    result = *next;
  }
  return Numbers{result};
}

/// Runs an op that only moves numbers, on all 64 bits of them.
std::optional<Numbers> moved(const OpCall& call, const std::vector<Numbers>& inputs) {
  Tensors tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) tensors.push_back(Tensor::from(inputs[i], call.inputs[i]->shape()));
  const std::vector<TensorRef> refs(tensors.begin(), tensors.end());
  const InitScope at_once;
  const Tensors outputs = apply_all(call.op, refs, call.attrs);
  return outputs[0].to_vector<std::int64_t>();
}

}  // namespace

bool may_hold_sizes(const TensorSpec& spec) {
  return is_integer(spec.dtype()) && spec.shape().elements() <= kMostElements;
}

void check_constant(const Tensor& constant) {
  if (constant.size() > kMostElements ||
      !(is_integer(constant.dtype()) || constant.dtype() == DType::f32 || constant.dtype() == DType::f64))
    return;
  bool found = false;
  visit_dtype(constant.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T value : constant.data<T>()) {
      if constexpr (std::is_integral_v<T>) found |= is_size(static_cast<std::int64_t>(value), constant.dtype());
      else if constexpr (std::is_floating_point_v<T>) found |= is_size(static_cast<double>(value));
    }
  });
  if (found)
    fail(ErrorCode::cannot_trace, "a ", constant.spec(), " constant was computed from a size that is left open");
}

std::optional<Numbers> followed(const OpCall& call, const std::function<const Numbers*(const Tensor&)>& sizes_in) {
  if (&call.op == &open_sizes_op) {
    const auto values = AttrView(call.op, call.attrs).ints("values");
    return Numbers(values.begin(), values.end());
  }
  const Rule rule = rule_of(call);
  const DType dtype = call.outputs[0].dtype();
  if (rule == Rule::none || (dtype != DType::i32 && dtype != DType::i64) || !may_hold_sizes(call.outputs[0].spec()))
    return std::nullopt;
  std::vector<Numbers> inputs;
  for (const TensorRef& input : call.inputs) {
    if (!may_hold_sizes(input->spec()) || (rule != Rule::moved && input->rank() > 1)) return std::nullopt;
    const Numbers* known = input->is_symbolic() ? sizes_in(*input) : nullptr;
    if (input->is_symbolic() && !known) return std::nullopt;
    inputs.push_back(known ? *known : integers_in(*input));
  }
  switch (rule) {
    case Rule::same: return inputs[0];
    case Rule::moved: return moved(call, inputs);
    case Rule::negated: return pairwise(Rule::difference, {0}, inputs[0]);
    case Rule::whole_sum:
    case Rule::whole_product: return reduced(rule, call, inputs[0]);
    default: return pairwise(rule, inputs[0], inputs[1]);
  }
}

}  // namespace tandem
