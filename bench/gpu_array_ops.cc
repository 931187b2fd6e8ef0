// Ops on arrays and the larger ops of networks on /GPU:0 against the CPU backend, those of networks forward and
// backward.
#include <algorithm>

#include "bench/gpu.h"
#include "tandem/tandem.h"

namespace tandem::bench {
namespace {

struct Work {
  const char* name;
  std::function<void()> body;
};

std::function<void()> trained(Tensors tensors, std::function<Tensor(const Tensors&)> body) {
  return [=] {
    GradientTape tape;
    for (const Tensor& tensor : tensors) tape.watch(tensor);
    tape.gradient(reduce_sum(body(tensors)), tensors);
  };
}

Tensor small(const Shape& shape) { return random_normal(shape, 0, 0.1); }

std::vector<Work> array_work() {
  const Tensor matrix = random_normal({1024, 1024}), line = random_normal({1 << 20}),
               marks = greater(matrix, fill({}, 0));
  const Tensor ids = random_uniform({1024}, 0, 1024, DType::i32), column = reshape(ids, Ints{1024, 1}),
               positive = random_uniform({1024, 1024}, 0.9, 1.1);
  const Tensor pairs = random_uniform({1 << 18, 2}, 0, 1024, DType::i32), grid = sort(random_normal({10'000}));
  const Shape whole{1024, 1024};
  return {
      {"reduce_min", [=] { reduce_min(matrix, {1}); }},
      {"reduce_prod", [=] { reduce_prod(positive, {0}); }},
      {"reduce_any", [=] { reduce_any(marks, {1}); }},
      {"reduce_all", [=] { reduce_all(marks, {1}); }},
      {"argmin", [=] { argmin(matrix, 1); }},
      {"reduce_variance", [=] { reduce_variance(matrix, {1}); }},
      {"reduce_logsumexp", [=] { reduce_logsumexp(matrix, {1}); }},
      {"cumsum", [=] { cumsum(matrix, 1); }},
      {"cumprod", [=] { cumprod(positive, 0); }},
      {"cumsum_line", [=] { cumsum(line, 0); }},
      {"unsorted_segment_sum", [=] { unsorted_segment_sum(matrix, ids, 1024); }},
      {"unsorted_segment_max", [=] { unsorted_segment_max(matrix, ids, 1024); }},
      {"strided_slice", [=] { strided_slice(matrix, {0, 0}, {512, 512}, {2, 2}); }},
      {"reverse", [=] { reverse(matrix, {1}); }},
      {"roll", [=] { roll(matrix, {7}, {1}); }},
      {"mirror_pad", [=] { mirror_pad(matrix, {2, 2, 2, 2}); }},
      {"gather_nd", [=] { gather_nd(matrix, pairs); }},
      {"scatter_nd", [=] { scatter_nd(column, matrix, whole); }},
      {"tensor_scatter_nd_add", [=] { tensor_scatter_nd_add(matrix, column, matrix); }},
      {"tensor_scatter_nd_update", [=] { tensor_scatter_nd_update(matrix, column, matrix); }},
      {"tensor_scatter_nd_max", [=] { tensor_scatter_nd_max(matrix, column, matrix); }},
      {"sort", [=] { sort(line); }},
      {"sort_rows", [=] { sort(matrix); }},
      {"argsort", [=] { argsort(line); }},
      {"top_k", [=] { top_k(matrix, 10); }},
      {"searchsorted", [=] { searchsorted(grid, line); }},
  };
}

std::vector<Work> network_work() {
  const Tensor image = small({16, 28, 28, 32}), channels = small({32}), rows = small({2048, 256}),
               features = small({256});
  const Tensor sequence = small({8, 128, 4, 64}), x = small({32, 20, 32}), state = small({32, 64});
  return {
      {"avg_pool_train", trained({image}, [](const Tensors& v) { return avg_pool2d(v[0]); })},
      {"max_pool_argmax_train", trained({image}, [](const Tensors& v) { return max_pool_with_argmax(v[0])[0]; })},
      {"depthwise_train", trained({image, small({3, 3, 32, 1})},
                                  [](const Tensors& v) { return depthwise_conv2d(v[0], v[1], {.padding = "same"}); })},
      {"grouped_train", trained({image, small({3, 3, 8, 32})},
                                [](const Tensors& v) { return conv2d(v[0], v[1], {.padding = "same"}); })},
      {"conv2d_transpose_train", trained({image, small({3, 3, 16, 32})},
                                         [](const Tensors& v) {
                                           return conv2d_transpose(v[0], v[1], {16, 56, 56, 16},
                                                                   {.strides = {2, 2}, .padding = "same"});
                                         })},
      {"batch_norm_train", trained({image, channels, channels},
                                   [](const Tensors& v) { return batch_normalization_training(v[0], v[1], v[2])[0]; })},
      {"layer_norm_train",
       trained({rows, features, features}, [](const Tensors& v) { return layer_normalization(v[0], v[1], v[2]); })},
      {"attention_train", trained({sequence, sequence, sequence},
                                  [](const Tensors& v) { return dot_product_attention(v[0], v[1], v[2]); })},
      {"lstm_train", trained({x, state, state, small({32, 256}), small({64, 256}), small({256})},
                             [](const Tensors& v) { return lstm(v[0], v[1], v[2], v[3], v[4], v[5])[0]; })},
      {"gru_train", trained({x, state, small({32, 192}), small({64, 192}), small({2, 192})},
                            [](const Tensors& v) { return gru(v[0], v[1], v[2], v[3], v[4])[0]; })},
      {"simple_rnn_train", trained({x, state, small({32, 64}), small({64, 64}), small({64})},
                                   [](const Tensors& v) { return simple_rnn(v[0], v[1], v[2], v[3], v[4])[0]; })},
      {"dropout", [=] { dropout(rows, 0.5); }},
  };
}

}  // namespace

std::vector<Row> gpu_array_rows(const std::vector<std::string>& names) {
  std::vector<Row> rows;
  for (const auto& list : {array_work(), network_work()})
    for (const Work& work : list) {
      if (!names.empty() && std::ranges::none_of(names, [&](const std::string& name) {
            return std::string_view(work.name).find(name) != std::string_view::npos;
          }))
        continue;
      const Pair pair = gpu_and_cpu(work.body, 3);
      rows.push_back({work.name, pair.ours * 1e6, "us", "CPU backend", pair.reference * 1e6, pair.ours / pair.reference,
                      "<= 2.5"});
    }
  return rows;
}

}  // namespace tandem::bench
