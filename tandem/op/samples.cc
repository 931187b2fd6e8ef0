#include "tandem/op/samples.h"

#include <algorithm>

#include "tandem/op/array_samples.h"
#include "tandem/op/ops.h"
#include "tandem/op/linalg_records.h"
#include "tandem/op/records.h"
#include "tandem/op/sample_maker.h"
#include "tandem/op/training.h"

namespace tandem {
namespace {

/// Operands of an elementwise op: a mask where the formula wants one, scalars where training ops do.
std::vector<SampleInput> operands(const Maker& m, std::vector<Shape> shapes) {
  std::vector<SampleInput> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const bool mask = (m.op().scalar.masks >> i & 1) && (m.op().free_dtypes >> i & 1);
    inputs.push_back(mask ? Maker::input(shapes[i], DType::boolean, {0, 2}) : m.input(shapes[i]));
  }
  return inputs;
}

Samples elementwise(Maker m) {
  const auto n = static_cast<std::size_t>(m.op().arity());
  const bool update = m.op().in_place != 0;
  // What a step updates, and the gradient, of rows with the sum of their squares; the rest are scalars.
  const std::size_t gradients = &m.op() == &apply_adam_rows_op ? 2 : 1;
  const std::size_t same = update ? static_cast<std::size_t>(m.op().outputs) + gradients : n;
  for (const Shape& shape :
       {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{3, 5}, Shape{2, 3, 4}, Shape{1000}, Shape{33, 65}}) {
    if (m.op().name == "bias_add") continue;
    std::vector<Shape> shapes(n, shape);
    std::fill(shapes.begin() + static_cast<std::ptrdiff_t>(same), shapes.end(), Shape{});
    m.add(operands(m, shapes));
  }
  if (update || n == 1) return m.done();
  if (m.op().name == "bias_add") {
    for (const Shape& shape : {Shape{4}, Shape{3, 5}, Shape{2, 3, 7}, Shape{0, 4}, Shape{64, 10}})
      m.add({m.input(shape), m.input({shape[-1]})});
    return m.done();
  }
  auto broadcast = [&](const Shape& a, const Shape& b) {
    std::vector<Shape> shapes(n, a);
    shapes.back() = b;
    m.add(operands(m, shapes));
  };
  broadcast({3, 5}, {5});
  broadcast({5}, {3, 5});
  broadcast({3, 1}, {1, 4});
  broadcast({2, 1, 3}, {4, 1});
  broadcast({}, {6});
  broadcast({3, 4, 5}, {3, 1, 5});
  broadcast({0, 3}, {1, 3});
  broadcast({17, 1}, {17, 33});
  return m.done();
}

Samples cast_samples(Maker m) {
  for (int i = 0; i < kDTypeCount - 1; ++i)
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{3, 11}, Shape{100}}) {
      const auto to = static_cast<DType>(i);
      // A negative float has no meaning as an unsigned integer.
      const Domain d = is_unsigned(to) && m.dtype() != DType::boolean ? Domain{0, 9} : domain_for(m.op(), m.dtype());
      m.add({Maker::input(shape, m.dtype(), d)}, to);
    }
  return m.done();
}

Samples reductions(Maker m) {
  const bool extreme = &m.op() == &reduce_max_op || m.op().name == "reduce_min";
  const bool may_be_empty = !extreme || is_floating(m.dtype());
  m.add({m.input({})}, Ints{}, false);
  m.add({m.input({1})}, Ints{0}, true);
  for (bool keepdims : {false, true}) {
    m.add({m.input({7})}, Ints{}, keepdims);
    m.add({m.input({3, 5})}, Ints{0}, keepdims);
    m.add({m.input({3, 5})}, Ints{-1}, keepdims);
    m.add({m.input({2, 3, 4})}, Ints{1}, keepdims);
    m.add({m.input({2, 3, 4})}, Ints{0, 2}, keepdims);
    m.add({m.input({3, 2, 2, 3})}, Ints{0, 2}, keepdims);
    m.add({m.input({3, 2, 2, 3})}, Ints{1, -1}, keepdims);
  }
  m.add({m.input({1, 65})}, Ints{0}, false);
  m.add({m.input({33, 130})}, Ints{}, false);
  m.add({m.input({600, 3})}, Ints{0}, false);
  m.add({m.input({3, 5000})}, Ints{1}, false);
  if (may_be_empty) m.add({m.input({0})}, Ints{}, false);
  m.add({m.input({0, 3})}, Ints{1}, false);
  return m.done();
}

