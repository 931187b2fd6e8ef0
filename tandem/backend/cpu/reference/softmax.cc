#include <cmath>
#include <limits>

#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/reference/reference.h"
#include "tandem/op/records.h"

namespace tandem::cpu {
namespace {

/// log(sum(exp(x))) in two parts: beside a large number the small one would lose its digits.
struct LogSumExp {
  double largest = -std::numeric_limits<double>::infinity();
  double log_sum = 0;  // of exp(x - largest)
  double less(double x) const { return log_sum + (largest - x); }
};

/// Of `count` values `stride` apart, in double.
template <class T>
LogSumExp log_sum_exp(const T* x, std::int64_t count, std::int64_t stride) {
  LogSumExp total;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(widen(x[i * stride]));
    if (value > total.largest || value != value) total.largest = value;
  }
  if (total.largest == -std::numeric_limits<double>::infinity()) return total;
  for (std::int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(widen(x[i * stride])) - total.largest);
  total.log_sum = std::log(sum);
  return total;
}

template <class T>
Prepared prepare_softmax(const KernelCall& call, bool log) {
  const Shape shape = call.shape();
  const int axis = normalize_axis(call.op.name, call.attr().integer("axis"), shape.rank());
  const std::int64_t count = shape[axis], stride = call.inputs[0].strides[axis];
  return prepared([=](const KernelArgs& args) {
    for (std::int64_t at = 0; at < shape.elements(); ++at) {
      if (at / stride % count != 0) continue;
      const T* x = args.input<T>() + at;
      T* y = args.output<T>() + at;
      const LogSumExp total = log_sum_exp(x, count, stride);
      for (std::int64_t i = 0; i < count; ++i) {
        const double value = -total.less(static_cast<double>(widen(x[i * stride])));
        y[i * stride] = narrow<T>(log ? value : std::exp(value));
      }
    }
  });
}

template <class T>
Prepared prepare_gradient(const KernelCall& call, bool log) {
  const Shape shape = call.shape();
  const int axis = normalize_axis(call.op.name, call.attr().integer("axis"), shape.rank());
  const std::int64_t count = shape[axis], stride = call.inputs[0].strides[axis];
  return prepared([=](const KernelArgs& args) {
    for (std::int64_t at = 0; at < shape.elements(); ++at) {
      if (at / stride % count != 0) continue;
      auto y = [&](std::int64_t i) { return static_cast<double>(widen(args.input<T>(0)[at + i * stride])); };
      auto dy = [&](std::int64_t i) { return static_cast<double>(widen(args.input<T>(1)[at + i * stride])); };
      double sum = 0;
      for (std::int64_t i = 0; i < count; ++i) sum += log ? dy(i) : y(i) * dy(i);
      for (std::int64_t i = 0; i < count; ++i)
        args.output<T>()[at + i * stride] = narrow<T>(log ? dy(i) - std::exp(y(i)) * sum : (dy(i) - sum) * y(i));
    }
  });
}

template <class T>
Prepared prepare_cross_entropy(const KernelCall& call, bool sparse, bool gradient) {
  const std::int64_t classes = call.shape(1)[-1];
  const std::int64_t rows = classes ? call.shape(1).elements() / classes : 0;
  const DType label_dtype = call.dtype(0);
  return prepared([=](const KernelArgs& args) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* x = args.input<T>(1) + row * classes;
      const LogSumExp total = log_sum_exp(x, classes, 1);
      std::int64_t label = -1;
      if (sparse) {
        label = index_at(args.inputs[0], label_dtype, row);
        if (label < 0 || label >= classes)
          fail(ErrorCode::index_out_of_range, "sparse_softmax_cross_entropy_with_logits: label ", label, " in row ",
               row, " is outside the ", classes, " classes");
      }
      auto weight = [&](std::int64_t i) {
        return sparse ? (i == label ? 1.0 : 0.0) : static_cast<double>(widen(args.input<T>(0)[row * classes + i]));
      };
      double loss = 0;
      for (std::int64_t i = 0; i < classes; ++i)
        if (weight(i) != 0) loss += weight(i) * total.less(static_cast<double>(widen(x[i])));
      if (!gradient) {
        args.output<T>()[row] = narrow<T>(loss);
        continue;
      }
      const double dy = static_cast<double>(widen(args.input<T>(2)[row]));
      for (std::int64_t i = 0; i < classes; ++i)
        args.output<T>()[row * classes + i] =
            narrow<T>((std::exp(-total.less(static_cast<double>(widen(x[i])))) - weight(i)) * dy);
    }
  });
}

template <class T>
Prepared prepare_any(const KernelCall& call) {
  if (&call.op == &softmax_op) return prepare_softmax<T>(call, false);
  if (&call.op == &log_softmax_op) return prepare_softmax<T>(call, true);
  if (&call.op == &softmax_grad_op) return prepare_gradient<T>(call, false);
  if (&call.op == &log_softmax_grad_op) return prepare_gradient<T>(call, true);
  const bool sparse = &call.op == &sparse_softmax_cross_entropy_op || &call.op == &sparse_softmax_cross_entropy_grad_op;
  const bool gradient = &call.op == &sparse_softmax_cross_entropy_grad_op || &call.op == &softmax_cross_entropy_grad_op;
  return prepare_cross_entropy<T>(call, sparse, gradient);
}

}  // namespace

Kernel reference_softmax() {
  return {.name = "reference", .prepare = [](const KernelCall& call) -> Prepared {
            switch (call.inputs.back().dtype()) {
              case DType::f16: return prepare_any<Half>(call);
              case DType::bf16: return prepare_any<BFloat16>(call);
              case DType::f32: return prepare_any<float>(call);
              default: return prepare_any<double>(call);
            }
          }};
}

}  // namespace tandem::cpu
