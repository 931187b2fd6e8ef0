// What the user did wrong gets an Error with a code, the op's name and what was got; everything else stays intact.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tandem/tandem.h"

namespace tandem {
namespace {

struct Bad {
  const char* name;
  ErrorCode code;
  std::vector<std::string> mentions;
  std::function<void()> run;
};

std::vector<Bad> bad_inputs() {
  const auto big = std::int64_t{1} << 40;
  return {
      {"matmul_inner",
       ErrorCode::shape_mismatch,
       {"matmul", "[32, 784]", "[10, 784]", "transpose_b=true"},
       [] { matmul(zeros({32, 784}), zeros({10, 784})); }},
      {"matmul_vector", ErrorCode::shape_mismatch, {"matmul", "[3]"}, [] { matmul(zeros({3}), zeros({3, 2})); }},
      {"broadcast", ErrorCode::shape_mismatch, {"add", "[2, 3]", "[4]"}, [] { add(zeros({2, 3}), zeros({4})); }},
      {"mixed_dtypes",
       ErrorCode::dtype_mismatch,
       {"add", "float32", "int32"},
       [] { add(zeros({2}), zeros({2}, DType::i32)); }},
      {"exp_of_integers", ErrorCode::unsupported_dtype, {"exp", "int32"}, [] { exp(zeros({2}, DType::i32)); }},
      {"number_too_large", ErrorCode::cannot_convert, {"300", "uint8"}, [] { zeros({2}, DType::u8) + 300; }},
      {"fraction_beside_integers", ErrorCode::cannot_convert, {"1.5", "int32"}, [] { zeros({2}, DType::i32) * 1.5; }},
      {"axis", ErrorCode::invalid_axis, {"reduce_sum", "2"}, [] { reduce_sum(zeros({2, 3}), {2}); }},
      {"axis_twice", ErrorCode::invalid_axis, {"reduce_sum", "twice"}, [] { reduce_sum(zeros({2, 3}), {1, -1}); }},
      {"negative_size", ErrorCode::invalid_shape, {"-3"}, [] { zeros({2, -3}); }},
      {"size_overflow", ErrorCode::invalid_shape, {"2^62"}, [=] { zeros({big, big}); }},
      {"absurd_allocation", ErrorCode::out_of_memory, {"GiB"}, [=] { zeros({big}); }},
      {"too_many_axes", ErrorCode::invalid_shape, {"8", "9"}, [] { zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}); }},
      {"reshape", ErrorCode::shape_mismatch, {"reshape", "6", "[4]"}, [] { reshape(zeros({2, 3}), Ints{4}); }},
      {"reshape_two_open", ErrorCode::invalid_shape, {"-1"}, [] { reshape(zeros({2, 3}), Ints{-1, -1}); }},
      {"perm", ErrorCode::invalid_axis, {"transpose", "twice"}, [] { transpose(zeros({2, 3}), {0, 0}); }},
      {"concat",
       ErrorCode::shape_mismatch,
       {"concat", "[2, 3]", "[3, 3]"},
       [] { concat({zeros({2, 3}), zeros({3, 3})}, 1); }},
      {"concat_nothing", ErrorCode::wrong_arity, {"concat"}, [] { concat({}, 0); }},
      {"slice_outside", ErrorCode::index_out_of_range, {"slice", "size 4"}, [] { slice(zeros({4}), {2}, {3}); }},
      {"slice_negative", ErrorCode::index_out_of_range, {"slice"}, [] { slice(zeros({4}), {-1}, {2}); }},
      {"conv2d_groups",
       ErrorCode::shape_mismatch,
       {"conv2d", "5 channels", "expect 2"},
       [] { conv2d(zeros({1, 4, 4, 5}), zeros({3, 3, 2, 4})); }},
      {"conv2d_outputs_in_groups",
       ErrorCode::shape_mismatch,
       {"conv2d", "5 outputs", "2 groups"},
       [] { conv2d(zeros({1, 4, 4, 4}), zeros({3, 3, 2, 5})); }},
      {"conv2d_explicit_padding",
       ErrorCode::invalid_argument,
       {"conv2d", "top, bottom, left and right", "[1, 2]"},
       [] { conv2d(zeros({1, 4, 4, 2}), zeros({3, 3, 2, 4}), {.padding = "explicit", .explicit_paddings = {1, 2}}); }},
      {"conv2d_padding_not_asked_for",
       ErrorCode::invalid_argument,
       {"conv2d", "'same'"},
       [] {
         conv2d(zeros({1, 4, 4, 2}), zeros({3, 3, 2, 4}), {.padding = "same", .explicit_paddings = {1, 1, 1, 1}});
       }},
      {"depthwise_conv2d",
       ErrorCode::shape_mismatch,
       {"depthwise_conv2d", "[1, 4, 4, 2]"},
       [] { depthwise_conv2d(zeros({1, 4, 4, 2}), zeros({3, 3, 3, 1})); }},
      {"conv1d_rank", ErrorCode::shape_mismatch, {"conv1d", "[4, 2]"}, [] { conv1d(zeros({4, 2}), zeros({3, 2, 1})); }},
      {"avg_pool2d_stride",
       ErrorCode::invalid_argument,
       {"avg_pool2d", "strides", "0"},
       [] { avg_pool2d(zeros({1, 4, 4, 2}), {.strides = {0, 1}}); }},
      {"batch_normalization_scale",
       ErrorCode::shape_mismatch,
       {"batch_normalization_training", "scale", "[3]"},
       [] { batch_normalization_training(zeros({2, 4}), zeros({3}), zeros({4})); }},
      {"layer_normalization_epsilon",
       ErrorCode::invalid_argument,
       {"layer_normalization", "epsilon", "-1"},
       [] { layer_normalization(zeros({2, 4}), zeros({4}), zeros({4}), -1); }},
      {"dropout_rate", ErrorCode::invalid_argument, {"dropout", "[0, 1)", "1"}, [] { dropout(zeros({2}), 1); }},
      {"attention_heads",
       ErrorCode::shape_mismatch,
       {"dot_product_attention", "heads"},
       [] { dot_product_attention(zeros({1, 2, 3, 4}), zeros({1, 2, 2, 4}), zeros({1, 2, 2, 4})); }},
      {"attention_bias",
       ErrorCode::shape_mismatch,
       {"dot_product_attention", "[1, 2, 3, 3]", "[3, 3]"},
       [] {
         dot_product_attention(zeros({1, 3, 2, 4}), zeros({1, 3, 2, 4}), zeros({1, 3, 2, 4}), {.bias = zeros({3, 3})});
       }},
      {"lstm_kernel",
       ErrorCode::shape_mismatch,
       {"lstm", "kernel", "[3, 8]", "[4, 8]"},
       [] { lstm(zeros({1, 5, 3}), zeros({1, 2}), zeros({1, 2}), zeros({4, 8}), zeros({2, 8}), zeros({8})); }},
      {"gru_bias",
       ErrorCode::shape_mismatch,
       {"gru", "bias", "[2, 6]"},
       [] { gru(zeros({1, 5, 3}), zeros({1, 2}), zeros({3, 6}), zeros({2, 6}), zeros({6})); }},
      {"gather_outside",
       ErrorCode::index_out_of_range,
       {"gather", "7"},
       [] { gather(zeros({5, 2}), Tensor::from({1, 7}, {2})); }},
      {"gather_negative",
       ErrorCode::index_out_of_range,
       {"gather", "-1"},
       [] { gather(zeros({5, 2}), Tensor::from({-1}, {1})); }},
      {"gather_float_index",
       ErrorCode::unsupported_dtype,
       {"gather", "float32"},
       [] { gather(zeros({5}), zeros({1})); }},
      {"label_outside",
       ErrorCode::index_out_of_range,
       {"label", "10"},
       [] { sparse_softmax_cross_entropy_with_logits(Tensor::from({10}, {1}), zeros({1, 10})); }},
      {"label_shape",
       ErrorCode::shape_mismatch,
       {"labels", "[3]"},
       [] { sparse_softmax_cross_entropy_with_logits(zeros({3}, DType::i32), zeros({2, 10})); }},
      {"conv_channels",
       ErrorCode::shape_mismatch,
       {"conv2d", "3 channels", "4"},
       [] { conv2d(zeros({1, 8, 8, 3}), zeros({3, 3, 4, 8})); }},
      {"conv_padding",
       ErrorCode::invalid_argument,
       {"padding", "full"},
       [] { conv2d(zeros({1, 8, 8, 3}), zeros({3, 3, 3, 8}), {.padding = "full"}); }},
      {"conv_stride",
       ErrorCode::invalid_argument,
       {"strides", "0"},
       [] { conv2d(zeros({1, 8, 8, 3}), zeros({3, 3, 3, 8}), {.strides = {0, 1}}); }},
      {"pad_negative", ErrorCode::invalid_argument, {"pad", "-1"}, [] { pad(zeros({3}), {-1, 0}); }},
      {"one_hot_depth", ErrorCode::invalid_argument, {"one_hot", "-2"}, [] { one_hot(zeros({3}, DType::i32), -2); }},
      {"argmax_empty", ErrorCode::invalid_shape, {"argmax"}, [] { argmax(zeros({0, 3}), 0); }},
      {"range_step", ErrorCode::invalid_argument, {"range", "0"}, [] { range(0, 5, 0); }},
      {"range_nan", ErrorCode::invalid_argument, {"range"}, [] { range(0, std::nan("")); }},
      {"device_name", ErrorCode::unknown_device, {"'FPU'", "/FPU:0"}, [] { DeviceScope scope("/FPU:0"); }},
      {"device_index", ErrorCode::unknown_device, {"/GPU:x"}, [] { DeviceScope scope("/GPU:x"); }},
      {"device_of_another_job",
       ErrorCode::unknown_device,
       {"/job:worker/GPU:0"},
       [] { DeviceScope scope("/job:worker/GPU:0"); }},
      {"undefined_tensor", ErrorCode::invalid_argument, {"undefined"}, [] { add(Tensor(), zeros({1})); }},
      {"item_of_many", ErrorCode::shape_mismatch, {"[2]"}, [] { zeros({2}).item<float>(); }},
      {"read_as_another_dtype", ErrorCode::dtype_mismatch, {"float32", "float64"}, [] { zeros({2}).data<double>(); }},
      {"values_do_not_fill_the_shape",
       ErrorCode::shape_mismatch,
       {"[2, 2]", "3"},
       [] { Tensor::from({1.f, 2.f, 3.f}, {2, 2}); }},
      {"strings_have_no_sum",
       ErrorCode::unsupported_dtype,
       {"add", "string"},
       [] { add(Tensor::from_strings({"a"}, {1}), Tensor::from_strings({"b"}, {1})); }},
      {"where_condition",
       ErrorCode::dtype_mismatch,
       {"where", "float32"},
       [] { where(zeros({1}), zeros({1}), zeros({1})); }},
      {"random_integers",
       ErrorCode::invalid_argument,
       {"random_uniform"},
       [] { random_uniform({3}, 5, 5, DType::i32); }},
      {"bias", ErrorCode::shape_mismatch, {"bias_add", "[2, 3]", "[2]"}, [] { bias_add(zeros({2, 3}), zeros({2})); }},
  };
}