Samples argmax_samples(Maker m) {
  for (DType to : {DType::i32, DType::i64}) {
    m.add({m.input({7})}, 0, to);
    m.add({m.input({3, 5})}, 0, to);
    m.add({m.input({3, 5})}, -1, to);
    m.add({m.input({2, 3, 4})}, 1, to);
    m.add({m.input({0, 4})}, 1, to);
    m.add({m.input({5, 100})}, 1, to);
  }
  return m.done();
}

Samples matmul_samples(Maker m) {
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      for (const auto& [rows, depth, columns] :
           {std::array<int, 3>{1, 1, 1}, {2, 3, 4}, {5, 7, 1}, {1, 9, 5}, {17, 33, 9}, {3, 0, 2}, {0, 3, 2}}) {
        const Shape a = ta ? Shape{depth, rows} : Shape{rows, depth},
                    b = tb ? Shape{columns, depth} : Shape{depth, columns};
        m.add({m.input(a), m.input(b)}, ta, tb);
      }
  m.add({m.input({2, 3, 4}), m.input({2, 4, 5})}, false, false);
  m.add({m.input({2, 3, 4}), m.input({4, 5})}, false, false);
  m.add({m.input({3, 4}), m.input({2, 5, 4})}, false, true);
  m.add({m.input({2, 1, 4, 3}), m.input({1, 3, 4, 5})}, true, false);
  return m.done();
}

struct ConvCase {
  Shape input, filter;
  Ints strides, dilations;
  std::string_view padding;
  Ints explicit_paddings = {};
};
std::vector<ConvCase> conv_cases() {
  return {{{1, 5, 5, 1}, {3, 3, 1, 1}, {1, 1}, {1, 1}, "valid"},
          {{2, 6, 5, 3}, {3, 3, 3, 4}, {1, 1}, {1, 1}, "same"},
          {{2, 7, 8, 3}, {2, 3, 3, 5}, {2, 1}, {1, 1}, "same"},
          {{1, 9, 9, 2}, {3, 3, 2, 3}, {1, 1}, {2, 2}, "valid"},
          {{3, 8, 8, 4}, {1, 1, 4, 8}, {1, 1}, {1, 1}, "valid"},
          {{2, 8, 8, 8}, {3, 3, 8, 16}, {2, 2}, {1, 1}, "same"},
          {{1, 2, 2, 1}, {3, 3, 1, 2}, {1, 1}, {1, 1}, "valid"},
          {{0, 4, 4, 2}, {3, 3, 2, 2}, {1, 1}, {1, 1}, "same"},
          {{2, 5, 4, 3}, {3, 2, 3, 2}, {2, 1}, {1, 1}, "explicit", {2, 0, 1, 3}},
          {{2, 6, 7, 8}, {3, 3, 1, 8}, {1, 1}, {1, 1}, "same"},
          {{2, 6, 5, 3}, {2, 3, 1, 6}, {2, 2}, {1, 1}, "valid"},
          {{1, 7, 6, 4}, {3, 3, 2, 6}, {1, 2}, {2, 1}, "same"},
          {{3, 9, 9, 24}, {3, 3, 1, 24}, {2, 2}, {1, 1}, "same"}};
}

/// The output's shape, by the op's own rule.
Shape conv_output(const ConvCase& c, DType dtype) {
  const TensorSpec input(dtype, c.input), filter(dtype, c.filter);
  const TensorSpec* inputs[] = {&input, &filter};
  return infer(conv2d_op, inputs, make_attrs(conv2d_op, c.strides, c.padding, c.dilations, c.explicit_paddings))[0]
      .shape();
}

