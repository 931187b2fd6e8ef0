// Graphs: what the executor costs, what fusion gains, a whole training step.
#include <cmath>

#include "bench/handwritten.h"
#include "bench/harness.h"
#include "tandem/graph/passes.h"
#include "tandem/tandem.h"

namespace tandem::bench {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

std::vector<Row> executor() {
  set_pass_enabled("fuse", false);
  auto chain = function([](Tensor x, Tensor y) {
    for (int i = 0; i < 1000; ++i) x = x + y;
    return x;
  });
  const Tensor a = ones({2, 2}), b = ones({2, 2});
  chain(a, b);
  set_pass_enabled("fuse", true);
  std::vector<Row> rows;
  for (const bool events : {false, true}) {
    set_events_enabled(events);
    const double us = seconds_of([&] { chain(a, b); }) * 1e6 / 1000, goal = events ? 0.06 : 0.03;
    rows.push_back({events ? "executor_op_events" : "executor_op", us, "us", events ? "goal 0.06 us" : "goal 0.03 us",
                    goal, us / goal, "<= 1"});
  }
  set_events_enabled(true);
  return rows;
}

/// A recurrence written by hand: h of every turn goes to a row of an array. Growing linearly, a turn takes the same in
/// long loops.
std::vector<Row> loop_arrays() {
  const auto us_a_turn = [](std::int64_t turns) {
    const Tensor x = random_normal({turns, 256});
    auto loop = function([turns](Tensor rows) {
      return while_loop([turns](const Tensors& v) { return less(v[0], Tensor::scalar(turns, DType::i64)); },
                        [&](const Tensors& v) {
                          const Tensor h = tanh(v[1] + gather(rows, v[0]));
                          return Tensors{
                              v[0] + 1, h,
                              tensor_scatter_nd_update(v[2], reshape(v[0], Shape({1, 1})), expand_dims(h, 0))};
                        },
                        {Tensor::scalar(std::int64_t{0}, DType::i64), zeros({256}), zeros(rows.shape())})[2];
    });
    return [x, loop, turns] {
      return 1e6 / static_cast<double>(turns) * seconds_of([&] {
               GradientTape tape;
               tape.watch(x);
               tape.gradient(reduce_sum(loop(x)), Tensors{x})[0].data<float>();
             });
    };
  };
  const Pair pair = compare(us_a_turn(6400), us_a_turn(400));
  return {{"graph_loop_array", pair.ours, "us", "a turn of 16 times fewer", pair.reference, pair.ours / pair.reference,
           "<= 2"}};
}

/// Eight chains of small ops that meet at the end: each op is too small for several cores, all together are not.
std::vector<Row> bundles() {
  const Tensor x = random_normal({48, 48}), w = random_normal({48, 48}, 0, 0.1);
  const auto body = [](Tensor first, Tensor weights) {
    Tensor sum;
    for (int c = 0; c < 8; ++c) {
      Tensor end = first * (1.0 + c);
      for (int i = 0; i < 4; ++i) end = tanh(matmul(end, weights));
      sum = c ? sum + end : end;
    }
    return sum;
  };
  auto bundled = function(body), one_by_one = function(body);
  set_pass_enabled("stage", false);  // which would take them all
  bundled(x, w);
  set_pass_enabled("bundle", false);
  one_by_one(x, w);
  set_pass_enabled("bundle", true);
  set_pass_enabled("stage", true);
  const Pair pair = compare([&] { return seconds_of([&] { bundled(x, w); }); },
                            [&] { return seconds_of([&] { one_by_one(x, w); }); });
  return {{"graph_bundles", pair.ours * 1e6, "us", "op by op", pair.reference * 1e6, pair.ours / pair.reference,
           "<= 0.75"}};
}

/// Four small layers at batch 32. How much a second core brings depends on the way between the cores; it must not cost.
std::vector<Row> stages() {
  const Tensor x = random_normal({32, 64}), w = random_normal({64, 64}, 0, 0.1), b = zeros({64});
  const auto body = [](Tensor first, Tensor weights, Tensor bias) {
    for (int i = 0; i < 4; ++i) first = relu(bias_add(matmul(first, weights), bias));
    return softmax(first);
  };
  auto staged = function(body), one_by_one = function(body);
  for (int i = 0; i < 100; ++i) staged(x, w, b);  // beyond the first trial
  set_pass_enabled("stage", false);
  one_by_one(x, w, b);
  set_pass_enabled("stage", true);
  const Pair pair = compare([&] { return seconds_of([&] { staged(x, w, b); }); },
                            [&] { return seconds_of([&] { one_by_one(x, w, b); }); });
  return {
      {"graph_stages", pair.ours * 1e6, "us", "op by op", pair.reference * 1e6, pair.ours / pair.reference, "<= 1.05"}};
}

std::vector<Row> mean_square() {
  const Tensor x = random_normal({1000, 1000});
  auto f = function([](Tensor t) { return reduce_mean(square(t)); });
  const Pair pair =
      compare([&] { return seconds_of([&] { f(x); }); },
              [&] { return mean_square_seconds(x.data<float>().data(), x.size(), Cores::process().threads()); });
  return {{"graph_mean_square", pair.ours * 1e6, "us", "hand-written loop", pair.reference * 1e6,
           pair.ours / pair.reference, "<= 1.2"}};
}

std::vector<Row> twelve() {
  const Tensor x = random_normal({kMillion}), y = random_normal({kMillion});
  auto f = function([](Tensor u, Tensor v) {
    Tensor a = (u * v + u) * 0.5 - v;
    return relu(sqrt(a * a + 1.0) / (v * v + 2.0) - 0.25);
  });
  const auto ours = f(x, y).to_vector<float>();
  for (std::size_t i = 0; i < 1000; ++i)
    if (std::abs(ours[i] - twelve_ops(x.data<float>()[i], y.data<float>()[i])) > 1e-5f) return {};
  std::vector<float> out(kMillion);
  const Pair pair = compare([&] { return seconds_of([&] { f(x, y); }); },
                            [&] {
                              return twelve_ops_seconds(x.data<float>().data(), y.data<float>().data(), out.data(),
                                                        kMillion, Cores::process().threads());
                            });
  return {{"graph_twelve_ops_1m", pair.ours * 1e6, "us", "hand-written loop", pair.reference * 1e6,
           pair.ours / pair.reference, "<= 1.15"}};
}

/// Variables of the layers are arguments: a constant could be laid out beforehand.
std::vector<Row> dense_forward() {
  constexpr std::int64_t kSamples = 10'000, kBatch = 1024;
  const Tensor x = random_normal({kSamples, 100});
  const Variable w1(random_normal({100, 64}, 0, 0.1)), b1(zeros({64})), w2(random_normal({64, 10}, 0, 0.1)),
      b2(zeros({10}));
  auto f = function([&](Tensor batch) { return bias_add(matmul(relu(bias_add(matmul(batch, w1), b1)), w2), b2); });
  const double ms = 1e3 * seconds_of([&] {
                      for (std::int64_t first = 0; first < kSamples; first += kBatch)
                        f(slice(x, {first, 0}, {std::min(kBatch, kSamples - first), 100}));
                    });
  return {{"dense_forward_10000x100", ms, "ms", "PyTorch", 0, 0, "<= 0.6"}};
}

/// The seeds' network. TensorFlow's tf.function took 3.2 ms on the machine of the goal; `scripts/bench --peers`
/// measures it here.
std::vector<Row> cnn_forward() {
  const Tensor images = random_normal({64, 28, 28, 3});
  const Variable kernel(random_normal({3, 3, 3, 32}, 0, 0.1)), b1(zeros({32})),
      w(random_normal({26 * 26 * 32, 10}, 0, 0.1)), b2(zeros({10}));
  auto f = function([&](Tensor x) {
    const Tensor h = relu(bias_add(conv2d(x, kernel), b1));
    return bias_add(matmul(reshape(h, Shape({64, 26 * 26 * 32})), w), b2);
  });
  const double ms = 1e3 * seconds_of([&] { f(images); }), goal = 0.4 * 3.2;
  return {{"cnn_forward_64", ms, "ms", "goal 0.4 x 3.2 ms", goal, ms / goal, "<= 1"}};
}

std::vector<Row> fit_step() {
  constexpr std::int64_t kSamples = 100'000;
  const Tensor x = random_normal({kSamples, 100}), y = random_uniform({kSamples}, 0, 10, DType::i32);
  Sequential model({Dense(64, "relu"), Dense(10, "softmax")});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  const double begin = now();
  model.fit(slice(x, {0, 0}, {32, 100}), slice(y, {0}, {32}), {.verbose = 0});
  const double first = (now() - begin) * 1e3;
  const Pair pair = compare(
      [&] {
        const double start = now();
        model.fit(x, y, {.verbose = 0});
        return (now() - start) / (kSamples / 32);
      },
      [&] { return dense_step_seconds(32, 100, 64, 10, kSamples / 32); }, 3);
  return {{"fit_dense_64_10_step", pair.ours * 1e6, "us", "hand-written, OpenBLAS", pair.reference * 1e6,
           pair.ours / pair.reference, "<= 1.2"},
          {"fit_first_step", first, "ms", "goal 100 ms", 100, first / 100, "<= 1"}};
}

std::vector<Row> tracing() {
  const Tensor x = ones({8});
  const auto seconds = [&](int nodes) {
    const double begin = now();
    auto f = function([nodes](Tensor t) {
      Tensor u = t;
      for (int i = 0; i < nodes / 2; ++i) u = tanh(u) + t;
      return u;
    });
    f.concrete({x})->plan(nullptr);
    return now() - begin;
  };
  const auto best = [&](int nodes) { return std::min({seconds(nodes), seconds(nodes), seconds(nodes)}); };
  const double small = best(2500), large = best(10000);
  return {{"trace_10000_nodes", large, "s", "goal 1 s", 1, large, "<= 1"},
          {"trace_growth", large / small, "x", "4 times the nodes", 4, large / small / 4, "<= 1.3"}};
}

/// What a size that comes for the first time costs a training step: put into the trace, or traced anew.
std::vector<Row> new_size() {
  const auto layers = [] {
    std::vector<Variable> all;
    for (int i = 0; i < 8; ++i) all.emplace_back(random_normal({32, 32}) * 0.1);
    return all;
  }();
  const auto step = [&](Tensor x, Tensor y) -> Tensors {
    GradientTape tape;
    Tensors weights;
    for (const Variable& w : layers) weights.push_back(w.value());
    Tensor u = x;
    for (const Tensor& w : weights) u = tanh(matmul(u, w));
    return tape.gradient(reduce_mean(square(u - y)), weights);
  };
  const InputSpec rows{DType::f32, {InputSpec::kAny, 32}};
  auto open = function(step, {.input_signature = {rows, rows}});
  auto fresh = function(step);
  std::int64_t size = 2;
  const auto seconds = [&](auto& f) {
    const Tensor x = ones({size, 32});
    const double begin = now();
    f(x, x);
    return now() - begin;
  };
  seconds(open), seconds(fresh);
  const Pair pair = compare([&] { return ++size, seconds(open); }, [&] { return ++size, seconds(fresh); });
  return {{"graph_new_size", pair.ours * 1e6, "us", "a trace for the size", pair.reference * 1e6,
           pair.ours / pair.reference, "<= 1.2"}};
}

}  // namespace

std::vector<Benchmark> graph_benchmarks() {
  return {{"executor", executor},
          {"graph_bundles", bundles},
          {"graph_stages", stages},
          {"graph_loop_array", loop_arrays},
          {"graph_mean_square", mean_square},
          {"graph_twelve_ops", twelve},
          {"dense_forward", dense_forward},
          {"cnn_forward", cnn_forward},
          {"fit_step", fit_step},
          {"tracing", tracing},
          {"graph_new_size", new_size}};
}

}  // namespace tandem::bench
