// The larger ops of networks at realistic sizes, forward and backward: PyTorch's times come from
// bench/torch_networks.py.
#include "bench/harness.h"
#include "tandem/nn/resized_images.h"
#include "tandem/tandem.h"

namespace tandem::bench {
namespace {

using Body = std::function<Tensor(const Tensors&)>;

/// Times the gradient of the sum of body(tensors) by all of them.
Benchmark trained(std::string name, std::vector<Shape> shapes, Body body, const char* goal = "<= 1.3") {
  return {name, [=]() -> std::vector<Row> {
            Tensors tensors;
            for (const Shape& shape : shapes) tensors.push_back(random_normal(shape, 0, 0.1));
            const double ms = 1e3 * seconds_of(
                                        [&] {
                                          GradientTape tape;
                                          for (const Tensor& tensor : tensors) tape.watch(tensor);
                                          tape.gradient(reduce_sum(body(tensors)), tensors);
                                        },
                                        0.4);
            return {{name, ms, "ms", "PyTorch", 0, 0, goal}};
          }};
}

std::string sized(const char* name, std::initializer_list<std::int64_t> sizes) {
  std::string out = name;
  const char* before = "_";
  for (std::int64_t size : sizes) out += before + std::to_string(size), before = "x";
  return out;
}

void add_convolutions(std::vector<Benchmark>& all) {
  for (const auto& [batch, side, channels] : {std::array<std::int64_t, 3>{32, 56, 32}, {32, 28, 64}, {32, 14, 128}}) {
    const Shape image{batch, side, side, channels};
    all.push_back(trained(sized("conv2d_train", {batch, side, channels}), {image, {3, 3, channels, channels}},
                          [](const Tensors& v) { return conv2d(v[0], v[1], {.padding = "same"}); }));
    all.push_back(trained(sized("depthwise_train", {batch, side, channels}), {image, {3, 3, channels, 1}},
                          [](const Tensors& v) { return depthwise_conv2d(v[0], v[1], {.padding = "same"}); }));
    all.push_back(trained(sized("grouped_train", {batch, side, channels}), {image, {3, 3, channels / 4, channels}},
                          [](const Tensors& v) { return conv2d(v[0], v[1], {.padding = "same"}); }));
    const Shape twice{batch, 2 * side, 2 * side, channels / 2};
    all.push_back(trained(
        sized("conv2d_transpose_train", {batch, side, channels}), {image, {3, 3, channels / 2, channels}},
        [=](const Tensors& v) { return conv2d_transpose(v[0], v[1], twice, {.strides = {2, 2}, .padding = "same"}); }));
    all.push_back(trained(sized("avg_pool_train", {batch, side, channels}), {image},
                          [](const Tensors& v) { return avg_pool2d(v[0]); }));
    all.push_back(trained(sized("max_pool_train", {batch, side, channels}), {image},
                          [](const Tensors& v) { return max_pool2d(v[0]); }));
    all.push_back(trained(sized("max_pool_argmax_train", {batch, side, channels}), {image},
                          [](const Tensors& v) { return max_pool_with_argmax(v[0])[0]; }));
    all.push_back(trained(sized("global_avg_pool_train", {batch, side, channels}), {image},
                          [](const Tensors& v) { return reduce_mean(v[0], {1, 2}); }));
    all.push_back(trained(sized("global_max_pool_train", {batch, side, channels}), {image},
                          [](const Tensors& v) { return reduce_max(v[0], {1, 2}); }));
    all.push_back(trained(sized("batch_norm_inference", {batch, side, channels}), {image, {channels}, {channels}},
                          [mean = random_normal({channels}), variance = ones({channels})](const Tensors& v) {
                            return batch_normalization(v[0], mean, variance, v[1], v[2]);
                          }));
    for (const auto& [name, how] :
         {std::pair{"resize_nearest_train", "nearest"}, {"resize_bilinear_train", "bilinear"}})
      all.push_back(trained(sized(name, {batch, side, channels}), {image}, [=, side = side](const Tensors& v) {
        return resized_images(v[0], 2 * side, 2 * side, {.interpolation = how});
      }));
    all.push_back(trained(sized("batch_norm_train", {batch, side, channels}), {image, {channels}, {channels}},
                          [](const Tensors& v) { return batch_normalization_training(v[0], v[1], v[2])[0]; }));
  }
}

void add_sequences(std::vector<Benchmark>& all) {
  for (const auto& [batch, steps, size, heads] :
       {std::array<std::int64_t, 4>{64, 128, 256, 4}, {16, 256, 256, 4}, {8, 512, 512, 8}}) {
    const Shape sequence{batch, steps, heads, size / heads};
    all.push_back(trained(
        sized("attention_train", {batch, steps, size}), {sequence, sequence, sequence},
        [](const Tensors& v) { return dot_product_attention(v[0], v[1], v[2]); }, "<= 1.0"));
    all.push_back(trained(sized("layer_norm_train", {batch, steps, size}), {{batch, steps, size}, {size}, {size}},
                          [](const Tensors& v) { return layer_normalization(v[0], v[1], v[2]); }));
    all.push_back(trained(sized("conv1d_train", {batch, steps, size}), {{batch, steps, size}, {3, size, size}},
                          [](const Tensors& v) { return conv1d(v[0], v[1], {.padding = "same"}); }));
    all.push_back(trained(sized("max_pool1d_train", {batch, steps, size}), {{batch, steps, size}},
                          [](const Tensors& v) { return max_pool1d(v[0]); }));
    all.push_back(trained(sized("avg_pool1d_train", {batch, steps, size}), {{batch, steps, size}},
                          [](const Tensors& v) { return avg_pool1d(v[0]); }));
    all.push_back(trained(
        sized("l2_normalize_train", {batch, steps, size}), {{batch, steps, size}},
        [](const Tensors& v) { return v[0] * rsqrt(maximum(reduce_sum(square(v[0]), {-1}, true), fill({}, 1e-12))); }));
  }
  for (const auto& [batch, steps, inputs, units] :
       {std::array<std::int64_t, 4>{64, 50, 32, 128}, {32, 100, 64, 64}, {128, 20, 128, 256}}) {
    const Shape x{batch, steps, inputs}, state{batch, units};
    all.push_back(trained(
        sized("lstm_train", {batch, steps, inputs, units}),
        {x, state, state, {inputs, 4 * units}, {units, 4 * units}, {4 * units}},
        [](const Tensors& v) { return lstm(v[0], v[1], v[2], v[3], v[4], v[5])[0]; }, "<= 1.0"));
    all.push_back(trained(sized("gru_train", {batch, steps, inputs, units}),
                          {x, state, {inputs, 3 * units}, {units, 3 * units}, {2, 3 * units}},
                          [](const Tensors& v) { return gru(v[0], v[1], v[2], v[3], v[4])[0]; }));
    all.push_back(trained(sized("simple_rnn_train", {batch, steps, inputs, units}),
                          {x, state, {inputs, units}, {units, units}, {units}},
                          [](const Tensors& v) { return simple_rnn(v[0], v[1], v[2], v[3], v[4])[0]; }));
  }
}

}  // namespace

std::vector<Benchmark> network_benchmarks() {
  std::vector<Benchmark> all;
  add_convolutions(all);
  add_sequences(all);
  return all;
}

}  // namespace tandem::bench