Samples conv_samples(Maker m) {
  for (const ConvCase& c : conv_cases()) {
    const Shape output = conv_output(c, m.dtype());
    if (&m.op() == &conv2d_op)
      m.add({m.input(c.input), m.input(c.filter)}, c.strides, c.padding, c.dilations, c.explicit_paddings);
    else if (&m.op() == &conv2d_backprop_input_op)
      m.add({m.input(c.filter), m.input(output)}, c.input, c.strides, c.padding, c.dilations, c.explicit_paddings);
    else m.add({m.input(c.input), m.input(output)}, c.filter, c.strides, c.padding, c.dilations, c.explicit_paddings);
  }
  return m.done();
}

Samples pool_samples(Maker m) {
  const bool grad = &m.op() == &max_pool2d_grad_op;
  for (const auto& [shape, size, stride] : {std::tuple<Shape, Ints, Ints>{{1, 4, 4, 1}, {2, 2}, {2, 2}},
                                            {{2, 5, 7, 3}, {3, 2}, {1, 2}},
                                            {{2, 6, 6, 17}, {2, 2}, {2, 2}},
                                            {{0, 4, 4, 2}, {2, 2}, {2, 2}}})
    for (std::string_view padding : {"valid", "same"}) {
      const TensorSpec input(m.dtype(), shape);
      const TensorSpec* inputs[] = {&input};
      const Shape out = infer(max_pool2d_op, inputs, make_attrs(max_pool2d_op, size, stride, padding))[0].shape();
      if (grad) m.add({m.input(shape), m.input(out), m.input(out)}, size, stride, padding);
      else if (&m.op() == &avg_pool2d_grad_op) m.add({m.input(out)}, shape, size, stride, padding);
      else if (&m.op() == &max_pool_with_argmax_op)
        m.add({m.input(shape)}, size, stride, padding, padding == "same" ? DType::i32 : DType::i64, padding == "same");
      else m.add({m.input(shape)}, size, stride, padding);
    }
  return m.done();
}

Samples softmax_samples(Maker m) {
  auto add = [&](const Shape& shape, int axis) {
    m.add(std::vector<SampleInput>(static_cast<std::size_t>(m.op().arity()), m.input(shape)), axis);
  };
  for (const Shape& shape :
       {Shape{5}, Shape{3, 10}, Shape{2, 3, 7}, Shape{1, 1}, Shape{0, 4}, Shape{40, 129}, Shape{2, 5000}})
    add(shape, -1);
  add({3, 5, 2}, 1);
  add({3, 5}, 0);
  add({5000, 3}, 0);
  add({2, 7, 400}, -2);
  return m.done();
}

Samples loss_samples(Maker m) {
  const bool sparse = m.op().free_dtypes & 1, grad = m.op().arity() == 3;
  for (const Shape& logits : {Shape{3, 10}, Shape{2, 3, 7}, Shape{1, 1}, Shape{0, 4}, Shape{70, 129}, Shape{2, 5000}}) {
    const Shape rows(logits.sizes().first(static_cast<std::size_t>(logits.rank() - 1)));
    for (DType label : {DType::i32, DType::i64}) {
      SampleInput labels = sparse ? Maker::input(rows, label, {0, static_cast<double>(logits[-1])})
                                  : Maker::input(logits, m.dtype(), {0.1, 1});
      labels.shares = !sparse && !grad;  // only then the gradient is the loss's derivative
      if (grad) m.add({labels, m.input(logits), m.input(rows)});
      else m.add({labels, m.input(logits)});
      if (!sparse) break;
    }
  }
  return m.done();
}

