// The ops as functions, named as TensorFlow names them.
#pragma once
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

using Ints = std::vector<std::int64_t>;

// --- Elementwise arithmetic, with NumPy broadcasting. ---
Tensor add(const Tensor& x, const Tensor& y);
Tensor subtract(const Tensor& x, const Tensor& y);
Tensor multiply(const Tensor& x, const Tensor& y);
Tensor divide(const Tensor& x, const Tensor& y);  // of integers: a float, as in TensorFlow
Tensor pow(const Tensor& x, const Tensor& y);
Tensor maximum(const Tensor& x, const Tensor& y);
Tensor minimum(const Tensor& x, const Tensor& y);
Tensor negative(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);
Tensor square(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor cast(const Tensor& x, DType dtype);

// --- Activations. ---
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor relu(const Tensor& x);
Tensor gelu(const Tensor& x, bool approximate = false);

// --- Comparison and choice. ---
Tensor equal(const Tensor& x, const Tensor& y);
Tensor not_equal(const Tensor& x, const Tensor& y);
Tensor less(const Tensor& x, const Tensor& y);
Tensor less_equal(const Tensor& x, const Tensor& y);
Tensor greater(const Tensor& x, const Tensor& y);
Tensor greater_equal(const Tensor& x, const Tensor& y);
Tensor logical_and(const Tensor& x, const Tensor& y);
Tensor logical_or(const Tensor& x, const Tensor& y);
Tensor logical_not(const Tensor& x);
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y);

// --- Reductions; no axes means all. ---
Tensor reduce_sum(const Tensor& x, const Ints& axes = {}, bool keepdims = false);
Tensor reduce_mean(const Tensor& x, const Ints& axes = {}, bool keepdims = false);
Tensor reduce_max(const Tensor& x, const Ints& axes = {}, bool keepdims = false);
Tensor argmax(const Tensor& x, std::int64_t axis = 0, DType output_type = DType::i64);

// --- Linear algebra. ---
Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a = false, bool transpose_b = false);
Tensor bias_add(const Tensor& value, const Tensor& bias);

// --- Convolution and pooling: NHWC tensors, HWIO filters. ---
struct ConvOptions {
  Ints strides = {1, 1};
  std::string_view padding = "valid";  // or "same", or "explicit"
  Ints dilations = {1, 1};
  Ints explicit_paddings = {};  // top, bottom, left, right
};
/// Filters with fewer channels than the input make groups.
Tensor conv2d(const Tensor& input, const Tensor& filters, const ConvOptions& options = {});
Tensor conv2d_backprop_input(const Tensor& filters, const Tensor& grad, const Shape& input, const ConvOptions& options);
Tensor conv2d_backprop_filter(const Tensor& input, const Tensor& grad, const Shape& filter, const ConvOptions& options);
/// A filter [height, width, channels, multiplier] for each channel by itself.
Tensor depthwise_conv2d(const Tensor& input, const Tensor& filter, const ConvOptions& options = {});
Tensor separable_conv2d(const Tensor& input, const Tensor& depthwise, const Tensor& pointwise,
                        const ConvOptions& options = {});
/// The gradient of conv2d with respect to its input, as a layer: filters [height, width, outputs, channels].
Tensor conv2d_transpose(const Tensor& input, const Tensor& filters, const Shape& output_shape,
                        const ConvOptions& options = {});
/// Over [batch, length, channels]; the last number of each option counts.
Tensor conv1d(const Tensor& input, const Tensor& filters, const ConvOptions& options = {});
Tensor conv1d_transpose(const Tensor& input, const Tensor& filters, const Shape& output_shape,
                        const ConvOptions& options = {});
struct PoolOptions {
  Ints ksize = {2, 2};
  Ints strides = {2, 2};
  std::string_view padding = "valid";
};
Tensor max_pool2d(const Tensor& input, const PoolOptions& options = {});
Tensor avg_pool2d(const Tensor& input, const PoolOptions& options = {});
Tensor max_pool1d(const Tensor& input, const PoolOptions& options = {});
Tensor avg_pool1d(const Tensor& input, const PoolOptions& options = {});
/// The largest values and where they stand in each image, or in the batch.
Tensors max_pool_with_argmax(const Tensor& input, const PoolOptions& options = {}, DType output_dtype = DType::i64,
                             bool include_batch_in_index = false);

// --- Softmax and losses. ---
Tensor softmax(const Tensor& logits, std::int64_t axis = -1);
Tensor log_softmax(const Tensor& logits, std::int64_t axis = -1);
/// Class numbers (i32 or i64) against logits [..., classes]; one loss a row.
Tensor sparse_softmax_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits);
/// Class probabilities against logits of the same shape; one loss a row.
Tensor softmax_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits);

