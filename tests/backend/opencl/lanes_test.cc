// Kernels for CPU-type devices are written in vectors of eight floats or of sixteen, by what a register of the device
// holds: the results are the same, bit for bit, because each sum is added up in the same order.
#include <gtest/gtest.h>

#include <cstring>

#include "tandem/op/array_records.h"
#include "tandem/op/network_records.h"
#include "tandem/op/records.h"
#include "tests/backend/opencl/call.h"

namespace tandem::opencl {
namespace {

class OpenClLanes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device_with(true)) GTEST_SKIP() << "no OpenCL driver";
  }

  static Device* device_with(bool wide) {
    static const auto eight = devices({.cpu_as_gpu = 1, .wide_vectors = false}),
                      sixteen = devices({.cpu_as_gpu = 1, .wide_vectors = true});
    const auto& made = wide ? sixteen : eight;
    return made.empty() ? nullptr : made[0].get();
  }

  /// By every kernel of the op that takes the call.
  static void expect_same_bits(const OpDef& op, const Attrs& attrs, const Tensors& inputs) {
    const Call call(op, attrs, inputs);
    for (const Kernel& kernel : device_with(false)->kernels().of(op)) {
      if (!call.runs_with(kernel, *device_with(false))) continue;
      const Tensors eight = call.run(*device_with(false), kernel), sixteen = call.run(*device_with(true), kernel);
      for (std::size_t k = 0; k < eight.size(); ++k)
        EXPECT_EQ(std::memcmp(eight[k].raw_data(), sixteen[k].raw_data(), eight[k].spec().bytes()), 0)
            << op.name << " of " << inputs[0].shape() << " and " << inputs.back().shape() << " by " << kernel.name
            << ", result " << k;
    }
  }
};

TEST_F(OpenClLanes, ProductsOfAnyWidthHaveTheSameBits) {
  for (std::int64_t n : {1, 7, 8, 9, 16, 17, 24, 31, 32, 33, 40, 48, 49, 63, 64, 100})
    for (bool transpose_b : {false, true})
      expect_same_bits(matmul_op, make_attrs(matmul_op, false, transpose_b),
                       {random_f32({14, 50}), random_f32(transpose_b ? Shape{n, 50} : Shape{50, n}, 2)});
  expect_same_bits(matmul_op, make_attrs(matmul_op, false, false), {random_f32({70, 1100}), random_f32({1100, 45}, 2)});
  expect_same_bits(matmul_op, make_attrs(matmul_op, false, false),
                   {random_f32({3, 1, 7, 5}), random_f32({4, 5, 41}, 2)});
  expect_same_bits(matmul_op, make_attrs(matmul_op, true, false), {random_f32({4200, 17}), random_f32({4200, 10}, 2)});
}

TEST_F(OpenClLanes, ConvolutionsAndTheirGradientsHaveTheSameBits) {
  for (std::int64_t outputs : {3, 8, 9, 16, 20, 32, 40, 48, 64})
    for (std::int64_t groups : {1, 2})
      for (const char* padding : {"same", "valid"}) {
        const Ints one{1, 1};
        const Shape input{2, 9, 7, 6 * groups}, filter{3, 3, 6, outputs * groups};
        const Shape output = padding[0] == 's' ? Shape{2, 9, 7, outputs * groups} : Shape{2, 7, 5, outputs * groups};
        expect_same_bits(conv2d_op, make_attrs(conv2d_op, one, padding, one, Ints{}),
                         {random_f32(input), random_f32(filter, 2)});
        expect_same_bits(conv2d_backprop_input_op,
                         make_attrs(conv2d_backprop_input_op, input, one, padding, one, Ints{}),
                         {random_f32(filter), random_f32(output, 2)});
        expect_same_bits(conv2d_backprop_filter_op,
                         make_attrs(conv2d_backprop_filter_op, filter, one, padding, one, Ints{}),
                         {random_f32(input), random_f32(output, 2)});
      }
}

TEST_F(OpenClLanes, ConvolutionsOfEachChannelHaveTheSameBits) {
  for (std::int64_t channels : {8, 16, 32, 40}) {
    const Ints one{1, 1};
    const Shape images{2, 9, 7, channels}, filter{3, 3, 1, channels};
    expect_same_bits(conv2d_op, make_attrs(conv2d_op, one, "same", one, Ints{}),
                     {random_f32(images), random_f32(filter, 2)});
    expect_same_bits(conv2d_backprop_input_op, make_attrs(conv2d_backprop_input_op, images, one, "same", one, Ints{}),
                     {random_f32(filter), random_f32(images, 2)});
    expect_same_bits(conv2d_backprop_filter_op, make_attrs(conv2d_backprop_filter_op, filter, one, "same", one, Ints{}),
                     {random_f32(images), random_f32(images, 2)});
  }
}

TEST_F(OpenClLanes, ReductionsHaveTheSameBits) {
  for (const OpDef* op : {&reduce_sum_op, &reduce_mean_op, &reduce_max_op})
    for (const Shape& shape : {Shape{70, 133}, Shape{1100, 600}, Shape{3, 5000, 7}})
      for (std::int64_t axis : {0, 1}) expect_same_bits(*op, make_attrs(*op, Ints{axis}, false), {random_f32(shape)});
}

TEST_F(OpenClLanes, ImagesAreResizedAndPooledToTheSameBits) {
  for (std::int64_t channels : {3, 16, 21, 40}) {
    const Shape images{2, 9, 7, channels}, larger{2, 20, 11, channels}, smaller{2, 4, 7, channels};
    for (const Shape& to : {larger, smaller}) {
      expect_same_bits(resize_bilinear_op, make_attrs(resize_bilinear_op, Ints{to[1], to[2]}), {random_f32(images)});
      expect_same_bits(resize_bilinear_grad_op, make_attrs(resize_bilinear_grad_op, Ints{images[1], images[2]}),
                       {random_f32(to)});
    }
    const Ints two{2, 2};
    expect_same_bits(max_pool2d_op, make_attrs(max_pool2d_op, two, two, "same"), {random_f32(images)});
  }
}

TEST_F(OpenClLanes, RowsAreJoinedAndScatteredToTheSameBits) {
  std::mt19937 engine(1);
  for (std::int64_t columns : {7, 16, 40, 133}) {
    const Tensor ids = random_tensor({{DType::i32, {90}}, {0, 29}}, engine), rows = random_f32({90, columns});
    for (const OpDef* op : {&unsorted_segment_sum_op, &unsorted_segment_max_op})
      expect_same_bits(*op, make_attrs(*op, 30), {rows, ids});
    expect_same_bits(tensor_scatter_nd_add_op, {},
                     {random_f32({30, columns}, 2), random_tensor({{DType::i32, {90, 1}}, {0, 29}}, engine), rows});
  }
}

TEST_F(OpenClLanes, SamplesOfNetworkOpsHaveTheSameBits) {
  for (const OpDef* op :
       {&lstm_op, &lstm_grad_op, &gru_op, &gru_grad_op, &simple_rnn_op, &simple_rnn_grad_op, &dot_product_attention_op,
        &dot_product_attention_grad_op, &avg_pool2d_op, &avg_pool2d_grad_op})
    for (const OpSample& sample : samples(*op, DType::f32)) {
      std::mt19937 engine(1);
      Tensors inputs;
      for (const SampleInput& input : sample.inputs) inputs.push_back(random_tensor(input, engine));
      expect_same_bits(*op, sample.attrs, inputs);
    }
}

}  // namespace
}  // namespace tandem::opencl
