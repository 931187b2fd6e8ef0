// Functions of keras.ops along axes: sums, extremes, running sums, quantiles, norms.
#include <cmath>
#include <numeric>

#include "tandem/nn/keras_call.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"

namespace tandem {
namespace {

using Reduction = Tensor (*)(const Tensor&, const Ints&, bool);

template <Reduction kOp>
Tensor reduced(const KerasCall& call) {
  return kOp(call.x(), call.axes(), call.keeps());
}
template <Reduction kOp>
Tensor smoothly_reduced(const KerasCall& call) {
  return kOp(as_float(call.x()), call.axes(), call.keeps());
}
/// Bools and small integers are added up and multiplied as int32.
template <Reduction kOp>
Tensor added_up(const KerasCall& call) {
  const bool small =
      call.x().dtype() == DType::boolean || (is_integer(call.x().dtype()) && dtype_size(call.x().dtype()) < 4);
  return kOp(small ? cast(call.x(), DType::i32) : call.x(), call.axes(), call.keeps());
}
template <Reduction kOp>
Tensor of_bools(const KerasCall& call) {
  return kOp(cast(call.x(), DType::boolean), call.axes(), call.keeps());
}
/// Where an element is no number, `instead` stands for it.
template <Reduction kOp>
Tensor without_nan(const KerasCall& call, double instead) {
  const Tensor x = as_float(call.x());
  return kOp(where(is_nan(x), zeros_like(x) + instead, x), call.axes(), call.keeps());
}

template <Tensor (*kOp)(const Tensor&, std::int64_t, DType)>
Tensor place_of(const KerasCall& call) {
  if (!call.config.has("axis")) return kOp(reshape(call.x(), Ints{-1}), 0, DType::i32);
  const std::int64_t axis = call.axis();
  const Tensor place = kOp(call.x(), axis, DType::i32);
  return call.keeps() ? expand_dims(place, axis) : place;
}

template <Tensor (*kOp)(const Tensor&, std::int64_t, const ScanOptions&)>
Tensor running(const KerasCall& call) {
  const Tensor x = cast(call.x(), call.dtype_or(call.x().dtype() == DType::boolean ? DType::i32 : call.x().dtype()));
  return call.config.has("axis") ? kOp(x, call.axis(), {}) : kOp(reshape(x, Ints{-1}), 0, {});
}

Tensor averaged(const KerasCall& call) {
  const Tensor x = as_float(call.x());
  Tensor weights = call.optional(1, "weights");
  if (!weights.defined()) return reduce_mean(x, call.axes());
  weights = cast(weights, x.dtype());
  if (weights.rank() == 1 && call.config.has("axis")) {
    Ints shape(static_cast<std::size_t>(x.rank()), 1);
    shape[static_cast<std::size_t>(call.axis())] = -1;
    weights = reshape(weights, shape);
  }
  return reduce_sum(x * weights, call.axes()) / reduce_sum(broadcast_to(weights, x.shape()), call.axes());
}

/// What stands at the part `q` of the sorted elements.
Tensor quantile_of(const KerasCall& call, double q, std::string_view method) {
  const bool all = !call.config.has("axis");
  if (!all && call.axes().size() != 1)
    call.config.refuse("one axis is supported in C++, got ", shown(call.config.json().value.at("axis")));
  const int axis = all ? 0 : static_cast<int>(call.axes()[0]);
  const Tensor x = as_float(call.x());
  const Tensor row = sort(all ? reshape(x, Ints{-1}) : with_last(x, axis));
  const std::int64_t size = row.shape()[-1];
  const double place = q * static_cast<double>(size - 1);
  const double nearest = std::nearbyint(place);
  const auto at = [&](double index) { return part_of(row, -1, static_cast<std::int64_t>(index), 1); };
  if (!(q >= 0 && q <= 1) || size < 1)
    call.config.refuse("q must be between 0 and 1 and the axis not empty, got ", q, " and ", size);
  Tensor found;
  if (method == "lower") found = at(std::floor(place));
  else if (method == "higher") found = at(std::ceil(place));
  else if (method == "nearest") found = at(nearest);
  else if (method == "midpoint") found = (at(std::floor(place)) + at(std::ceil(place))) / 2.0;
  else
    found = at(std::floor(place)) * (std::ceil(place) == std::floor(place) ? 1.0 : std::ceil(place) - place) +
            at(std::ceil(place)) * (place - std::floor(place));
  found = squeeze(found, {row.rank() - 1});
  if (!call.keeps()) return found;
  if (!all) return expand_dims(found, axis);
  return reshape(found, Ints(static_cast<std::size_t>(call.x().rank()), 1));
}

/// q as the call has it, times `unit`.
Tensor quantile(const KerasCall& call, double unit) {
  const Json q = call.args.size() > 1 ? call.args[1] : call.config.json().value.value("q", Json());
  if (!q.is_number()) call.config.refuse("q must be one number in C++, got ", shown(q));
  return quantile_of(call, q.get<double>() * unit, call.config.text("method", "linear"));
}

Tensor norm_of(const Tensor& x, const Json& order, const Ints& axes, bool keeps, const LayerConfig& config) {
  if (order.is_null() || order == "fro" || (order == 2 && axes.size() < 2))
    return sqrt(reduce_sum(square(x), axes, keeps));
  if (axes.size() > 1) config.refuse("the norm ", shown(order), " of matrices is not supported in C++");
  if (order == "inf") return reduce_max(abs(x), axes, keeps);
  if (order == "-inf") return reduce_min(abs(x), axes, keeps);
  if (!order.is_number()) config.refuse("unknown ord ", shown(order));
  const double p = order.get<double>();
  if (std::isinf(p)) return p > 0 ? reduce_max(abs(x), axes, keeps) : reduce_min(abs(x), axes, keeps);
  if (p == 0) return reduce_sum(cast(not_equal(x, zeros_like(x)), x.dtype()), axes, keeps);
  return p == 1 ? reduce_sum(abs(x), axes, keeps) : pow(reduce_sum(pow(abs(x), p), axes, keeps), 1 / p);
}

Tensor normalized(const KerasCall& call) {
  const Tensor x = as_float(call.x());
  const double epsilon = call.config.real("epsilon", 1e-7);
  const Json order = call.config.json().value.value("order", Json(2));
  const Ints axes = call.config.has("axis") ? call.axes() : Ints{x.rank() - 1};
  if (order == 2) return x * minimum(rsqrt(reduce_sum(square(x), axes, true)), 1 / epsilon);
  return x / maximum(norm_of(x, order, axes, true, call.config), epsilon);
}

Tensor differences(const KerasCall& call) {
  Tensor x = call.x();
  const int axis = call.axis();
  for (std::int64_t i = 0; i < call.config.integer("n", 1); ++i) {
    const std::int64_t size = x.shape()[axis];
    if (size < 1) break;
    x = part_of(x, axis, 1, size - 1) - part_of(x, axis, 0, size - 1);
  }
  return x;
}

Tensor area(const KerasCall& call) {
  if (call.config.has("x")) call.config.refuse("the argument x is not supported in C++");
  const Tensor y = as_float(call.x());
  const int axis = call.axis();
  const std::int64_t size = y.shape()[axis];
  return reduce_sum((part_of(y, axis, 1, size - 1) + part_of(y, axis, 0, size - 1)) * (call.config.real("dx", 1.0) / 2),
                    {axis});
}

Tensors moments(const KerasCall& call) {
  const Tensor x = as_float(call.x());
  const Ints axes = axes_of(call.config, "axes", x.rank());
  return {reduce_mean(x, axes, call.keeps()), reduce_variance(x, axes, call.keeps())};
}

constexpr double kInfinite = HUGE_VAL;
constexpr KerasFunction kRecords[] = {
    {"All", of_bools<reduce_all>},
    {"Any", of_bools<reduce_any>},
    {"Max", reduced<reduce_max>},
    {"Amax", reduced<reduce_max>},
    {"Min", reduced<reduce_min>},
    {"Amin", reduced<reduce_min>},
    {"Sum", added_up<reduce_sum>},
    {"Prod", added_up<reduce_prod>},
    {"Mean", smoothly_reduced<reduce_mean>},
    {"Std", smoothly_reduced<reduce_std>},
    {"Var", smoothly_reduced<reduce_variance>},
    {"Logsumexp", smoothly_reduced<reduce_logsumexp>},
    {"Ptp",
     [](const KerasCall& c) {
       return reduce_max(c.x(), c.axes(), c.keeps()) - reduce_min(c.x(), c.axes(), c.keeps());
     }},
    {"Nansum", [](const KerasCall& c) { return without_nan<reduce_sum>(c, 0); }},
    {"Nanprod", [](const KerasCall& c) { return without_nan<reduce_prod>(c, 1); }},
    {"Nanmax", [](const KerasCall& c) { return without_nan<reduce_max>(c, -kInfinite); }},
    {"Nanmin", [](const KerasCall& c) { return without_nan<reduce_min>(c, kInfinite); }},
    {"Nanmean",
     [](const KerasCall& c) {
       return without_nan<reduce_sum>(c, 0) /
              reduce_sum(cast(logical_not(is_nan(as_float(c.x()))), DType::f32), c.axes(), c.keeps());
     }},
    {"CountNonzero",
     [](const KerasCall& c) { return reduce_sum(cast(cast(c.x(), DType::boolean), DType::i32), c.axes()); }},
    {"Argmax", place_of<argmax>},
    {"Argmin", place_of<argmin>},
    {"Cumsum", running<cumsum>},
    {"Cumprod", running<cumprod>},
    {"Average", averaged},
    {"Median", [](const KerasCall& c) { return quantile_of(c, 0.5, "linear"); }},
    {"Quantile", [](const KerasCall& c) { return quantile(c, 1); }},
    {"Percentile", [](const KerasCall& c) { return quantile(c, 0.01); }},
    {"Norm",
     [](const KerasCall& c) {
       return norm_of(as_float(c.x()), c.config.json().value.value("ord", Json()), c.axes(), c.keeps(), c.config);
     }},
    {"Normalize", normalized},
    {"Diff", differences},
    {"Trapezoid", area},
    {"Moments", moments},
};

}  // namespace

std::span<const KerasFunction> reduction_op_layers() { return kRecords; }

}  // namespace tandem
