// Ops that make tensors from nothing: constants, ranges, random numbers.
#include <cmath>

#include "tandem/op/drawn_words.h"
#include "tandem/op/groups.h"
#include "tandem/op/open_size.h"
#include "tandem/op/random_state.h"
#include "tandem/op/shared_draws.h"
#include "tandem/op/records.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

constexpr AttrDef kShape{.name = "shape", .kind = AttrKind::ints};
constexpr AttrDef kKey{.name = "key", .at_run_time = true};
constexpr AttrDef kCounter{.name = "counter", .at_run_time = true};

constexpr AttrDef dtype_attr(std::string_view default_value) {
  return {.name = "dtype", .kind = AttrKind::dtype, .default_value = default_value};
}
constexpr AttrDef number_attr(std::string_view name, std::string_view default_value = {}) {
  return {.name = name, .kind = AttrKind::real, .default_value = default_value, .at_run_time = true};
}

Specs from_shape_attr(const InferContext& c) {
  const DType dtype = c.attrs.dtype("dtype");
  if (!c.op.dtypes.contains(dtype))
    fail(ErrorCode::unsupported_dtype, c.op.name, " is not defined for ", dtype, "; it makes ",
         c.op.dtypes.to_string());
  return {{dtype, Shape(c.attrs.ints("shape"))}};
}

}  // namespace

const OpDef fill_op{
    .name = "fill",
    .doc = "A tensor of one value.",
    .inputs = {},
    .attrs = {kShape, number_attr("value"), dtype_attr("float32")},
    .dtypes = kFixedSize,
    .infer = from_shape_attr,
    .flops_per_element = 0,
};

const OpDef range_op{
    .name = "range",
    .doc = "start, start + delta, start + 2 delta, …: `size` numbers.",
    .inputs = {},
    .attrs = {{.name = "size"}, number_attr("start"), number_attr("delta"), dtype_attr("int32")},
    .dtypes = kNumeric,
    .infer =
        [](const InferContext& c) {
          const DType dtype = c.attrs.dtype("dtype");
          if (!kNumeric.contains(dtype)) fail(ErrorCode::unsupported_dtype, "range is not defined for ", dtype);
          return Specs{{dtype, Shape{c.attrs.integer("size")}}};
        },
};

const OpDef random_normal_op{
    .name = "random_normal",
    .doc = "Normally distributed numbers. Sample i depends on the key, the counter and i only.",
    .inputs = {},
    .attrs = {kShape, number_attr("mean", "0"), number_attr("stddev", "1"), dtype_attr("float32"), kKey, kCounter},
    .dtypes = kFloating,
    .infer = from_shape_attr,
    .flops_per_element = 150,
    .random = true,
};

const OpDef random_uniform_op{
    .name = "random_uniform",
    .doc = "Evenly distributed numbers in [minval, maxval). Sample i depends on the key, the counter and i only.",
    .inputs = {},
    .attrs = {kShape, number_attr("minval", "0"), number_attr("maxval", "1"), dtype_attr("float32"), kKey, kCounter},
    .dtypes = kFloating | DTypeSet{DType::i32, DType::i64},
    .infer = from_shape_attr,
    .flops_per_element = 100,
    .random = true,
};

OpGroup creation_ops() {
  static constexpr const OpDef* kOps[] = {&fill_op, &range_op, &random_normal_op, &random_uniform_op};
  return kOps;
}

Tensor fill(const Shape& shape, double value, DType dtype) {
  return apply(fill_op, {}, make_attrs(fill_op, shape, value, dtype));
}
Tensor zeros(const Shape& shape, DType dtype) { return fill(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return fill(shape, 1, dtype); }
Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }
Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.dtype()); }

namespace {

/// Numbers in steps of `delta`, of which there are as many as open sizes say.
std::int64_t open_count(double distance, double delta) {
  const double step = std::abs(delta), way = delta < 0 ? -distance : distance;
  if (std::floor(step) != step || std::floor(way) != way)
    fail(ErrorCode::cannot_trace, "a range in steps of ", delta, " is reckoned from a size that is left open");
  return -floor_of_sizes(-static_cast<std::int64_t>(way), static_cast<std::int64_t>(step));
}

}  // namespace

Tensor range(double start, double limit, double delta, DType dtype) {
  const double count = std::ceil((limit - start) / delta);
  if (delta == 0 || !std::isfinite(count) || count > 0x1p53)
    fail(ErrorCode::invalid_argument, "range: from ", start, " to ", limit, " in steps of ", delta,
         " has no end; the step must be finite and not 0");
  auto size = static_cast<std::int64_t>(std::max(count, 0.0));
  if (std::abs(delta) != 1 && is_open(size)) size = open_count(limit - start, delta);
  return apply(range_op, {}, make_attrs(range_op, size, start, delta, dtype));
}

void set_seed(std::uint64_t seed) { random_state().set_seed(seed); }

namespace {

template <class Make>
Tensor drawn(const Shape& shape, const Make& make) {
  ReplicaDraws* shared = ReplicaDraws::current();
  return shared ? shared->draw(shape, make) : make(shape);
}

}  // namespace

namespace {

/// While a function is traced nothing is drawn: the words name the op.
RandomState::Call words_of(std::int64_t seed) {
  RandomState::Call call = random_state().next(seed);
  if (RandomState::tracing()) call.counter = kDrawnEachRun;
  return call;
}

}  // namespace

Tensor random_normal(const Shape& shape, double mean, double stddev, DType dtype, std::int64_t seed) {
  return drawn(shape, [&](const Shape& all) {
    const auto call = words_of(seed);
    return apply(random_normal_op, {}, make_attrs(random_normal_op, all, mean, stddev, dtype, call.key, call.counter));
  });
}

Tensor random_uniform(const Shape& shape, double min, double max, DType dtype, std::int64_t seed) {
  if (is_integer(dtype) && !(max > min && max - min < 0x1p32))
    fail(ErrorCode::invalid_argument, "random_uniform: integers need 0 < maxval - minval < 2^32, got [", min, ", ", max,
         ")");
  return drawn(shape, [&](const Shape& all) {
    const auto call = words_of(seed);
    return apply(random_uniform_op, {}, make_attrs(random_uniform_op, all, min, max, dtype, call.key, call.counter));
  });
}

}  // namespace tandem
