#include "tandem/op/network_records.h"
#include "tandem/op/sample_maker.h"

namespace tandem {
namespace {

Samples normalization_samples(Maker m) {
  const bool batch = m.op().name.starts_with("batch"), gradient = m.op().arity() == 5;
  for (const Shape& shape :
       {Shape{3, 5}, Shape{4, 1}, Shape{2, 3, 4, 8}, Shape{70, 33}, Shape{1, 6}, Shape{500, 3}, Shape{0, 4}}) {
    const SampleInput x = m.input(shape), features = m.input({shape[-1]});
    const Shape rows(shape.sizes().first(static_cast<std::size_t>(shape.rank() - 1)));
    const SampleInput one_a_group = Maker::input(batch ? Shape{shape[-1]} : rows, m.dtype(), {0.2, 2});
    for (double epsilon : {1e-3, 0.5}) {
      if (gradient) m.add({x, x, features, one_a_group, one_a_group}, epsilon);
      else m.add({x, features, features}, epsilon);
    }
  }
  return m.done();
}

Samples attention_samples(Maker m) {
  struct Case {
    std::int64_t batch, targets, sources, heads, size, depth;
    Shape bias;
    bool causal;
  };
  const bool gradient = m.op().arity() == 7;
  for (const Case& c : {Case{2, 3, 4, 2, 5, 5, {1, 1, 1, 1}, false}, Case{1, 5, 5, 1, 8, 3, {1, 1, 1, 1}, true},
                        Case{2, 4, 3, 2, 4, 6, {2, 1, 1, 3}, false}, Case{1, 3, 6, 2, 2, 2, {1, 2, 3, 6}, true},
                        Case{1, 70, 300, 1, 12, 70, {1, 1, 70, 1}, false},
                        Case{2, 300, 70, 1, 16, 16, {1, 1, 1, 1}, true}, Case{0, 3, 4, 1, 2, 2, {1, 1, 1, 1}, false}}) {
    const Shape query{c.batch, c.targets, c.heads, c.size}, key{c.batch, c.sources, c.heads, c.size};
    const Shape value{c.batch, c.sources, c.heads, c.depth}, output{c.batch, c.targets, c.heads, c.depth};
    // Sums of exponentials that are not too small for the scores: shares stay below one.
    const SampleInput log_sums = Maker::input({c.batch, c.heads, c.targets}, m.dtype(), {4, 6});
    if (gradient)
      m.add({m.input(output), m.input(query), m.input(key), m.input(value), m.input(c.bias), m.input(output), log_sums},
            0.3, c.causal);
    else m.add({m.input(query), m.input(key), m.input(value), m.input(c.bias)}, 0.3, c.causal);
  }
  return m.done();
}

Samples recurrent_samples(Maker m) {
  const std::string_view name = m.op().name;
  const bool lstm = name.starts_with("lstm"), gru = name.starts_with("gru"), gradient = name.ends_with("_grad");
  const std::int64_t gates = lstm ? 4 : gru ? 3 : 1;
  struct Case {
    std::int64_t batch, steps, inputs, units;
  };
  for (const Case& c :
       {Case{2, 3, 2, 3}, Case{1, 1, 4, 1}, Case{3, 2, 1, 5}, Case{37, 4, 3, 17}, Case{0, 2, 3, 4}, Case{2, 3, 0, 2}}) {
    const Domain small{-0.8, 0.8};
    const auto of = [&](const Shape& shape, Domain values) { return Maker::input(shape, m.dtype(), values); };
    const SampleInput x = of({c.batch, c.steps, c.inputs}, small), h0 = of({c.batch, c.units}, small);
    const SampleInput kernel = of({c.inputs, gates * c.units}, small),
                      recurrent = of({c.units, gates * c.units}, small);
    const SampleInput bias = of(gru ? Shape{2, 3 * c.units} : Shape{gates * c.units}, small);
    const SampleInput states = of({c.batch, c.steps, c.units}, small),
                      saved = of({c.batch, c.steps, 4 * c.units}, {0.1, 0.9});
    if (!gradient) {
      if (lstm) m.add({x, h0, h0, kernel, recurrent, bias});
      else m.add({x, h0, kernel, recurrent, bias});
    } else if (lstm) {
      m.add({states, states, x, h0, h0, kernel, recurrent, states, states, saved});
      m.add({states, of({}, small), x, h0, h0, kernel, recurrent, states, states, saved});
    } else if (gru) m.add({states, x, h0, kernel, recurrent, states, saved, bias});
    else m.add({states, x, h0, kernel, recurrent, states, bias});
  }
  return m.done();
}

Samples resizing_samples(Maker m) {
  for (const auto& [images, height, width] : {std::tuple<Shape, std::int64_t, std::int64_t>{{1, 3, 2, 2}, 6, 4},
                                              {{2, 2, 3, 1}, 3, 7},
                                              {{1, 5, 7, 3}, 2, 3},
                                              {{2, 1, 1, 4}, 3, 2},
                                              {{1, 4, 3, 5}, 4, 3},
                                              {{1, 9, 8, 20}, 5, 17},
                                              {{0, 2, 2, 3}, 4, 4},
                                              {{1, 40, 30, 33}, 80, 61}})
    m.add({m.input(images)}, Ints{height, width});
  return m.done();
}

}  // namespace

Samples network_samples(Maker m) {
  const OpDef& op = m.op();
  if (&op == &batch_normalization_training_op || &op == &batch_normalization_grad_op ||
      &op == &layer_normalization_op || &op == &layer_normalization_grad_op)
    return normalization_samples(m);
  if (&op == &dot_product_attention_op || &op == &dot_product_attention_grad_op) return attention_samples(m);
  if (op.name.starts_with("lstm") || op.name.starts_with("gru") || op.name.starts_with("simple_rnn"))
    return recurrent_samples(m);
  if (&op == &resize_bilinear_op || &op == &resize_bilinear_grad_op) return resizing_samples(m);
  return {};
}

}  // namespace tandem
