// Every op on /GPU:0 against the CPU backend, about a million elements each: where a kernel lags behind, this table
// shows it.
#include <map>
#include <cstdio>

#include "bench/gpu.h"
#include "tandem/kernel/kernel.h"
#include "tandem/op/network_records.h"
#include "tandem/op/records.h"
#include "tandem/op/samples.h"

namespace tandem::bench {
namespace {

struct Call {
  Tensors inputs;
  Attrs attrs;
};

Tensor indices(const Shape& shape, double limit) { return random_uniform(shape, 0, limit, DType::i32); }

/// Values an op is defined for, of any dtype.
Tensor drawn(const SampleInput& like, const Shape& shape) {
  const DType dtype = like.spec.dtype();
  if (dtype == DType::f32) return random_uniform(shape, like.values.low, like.values.high);
  return cast(random_uniform(shape, like.values.low, like.values.high), dtype);
}

/// An elementwise op's sample of 1000 elements, made longer; scalars stay scalars.
std::vector<Call> long_sample(const OpDef& op) {
  const auto dtypes = sample_dtypes(op);
  const bool has_f32 = std::ranges::find(dtypes, DType::f32) != dtypes.end();
  for (const OpSample& sample : samples(op, has_f32 ? DType::f32 : dtypes.front())) {
    const bool fits =
        std::ranges::any_of(sample.inputs, [](const SampleInput& in) { return in.spec.shape() == Shape{1000}; });
    if (!fits) continue;
    Call call{{}, sample.attrs};
    for (const SampleInput& in : sample.inputs)
      call.inputs.push_back(drawn(in, in.spec.shape() == Shape{1000} ? Shape{1 << 20} : in.spec.shape()));
    return {std::move(call)};
  }
  return {};
}

/// Sizes of the ops that are not elementwise; several of one op are numbered.
std::multimap<std::string_view, Call> sized_calls() {
  std::multimap<std::string_view, Call> calls;
  auto add = [&](const OpDef& op, Tensors inputs, const auto&... attrs) {
    calls.emplace(op.name, Call{std::move(inputs), make_attrs(op, attrs...)});
  };
  const Tensor matrix = random_normal({1024, 1024}), tall = random_normal({100'000, 10}),
               wide = random_normal({100, 10'000});
  const Tensor cube = random_normal({64, 128, 128}), image = random_normal({32, 32, 32, 32});
  const Ints two{2, 2};
  for (const OpDef* op : {&reduce_sum_op, &reduce_mean_op, &reduce_max_op})
    for (const Ints& axes : {Ints{}, Ints{0}, Ints{1}}) add(*op, {matrix}, axes, false);
  add(reduce_sum_op, {cube}, Ints{0, 2}, false);
  add(reduce_sum_op, {tall}, Ints{0}, false);
  add(reduce_sum_op, {tall}, Ints{1}, false);
  for (std::int64_t axis : {0, 1}) add(argmax_op, {matrix}, axis, DType::i64);
  add(argmax_op, {tall}, 1, DType::i64);
  add(matmul_op, {matrix, matrix}, false, false);
  add(matmul_op, {random_normal({32, 784}), random_normal({784, 128})}, false, false);
  add(matmul_op, {random_normal({32, 100}), random_normal({100, 64})}, false, false);
  add(matmul_op, {cube, cube}, false, true);
  add(resize_bilinear_op, {image}, Ints{64, 64});
  add(resize_bilinear_grad_op, {random_normal({32, 64, 64, 32})}, Ints{32, 32});
  const Tensor pooled = max_pool2d(image);
  add(max_pool2d_op, {image}, two, two, "valid");
  add(max_pool2d_grad_op, {image, pooled, pooled}, two, two, "valid");
  for (const Tensor& x : {matrix, tall, wide})
    for (const OpDef* op : {&softmax_op, &log_softmax_op}) add(*op, {x}, -1);
  for (const OpDef* op : {&softmax_op, &log_softmax_op}) add(*op, {matrix}, 0);
  for (const OpDef* op : {&softmax_grad_op, &log_softmax_grad_op})
    for (const auto& [x, axis] : {std::pair{matrix, -1}, {tall, -1}, {matrix, 0}}) add(*op, {softmax(x), x}, axis);
  const Tensor labels = indices({1024}, 1024), probabilities = softmax(matrix), loss = random_normal({1024});
  add(sparse_softmax_cross_entropy_op, {labels, matrix});
  add(sparse_softmax_cross_entropy_grad_op, {labels, matrix, loss});
  add(softmax_cross_entropy_op, {probabilities, matrix});
  add(softmax_cross_entropy_grad_op, {probabilities, matrix, loss});
  add(transpose_op, {matrix}, Ints{});
  add(transpose_op, {cube}, Ints{1, 0, 2});
  add(concat_op, {matrix, matrix}, 1);
  add(concat_op, {tall, tall}, 1);
  add(slice_op, {matrix}, Ints{1, 1}, Ints{1000, 1000});
  add(pad_op, {matrix}, Ints{1, 1, 1, 1}, 0.0);
  add(broadcast_to_op, {random_normal({1024})}, Shape{1024, 1024});
  add(broadcast_to_op, {random_normal({1024, 1})}, Shape{1024, 1024});
  add(gather_op, {matrix, indices({1024}, 1024)}, 0, 0);
  add(gather_op, {tall, indices({100'000}, 100'000)}, 0, 0);
  add(gather_grad_op, {matrix, indices({1024}, 1024)}, matrix.shape(), 0, 0);
  add(gather_grad_op, {tall, indices({100'000}, 100'000)}, tall.shape(), 0, 0);
  add(one_hot_op, {indices({10'000}, 100)}, 100, 1.0, 0.0, -1, DType::f32);
  add(*find_op("bias_add"), {tall, random_normal({10})});
  add(*find_op("bias_add"), {matrix, random_normal({1024})});
  add(add_op, {tall, random_normal({100'000, 1})});
  return calls;
}

Row timed(const OpDef& op, const std::string& name, const Call& call) {
  std::vector<TensorRef> inputs(call.inputs.begin(), call.inputs.end());
  const Pair pair = gpu_and_cpu([&] { apply_all(op, inputs, call.attrs); }, 3);
  return {name, pair.ours * 1e6, "us", "CPU backend", pair.reference * 1e6, pair.ours / pair.reference, "<= 2.5"};
}

Row made(const char* name, const std::function<void()>& body) {
  const Pair pair = gpu_and_cpu(body, 3);
  return {name, pair.ours * 1e6, "us", "CPU backend", pair.reference * 1e6, pair.ours / pair.reference, "<= 2.5"};
}

}  // namespace

std::vector<Row> gpu_op_rows(const std::vector<std::string>& names) {
  if (!gpu()) return {};
  const auto sized = sized_calls();
  auto wanted = [&](std::string_view op) {
    return names.empty() ||
           std::ranges::any_of(names, [&](const std::string& name) { return op.find(name) != std::string_view::npos; });
  };
  std::vector<Row> rows;
  for (const OpDef* op : op_list()) {
    if (op->view || !wanted(op->name)) continue;
    std::vector<Call> calls = op->scalar ? long_sample(*op) : std::vector<Call>{};
    for (auto [at, end] = sized.equal_range(op->name); at != end; ++at) calls.push_back(at->second);
    if (gpu()->kernels().of(*op).empty())
      std::fprintf(stderr, "%s has no kernel on the GPU\n", std::string(op->name).c_str());
    for (std::size_t i = 0; i < calls.size(); ++i)
      rows.push_back(timed(*op, calls.size() == 1 ? std::string(op->name) : text(op->name, "/", i + 1), calls[i]));
  }
  const Tensor image = random_normal({32, 32, 32, 32}), filter = random_normal({3, 3, 32, 32});
  const ConvOptions same{.padding = "same"};
  if (wanted("conv2d")) rows.push_back(made("conv2d", [&] { conv2d(image, filter, same); }));
  if (wanted("conv2d_backprop_input"))
    rows.push_back(made("conv2d_backprop_input", [&] { conv2d_backprop_input(filter, image, image.shape(), same); }));
  if (wanted("conv2d_backprop_filter"))
    rows.push_back(made("conv2d_backprop_filter", [&] { conv2d_backprop_filter(image, image, filter.shape(), same); }));
  if (wanted("fill")) rows.push_back(made("fill", [] { fill({1 << 20}, 1.5); }));
  if (wanted("range")) rows.push_back(made("range", [] { range(0, 1 << 20, 1, DType::f32); }));
  if (wanted("random_normal")) rows.push_back(made("random_normal", [] { random_normal({1 << 20}); }));
  if (wanted("random_uniform")) rows.push_back(made("random_uniform", [] { random_uniform({1 << 20}); }));
  for (Row& row : gpu_array_rows(names)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace tandem::bench