// --- Shape and selection. ---
Tensor reshape(const Tensor& x, const Ints& shape);  // one size may be -1
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor expand_dims(const Tensor& x, std::int64_t axis);
Tensor squeeze(const Tensor& x, const Ints& axes = {});
Tensor transpose(const Tensor& x, const Ints& perm = {});  // no perm: axes reversed
Tensor concat(const Tensors& values, std::int64_t axis);
Tensor slice(const Tensor& x, const Ints& begin, const Ints& size);  // size -1: to the end
Tensor gather(const Tensor& params, const Tensor& indices, std::int64_t axis = 0);
Tensor one_hot(const Tensor& indices, std::int64_t depth, double on_value = 1, double off_value = 0,
               std::int64_t axis = -1, DType dtype = DType::f32);
/// `paddings`: before and after each axis, in turn.
Tensor pad(const Tensor& x, const Ints& paddings, double constant_value = 0);
Tensor broadcast_to(const Tensor& x, const Shape& shape);
Tensor stop_gradient(const Tensor& x);
Tensor identity(const Tensor& x);

// --- Creation. ---
Tensor fill(const Shape& shape, double value, DType dtype = DType::f32);
Tensor zeros(const Shape& shape, DType dtype = DType::f32);
Tensor ones(const Shape& shape, DType dtype = DType::f32);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor range(double start, double limit, double delta = 1, DType dtype = DType::i32);

// --- Random numbers: the same for any thread count and device, given the seed. ---
void set_seed(std::uint64_t seed);
Tensor random_normal(const Shape& shape, double mean = 0, double stddev = 1, DType dtype = DType::f32,
                     std::int64_t seed = 0);
/// Floats in [min, max); integers in [min, max) too.
Tensor random_uniform(const Shape& shape, double min = 0, double max = 1, DType dtype = DType::f32,
                      std::int64_t seed = 0);

// --- A plain number beside a tensor takes the tensor's dtype. ---
template <class N>
concept PlainNumber = std::is_arithmetic_v<N> && !std::same_as<N, bool>;

template <PlainNumber N>
Tensor number_like(const Tensor& like, N value) {
  if constexpr (std::is_integral_v<N>) return Tensor::scalar(static_cast<std::int64_t>(value), like.dtype());
  else return Tensor::scalar(static_cast<double>(value), like.dtype());
}

inline Tensor maximum(const Tensor& x, PlainNumber auto y) { return maximum(x, number_like(x, y)); }
inline Tensor minimum(const Tensor& x, PlainNumber auto y) { return minimum(x, number_like(x, y)); }
inline Tensor pow(const Tensor& x, PlainNumber auto y) { return pow(x, number_like(x, y)); }
inline Tensor equal(const Tensor& x, PlainNumber auto y) { return equal(x, number_like(x, y)); }
inline Tensor less(const Tensor& x, PlainNumber auto y) { return less(x, number_like(x, y)); }
inline Tensor greater(const Tensor& x, PlainNumber auto y) { return greater(x, number_like(x, y)); }

inline Tensor operator+(const Tensor& x, const Tensor& y) { return add(x, y); }
inline Tensor operator-(const Tensor& x, const Tensor& y) { return subtract(x, y); }
inline Tensor operator*(const Tensor& x, const Tensor& y) { return multiply(x, y); }
inline Tensor operator/(const Tensor& x, const Tensor& y) { return divide(x, y); }
inline Tensor operator-(const Tensor& x) { return negative(x); }
inline Tensor operator+(const Tensor& x, PlainNumber auto y) { return add(x, number_like(x, y)); }
inline Tensor operator-(const Tensor& x, PlainNumber auto y) { return subtract(x, number_like(x, y)); }
inline Tensor operator*(const Tensor& x, PlainNumber auto y) { return multiply(x, number_like(x, y)); }
inline Tensor operator/(const Tensor& x, PlainNumber auto y) { return divide(x, number_like(x, y)); }
inline Tensor operator+(PlainNumber auto x, const Tensor& y) { return add(number_like(y, x), y); }
inline Tensor operator-(PlainNumber auto x, const Tensor& y) { return subtract(number_like(y, x), y); }
inline Tensor operator*(PlainNumber auto x, const Tensor& y) { return multiply(number_like(y, x), y); }
inline Tensor operator/(PlainNumber auto x, const Tensor& y) { return divide(number_like(y, x), y); }

}  // namespace tandem