Samples movement_samples(Maker m) {
  const OpDef& op = m.op();
  if (&op == &transpose_op) {
    m.add({m.input({})}, Ints{});
    m.add({m.input({5})}, Ints{0});
    m.add({m.input({3, 5})}, Ints{});
    m.add({m.input({2, 3, 4})}, Ints{1, 0, 2});
    m.add({m.input({2, 3, 4, 5})}, Ints{0, -1, 2, 1});
    m.add({m.input({0, 3})}, Ints{1, 0});
    m.add({m.input({70, 33})}, Ints{1, 0});
  } else if (&op == &concat_op) {
    m.add({m.input({3})}, 0);
    m.add({m.input({2, 3}), m.input({2, 1}), m.input({2, 0})}, 1);
    m.add({m.input({2, 3, 4}), m.input({5, 3, 4})}, 0);
    m.add({m.input({2, 3, 4}), m.input({2, 2, 4})}, -2);
  } else if (&op == &slice_op) {
    m.add({m.input({5})}, Ints{1}, Ints{3});
    m.add({m.input({4, 6})}, Ints{1, 2}, Ints{2, 3});
    m.add({m.input({3, 4, 5})}, Ints{0, 1, 0}, Ints{3, 2, 5});
    m.add({m.input({3, 4})}, Ints{3, 0}, Ints{0, 4});
    m.add({m.input({})}, Ints{}, Ints{});
  } else if (&op == &pad_op) {
    m.add({m.input({3})}, Ints{1, 2}, 1.0);
    m.add({m.input({2, 3})}, Ints{0, 1, 2, 0}, 0.0);
    m.add({m.input({2, 0})}, Ints{1, 1, 1, 1}, 1.0);
    m.add({m.input({})}, Ints{}, 0.0);
  } else if (&op == &broadcast_to_op) {
    m.add({m.input({})}, Shape{3, 2});
    m.add({m.input({3, 1})}, Shape{2, 3, 5});
    m.add({m.input({5})}, Shape{5});
    m.add({m.input({1, 3})}, Shape{0, 3});
  }
  return m.done();
}

/// Matrices that can be inverted, and for some ops factored: a heavy diagonal. Small sides first, then batches.
Samples linalg_samples(Maker m) {
  const OpDef& op = m.op();
  const auto heavy = [&](const Shape& shape) {
    SampleInput input = m.input(shape);
    input.diagonal = 4.0 * static_cast<double>(shape[-1]);
    return input;
  };
  const bool solves = &op == &solve_op || &op == &triangular_solve_op, any_shape = &op == &qr_op || &op == &svd_op;
  if (any_shape) {
    for (const Shape& shape :
         {Shape{1, 1}, Shape{3, 3}, Shape{4, 2}, Shape{2, 5}, Shape{2, 3, 2}, Shape{0, 3}, Shape{3, 0}, Shape{40, 30}})
      m.add({m.input(shape)}, false);
    m.add({m.input({3, 3})}, true);
    return m.done();
  }
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 3}, Shape{2, 2, 4, 4}, Shape{0, 0}, Shape{0, 3, 3}, Shape{33, 33}}) {
    if (!solves) {
      m.add({heavy(shape)});
      continue;
    }
    Ints columns(shape.begin(), shape.end());
    columns.back() = 2;
    const std::vector<SampleInput> inputs{heavy(shape), m.input(Shape(std::span<const std::int64_t>(columns)))};
    for (bool adjoint : {false, true}) {
      if (&op == &solve_op) m.add(inputs, adjoint);
      else m.add(inputs, true, adjoint), m.add(inputs, false, adjoint);
    }
  }
  return m.done();
}

struct GatherCase {
  Shape params, indices;
  int axis, batch;
};

Samples gather_samples(Maker m) {
  const GatherCase cases[] = {
      {{5}, {3}, 0, 0},      {{4, 3}, {2, 2}, 0, 0}, {{3, 5, 2}, {4}, 1, 0},       {{3, 4}, {}, -1, 0},
      {{4, 3}, {0}, 0, 0},   {{3, 5}, {3, 4}, 1, 1}, {{2, 3, 4, 2}, {2, 5}, 2, 1}, {{2, 3, 4}, {2, 3}, -1, 2},
      {{30, 80}, {50}, 0, 0}};
  for (DType index : {DType::i32, DType::i64})
    for (const GatherCase& c : cases) {
      const int at = c.axis < 0 ? c.axis + c.params.rank() : c.axis;
      const SampleInput picks = Maker::input(c.indices, index, {0, static_cast<double>(c.params[at])});
      Ints gathered(c.params.begin(), c.params.begin() + at);
      gathered.insert(gathered.end(), c.indices.begin() + c.batch, c.indices.end());
      gathered.insert(gathered.end(), c.params.begin() + at + 1, c.params.end());
      if (&m.op() == &gather_grad_op)
        m.add({m.input(Shape(std::span<const std::int64_t>(gathered))), picks}, c.params, c.axis, c.batch);
      else m.add({m.input(c.params), picks}, c.axis, c.batch);
    }
  return m.done();
}

