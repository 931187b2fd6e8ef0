#include "bench/peers/workloads.h"

#include <memory>
#include <regex>
#include <stdexcept>

#include "bench/child.h"
#include "tandem/data/dataset.h"

namespace tandem::bench {
namespace {

Tensor zeros_for(const Tensor& kernel) { return zeros({kernel.shape()[kernel.rank() - 1]}); }

/// examples/first_result.cc in a process of its own, and the numbers it prints.
Body first_result(const Inputs&) {
  return [] {
    const auto child = run_child("first_result", {});
    if (!child) throw std::runtime_error("build/first_result could not be run");
    static const std::regex number(R"(\d+\.)");
    Tensors values;
    for (std::sregex_iterator i(child->output.begin(), child->output.end(), number), end; i != end; ++i)
      values.push_back(Tensor::scalar(std::stod(i->str()), DType::f64));
    return values;
  };
}

Body matmul_of(const Inputs& in) {
  return [a = in.at("a"), b = in.at("b")] { return Tensors{matmul(a, b)}; };
}

Body square_mean(const Inputs& in) {
  auto traced = function([](Tensor x) { return reduce_mean(square(x)); });
  return [traced, x = in.at("x")] { return Tensors{traced(x)}; };
}

Body elementwise_chain(const Inputs& in) {
  auto traced = function([](Tensor x, Tensor y) { return erf(tanh(x * y + 0.5) * exp(-x * x)) + y; });
  return [traced, x = in.at("x"), y = in.at("y")] { return Tensors{traced(x, y)}; };
}

Body eager_chain(const Inputs& in) {
  return [first = in.at("x"), w = in.at("w")] {
    Tensor x = first;
    for (int i = 0; i < 25; ++i) x = tanh(matmul(x, w) * 0.5 + x);
    return Tensors{x};
  };
}

Body batches(const Inputs& in) {
  const Dataset dataset = Dataset::from_tensor_slices(in.at("data")).batch(1024);
  return [dataset] {
    Tensors sums;
    for (const Value& batch : dataset) sums.push_back(reduce_sum(batch.tensor()));
    return sums;
  };
}

Body map_shuffle_batch(const Inputs& in) {
  const Dataset dataset =
      Dataset::from_tensor_slices(Value::tuple({in.at("data"), in.at("targets")}))
          .shuffle(10'000)
          .map([](Tensor x, Tensor y) { return std::pair(x * 0.5 - 1.0, y); }, {.num_parallel_calls = kAutotune})
          .batch(32)
          .prefetch();
  return [dataset] {
    std::int64_t count = 0, rows = 0, total = 0;
    for (const Value& batch : dataset) {
      count += 1;
      rows += batch[0].tensor().shape()[0];
      for (std::int32_t label : batch[1].tensor().data<std::int32_t>()) total += label;
    }
    return Tensors{Tensor::scalar(count, DType::i64), Tensor::scalar(rows, DType::i64),
                   Tensor::scalar(total, DType::i64)};
  };
}

Body tape_step(const Inputs& in, bool traced) {
  const std::vector<Variable> v{Variable(in.at("w1")), Variable(zeros_for(in.at("w1"))), Variable(in.at("w2")),
                                Variable(zeros_for(in.at("w2")))};
  auto step = [v](const Tensors& xy) {
    GradientTape tape;
    const Tensor logits = bias_add(matmul(relu(bias_add(matmul(xy[0], v[0]), v[1])), v[2]), v[3]);
    const Tensor loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(xy[1], logits));
    const Tensors gradients = tape.gradient(loss, Tensors(v.begin(), v.end()));
    for (std::size_t i = 0; i < v.size(); ++i) v[i].assign_sub(gradients[i] * 0.01);
    return Tensors{loss};
  };
  const Tensors xy{in.at("x"), in.at("y")};
  if (!traced) return [step, xy] { return step(xy); };
  return [run = Function(step), xy] { return run.call(xy); };
}

using Model = std::shared_ptr<Sequential>;

/// Built for `x`, with these kernels and biases of zero.
Model model_of(std::vector<LayerPtr> layers, const Tensor& x, const Tensors& kernels) {
  auto model = std::make_shared<Sequential>(std::move(layers));
  Ints first(static_cast<std::size_t>(x.rank()), -1);
  first[0] = 1;
  (*model)(slice(x, Ints(first.size(), 0), first));
  const auto variables = model->trainable_variables();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    variables.at(2 * i).assign(kernels[i]);
    variables.at(2 * i + 1).assign(zeros_for(kernels[i]));
  }
  return model;
}

Model dense_model(const Inputs& in) {
  const std::int64_t hidden = in.at("w1").shape()[1];
  return model_of({Dense(hidden, "relu"), Dense(10)}, in.at("x"), {in.at("w1"), in.at("w2")});
}

Body fit(const Inputs& in) {
  Model model = dense_model(in);
  model->compile({.loss = "sparse_categorical_crossentropy", .from_logits = true});
  return [model, x = in.at("x"), y = in.at("y")] {
    const History history = model->fit(x, y, {.batch_size = 32, .verbose = 0, .shuffle = false});
    return Tensors{Tensor::scalar(history.at("loss").back(), DType::f64)};
  };
}

Body predict(const Inputs& in, int batch) {
  Model model = dense_model(in);
  model->compile({.loss = "sparse_categorical_crossentropy", .from_logits = true});
  return [model, batch, x = in.at("x")] { return Tensors{model->predict(x, batch)}; };
}

Model cnn_model(const Inputs& in) {
  return model_of({Conv2D(32, {3, 3}, {.activation = "relu"}), Flatten(), Dense(10)}, in.at("x"),
                  {in.at("kernel"), in.at("w")});
}

Body cnn_forward(const Inputs& in) {
  return [model = cnn_model(in), x = in.at("x")] { return Tensors{(*model)(x)}; };
}

Body cnn_train_step(const Inputs& in) {
  Model model = cnn_model(in);
  model->compile({.loss = "sparse_categorical_crossentropy", .from_logits = true});
  return [model, x = in.at("x"), y = in.at("y")] {
    const History history = model->fit(x, y, {.batch_size = x.shape()[0], .verbose = 0, .shuffle = false});
    return Tensors{Tensor::scalar(history.at("loss").back(), DType::f64)};
  };
}

Body lstm_train(const Inputs& in) {
  const std::int64_t batch = in.at("x").shape()[0], units = in.at("u").shape()[0];
  const Tensor state = zeros({batch, units}), bias = zeros({4 * units});
  auto step = function([state, bias](Tensor x, Tensor w, Tensor u) -> Tensors {
    GradientTape tape;
    tape.watch(w);
    tape.watch(u);
    const Tensor total = reduce_sum(lstm(x, state, state, w, u, bias)[0]);
    const Tensors gradients = tape.gradient(total, {w, u});
    return {total, gradients[0], gradients[1]};
  });
  return [step, in] { return step(in.at("x"), in.at("w"), in.at("u")); };
}

Body attention_train(const Inputs& in) {
  const Shape shape = in.at("x").shape();
  const Ints split{shape[0], shape[1], 4, shape[2] / 4};
  auto step =
      function([split, shape, mask = in.at("mask")](Tensor x, Tensor q, Tensor k, Tensor v, Tensor o) -> Tensors {
        GradientTape tape;
        const Tensors leaves{x, q, k, v, o};
        for (const Tensor& leaf : leaves) tape.watch(leaf);
        auto project = [&](const Tensor& w) { return reshape(matmul(x, w), split); };
        const Tensor mixed = reshape(dot_product_attention(project(q), project(k), project(v)), shape);
        const Tensor total = reduce_sum(matmul(mixed, o) * mask);
        const Tensors gradients = tape.gradient(total, leaves);
        return {total, gradients[0], gradients[1]};
      });
  return [step, in] { return step(in.at("x"), in.at("q"), in.at("k"), in.at("v"), in.at("o")); };
}

}  // namespace

const std::map<std::string, Workload>& peer_workloads() {
  static const std::map<std::string, Workload> all{
      {"import_first_result", first_result},
      {"matmul_f64_2x2", matmul_of},
      {"eager_chain", eager_chain},
      {"matmul_1000", matmul_of},
      {"matmul_1024", matmul_of},
      {"square_mean_1000x1000", square_mean},
      {"elementwise_chain_1000000", elementwise_chain},
      {"pipeline_10000x100", batches},
      {"data_map_shuffle_100000x32", map_shuffle_batch},
      {"tape_step_eager", [](const Inputs& in) { return tape_step(in, false); }},
      {"tape_step_traced", [](const Inputs& in) { return tape_step(in, true); }},
      {"cnn_forward", cnn_forward},
      {"cnn_train_step", cnn_train_step},
      {"fit_100000x100", fit},
      {"fit_784_128_10", fit},
      {"predict_10000x784", [](const Inputs& in) { return predict(in, 256); }},
      {"predict_10000x100", [](const Inputs& in) { return predict(in, 32); }},
      {"lstm_train_64x50x32", lstm_train},
      {"attention_train_64x128x256", attention_train},
  };
  return all;
}

}  // namespace tandem::bench
