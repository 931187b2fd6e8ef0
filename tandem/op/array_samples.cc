#include "tandem/op/array_samples.h"

#include "tandem/op/array_records.h"
#include "tandem/op/ops.h"

namespace tandem {
namespace {

struct Maker {
  const OpDef& op;
  DType dtype;
  Domain values;
  std::vector<OpSample> made;

  SampleInput numbers(const Shape& shape) const { return {{dtype, shape}, values}; }
  static SampleInput positions(const Shape& shape, DType index, double below, double from = 0) {
    return {{index, shape}, {from, below}};
  }
  template <class... Values>
  void add(std::vector<SampleInput> inputs, const Values&... attrs) {
    made.push_back({std::move(inputs), make_attrs(op, attrs...)});
  }
};

void add_scans(Maker& m) {
  for (bool exclusive : {false, true})
    for (bool reverse : {false, true}) {
      m.add({m.numbers({7})}, 0, exclusive, reverse);
      m.add({m.numbers({3, 5})}, -1, exclusive, reverse);
      m.add({m.numbers({2, 3, 4})}, 1, exclusive, reverse);
    }
  m.add({m.numbers({0, 3})}, 0, false, false);
  m.add({m.numbers({1})}, 0, true, false);
  m.add({m.numbers({3, 700})}, 0, false, false);
}

void add_segments(Maker& m) {
  // An empty segment's largest value is so large that no difference to it shows: small samples, which gradients are
  // checked with, have one segment then.
  const bool extreme = &m.op == &unsorted_segment_max_op || &m.op == &unsorted_segment_min_op;
  const int few = extreme ? 1 : 4;
  for (DType index : {DType::i32, DType::i64}) {
    m.add({m.numbers({7}), m.positions({7}, index, few, -1)}, few);
    m.add({m.numbers({6, 3}), m.positions({6}, index, few)}, few);
    m.add({m.numbers({2, 3, 4}), m.positions({2, 3}, index, few, -1)}, few);
    m.add({m.numbers({0, 3}), m.positions({0}, index, 1)}, 2);
    m.add({m.numbers({40, 33}), m.positions({40}, index, 9, -2)}, 12);
  }
}

struct SliceCase {
  Shape whole;
  Ints begin, size, strides;
};

void add_slices(Maker& m) {
  const SliceCase cases[] = {{{7}, {1}, {3}, {2}},
                             {{7}, {6}, {7}, {-1}},
                             {{4, 6}, {3, 1}, {2, 3}, {-2, 2}},
                             {{3, 4, 5}, {2, 0, 4}, {3, 4, 5}, {-1, 1, -1}},
                             {{5, 3}, {0, 0}, {0, 3}, {1, 1}},
                             {{}, {}, {}, {}},
                             {{33, 40}, {32, 1}, {33, 13}, {-1, 3}},
                             {{20, 30}, {19, 0}, {20, 30}, {-1, 1}}};
  for (const SliceCase& c : cases) {
    if (&m.op == &strided_slice_op) m.add({m.numbers(c.whole)}, c.begin, c.size, c.strides);
    else m.add({m.numbers(Shape(std::span<const std::int64_t>(c.size)))}, c.whole, c.begin, c.strides);
  }
}

/// A tensor, positions in its first axes, and as many slices. Few positions do not meet in one place by chance.
struct PositionCase {
  Shape tensor, indices, slices;
};

void add_positions(Maker& m) {
  const PositionCase cases[] = {
      {{5}, {1, 1}, {1}},          {{4, 4}, {1, 2}, {1}},    {{3, 4, 2}, {1, 1, 2}, {1, 1, 2}},
      {{3, 2}, {1, 0}, {1, 3, 2}}, {{4, 3}, {0, 1}, {0, 3}}, {{30, 20}, {50, 1}, {50, 20}}};
  for (DType index : {DType::i32, DType::i64})
    for (const PositionCase& c : cases) {
      const SampleInput indices = Maker::positions(c.indices, index, c.tensor.rank() == 1 ? 5 : 3);
      if (&m.op == &gather_nd_op) m.add({m.numbers(c.tensor), indices});
      else if (&m.op == &scatter_nd_op) m.add({indices, m.numbers(c.slices)}, c.tensor);
      else m.add({m.numbers(c.tensor), indices, m.numbers(c.slices)});
    }
}

void add_rolls(Maker& m) {
  m.add({m.numbers({7})}, Ints{3}, Ints{0});
  m.add({m.numbers({4, 5})}, Ints{-1, 12}, Ints{0, -1});
  m.add({m.numbers({3, 4, 2})}, Ints{1, 1, 2}, Ints{1, 1, 0});
  m.add({m.numbers({2, 3})}, Ints{}, Ints{});
  m.add({m.numbers({0, 3})}, Ints{1, 1}, Ints{0, 1});
  m.add({m.numbers({40, 70})}, Ints{7}, Ints{1});
}

void add_mirrors(Maker& m) {
  for (const char* mode : {"reflect", "symmetric"}) {
    m.add({m.numbers({5})}, Ints{4, 2}, mode);
    m.add({m.numbers({3, 4})}, Ints{1, 2, 0, 3}, mode);
    m.add({m.numbers({2, 3, 4, 3})}, Ints{0, 0, 2, 1, 1, 2, 0, 0}, mode);
    m.add({m.numbers({})}, Ints{}, mode);
    m.add({m.numbers({2, 0})}, Ints{1, 1, 0, 0}, "symmetric");
    m.add({m.numbers({40, 70})}, Ints{2, 2, 2, 2}, mode);
  }
}

void add_sorts(Maker& m) {
  for (const Shape& shape :
       {Shape{1}, Shape{9}, Shape{3, 5}, Shape{2, 2, 7}, Shape{0, 4}, Shape{3, 0}, Shape{2, 700}}) {
    if (&m.op == &top_k_op) {
      for (std::int64_t k : {std::int64_t{0}, shape[-1] / 2, shape[-1]}) m.add({m.numbers(shape)}, k);
      if (shape[-1] > 100) m.add({m.numbers(shape)}, 5);
      continue;
    }
    for (const char* direction : {"ascending", "descending"}) m.add({m.numbers(shape)}, direction);
  }
}

void add_searches(Maker& m) {
  // Rows need not be sorted to be compared: bisection of any row has one answer only if they are, so they are equal
  // here.
  const SampleInput row{{m.dtype, {3, 6}}, {1, is_floating(m.dtype) ? 1.0 : 2.0}};
  for (const char* side : {"left", "right"})
    for (DType to : {DType::i32, DType::i64}) {
      m.add({row, m.numbers({3, 4})}, side, to);
      m.add({{{m.dtype, {0}}, m.values}, m.numbers({5})}, side, to);
    }
}

}  // namespace

std::vector<OpSample> array_samples(const OpDef& op, DType dtype, Domain values) {
  Maker m{op, dtype, values, {}};
  if (&op == &cumsum_op || &op == &cumprod_op) add_scans(m);
  else if (op.name.starts_with("unsorted_segment_")) add_segments(m);
  else if (&op == &strided_slice_op || &op == &strided_slice_grad_op) add_slices(m);
  else if (&op == &gather_nd_op || &op == &scatter_nd_op || op.name.starts_with("tensor_scatter_nd_")) add_positions(m);
  else if (&op == &sort_op || &op == &argsort_op || &op == &top_k_op) add_sorts(m);
  else if (&op == &searchsorted_op) add_searches(m);
  else if (&op == &roll_op) add_rolls(m);
  else if (&op == &mirror_pad_op) add_mirrors(m);
  else if (&op == &where_indices_op)
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{9}, Shape{3, 5}, Shape{2, 3, 4}})
      for (std::int64_t count : {shape.elements() / 2, shape.elements()})
        m.add({{{dtype, shape}, {1, 2}}}, count);  // all hold
  return std::move(m.made);
}

}  // namespace tandem