Samples one_hot_samples(Maker m) {
  const SampleInput labels = Maker::input({2, 3}, m.dtype(), {0, 6});
  for (int i = 0; i < kDTypeCount - 1; ++i)
    for (int axis : {-1, 0, 1}) m.add({labels}, 5, 1.0, 0.0, axis, static_cast<DType>(i));
  m.add({Maker::input({}, m.dtype(), {0, 3})}, 4, 2.0, 1.0, -1, DType::f32);
  m.add({Maker::input({0}, m.dtype(), {0, 3})}, 4, 1.0, 0.0, -1, DType::f32);
  return m.done();
}

Samples creation_samples(Maker m) {
  const OpDef& op = m.op();
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{3, 5}, Shape{1000}, Shape{70000}}) {
    if (&op == &fill_op) m.add({}, shape, 3.0, m.dtype());
    else if (&op == &range_op) m.add({}, shape.elements(), 1.0, 2.0, m.dtype());
    else if (&op == &random_normal_op) m.add({}, shape, 1.0, 2.0, m.dtype(), std::int64_t{42}, std::int64_t{7});
    else m.add({}, shape, -3.0, 5.0, m.dtype(), std::int64_t{42}, std::int64_t{7});
  }
  return m.done();
}

}  // namespace

std::vector<OpSample> samples(const OpDef& op, DType dtype) {
  if (!op.dtypes.contains(dtype) || dtype == DType::string) return {};
  const Maker m(op, dtype);
  if (&op == &cast_op) return cast_samples(m);
  if (op.scalar) return elementwise(m);
  if (op.name.starts_with("reduce_")) return reductions(m);
  if (&op == &argmax_op || op.name == "argmin") return argmax_samples(m);
  if (auto found = array_samples(op, dtype, domain_for(op, dtype)); !found.empty()) return found;
  if (&op == &matmul_op) return matmul_samples(m);
  if (&op == &conv2d_op || &op == &conv2d_backprop_input_op || &op == &conv2d_backprop_filter_op)
    return conv_samples(m);
  if (op.name.find("_pool") != op.name.npos) return pool_samples(m);
  if (&op == &softmax_op || &op == &log_softmax_op || &op == &softmax_grad_op || &op == &log_softmax_grad_op)
    return softmax_samples(m);
  if (op.name.find("cross_entropy") != op.name.npos) return loss_samples(m);
  if (&op == &gather_op || &op == &gather_grad_op) return gather_samples(m);
  if (&op == &one_hot_op) return one_hot_samples(m);
  if (std::ranges::find(linalg_ops(), &op) != linalg_ops().end()) return linalg_samples(m);
  if (op.inputs.size() == 0) return creation_samples(m);
  if (op.view) {
    Maker view = m;
    for (const Shape& shape : {Shape{6}, Shape{2, 3}, Shape{0, 2}}) {
      if (op.attrs.size()) view.add({m.input(shape)}, Ints{-1});
      else view.add({m.input(shape)});
    }
    return view.done();
  }
  if (Samples found = network_samples(m); !found.empty()) return found;
  return movement_samples(m);
}

std::vector<DType> sample_dtypes(const OpDef& op) {
  std::vector<DType> dtypes;
  for (int i = 0; i < kDTypeCount; ++i)
    if (op.dtypes.contains(static_cast<DType>(i)) && static_cast<DType>(i) != DType::string)
      dtypes.push_back(static_cast<DType>(i));
  return dtypes;
}

}  // namespace tandem