class BadInput : public ::testing::TestWithParam<Bad> {};

TEST_P(BadInput, IsAnErrorThatNamesWhatWasGot) {
  const Tensor witness = Tensor::from({1.f, 2.f}, {2});
  try {
    GetParam().run();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    for (const std::string& word : GetParam().mentions)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "'" << word << "' is missing in: " << error.what();
  }
  EXPECT_EQ((witness + witness).to_vector<float>(), (std::vector<float>{2, 4}));  // everything else still works
}

INSTANTIATE_TEST_SUITE_P(Calls, BadInput, ::testing::ValuesIn(bad_inputs()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SpecialValues, NanAndInfinityPassThroughAsNumbersDo) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from({nan, inf, -inf, -0.f}, {4});
  EXPECT_TRUE(std::isnan(relu(x).data<float>()[0]));
  EXPECT_TRUE(std::isnan(reduce_max(x).item<float>()));
  EXPECT_TRUE(std::isnan(maximum(x, 1.0).data<float>()[0]));
  EXPECT_TRUE(std::isnan(minimum(number_like(x, 1.0), x).data<float>()[0]));
  EXPECT_EQ(exp(x).data<float>()[2], 0.f);
  EXPECT_EQ(tanh(x).data<float>()[1], 1.f);
  EXPECT_EQ(argmax(x).item<std::int64_t>(), 1);  // NaN is passed over, as in TensorFlow
  EXPECT_EQ(cast(x, DType::i32).data<std::int32_t>()[0], std::numeric_limits<std::int32_t>::min());
}

TEST(EmptyTensors, PassThroughEveryKindOfOp) {
  const Tensor none = zeros({0, 3});
  EXPECT_EQ((none + none).shape(), (Shape{0, 3}));
  EXPECT_EQ(reduce_sum(none).item<float>(), 0);
  EXPECT_TRUE(std::isnan(reduce_mean(none).item<float>()));
  EXPECT_EQ(matmul(none, zeros({3, 2})).shape(), (Shape{0, 2}));
  EXPECT_EQ(matmul(zeros({2, 0}), zeros({0, 3})).to_vector<float>(), std::vector<float>(6, 0.f));
  EXPECT_EQ(softmax(none).shape(), (Shape{0, 3}));
  EXPECT_EQ(concat({none, ones({2, 3})}, 0).shape(), (Shape{2, 3}));
  EXPECT_EQ(transpose(none).shape(), (Shape{3, 0}));
}

TEST(IntegerDivision, GivesAFloatAsInTensorFlow) {
  const Tensor a = Tensor::from({7, 1}, {2}), b = Tensor::from({2, 0}, {2});
  EXPECT_EQ((a / b).dtype(), DType::f64);
  EXPECT_EQ((a / b).data<double>()[0], 3.5);
  EXPECT_TRUE(std::isinf((a / b).data<double>()[1]));
  EXPECT_EQ((cast(a, DType::u8) / cast(a, DType::u8)).dtype(), DType::f32);
}

}  // namespace
}  // namespace tandem
