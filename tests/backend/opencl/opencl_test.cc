// The OpenCL backend on a real driver, PoCL serving as a GPU: every op against the CPU's reference, and the device's
// own promises about memory, errors, threads and the programs on disk.
#include "tandem/backend/opencl/discovery.h"
#include "tandem/backend/opencl/opencl_device.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <thread>

#include "tandem/backend/opencl/program_cache.h"
#include "tandem/op/ops.h"
#include "tandem/op/array_records.h"
#include "tandem/op/linalg_records.h"
#include "tandem/op/network_records.h"
#include "tandem/op/records.h"
#include "tandem/runtime/runtime.h"
#include "tests/backend/opencl/call.h"
#include "tests/backend/opencl/own_folder.h"
#include "tests/op/compare.h"
#include "tests/op/sample_data.h"

namespace tandem::opencl {
namespace {

namespace fs = std::filesystem;

/// The device most tests share; null without a driver.
Device* shared_device() {
  static const auto made = devices({.cpu_as_gpu = 1});
  return made.empty() ? nullptr : made[0].get();
}

class OpenCl : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!shared_device()) GTEST_SKIP() << "no OpenCL driver";
  }
};

// --- Every op. ---

std::vector<const OpDef*> runnable_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : op_list())
    if (!op->view) ops.push_back(op);
  return ops;
}

/// What is left out because each program takes a while to compile. A cast is a program a pair of dtypes, of which a
/// half stands for the rest: each dtype is read and written by some. Another formula, a scan or a scatter is a program
/// a dtype: it is compared in f32 or i32, and every third op in one dtype more, which changes from op to op. So are
/// reductions whose kernels are those of reduce_sum, reduce_max and argmax.
bool left_out(const OpDef& op, const Call& call) {
  const bool like_another = &op == &reduce_min_op || &op == &reduce_prod_op || &op == &argmin_op;
  if ((op.scalar || op.depth || like_another) && &op != &cast_op) {
    const DType dtype = call.in[op.free_dtypes & 1 ? 1 : 0].dtype();
    if (dtype == DType::f32 || dtype == DType::i32 || dtype == DType::boolean) return false;
    const auto dtypes = sample_dtypes(op);
    const std::size_t number = std::hash<std::string_view>()(op.name);
    return number % 3 != 0 || dtype != dtypes[number / 3 % dtypes.size()];
  }
  if (&op != &cast_op) return false;
  const DType from = call.in[0].dtype(), to = call.specs[0].dtype();
  return from != DType::f32 && to != DType::f32 && (static_cast<int>(from) + static_cast<int>(to)) % 3 != 0;
}

/// Chooses calls for Oclgrind, which simulates every instruction: tiny ones, and the first of a kernel that takes no
/// tiny one. Other devices run all.
class TinyCalls {
 public:
  explicit TinyCalls(const Device& device)
      : simulated_(device.properties().description.find("Oclgrind") != std::string::npos) {}

  bool takes(const Call& call, const Kernel& kernel) {
    constexpr std::int64_t kTiny = 96;
    const bool first = call.specs[0].shape().elements() > 0 && have_run_.insert(kernel.name).second;
    return !simulated_ || first || call.elements() <= kTiny;
  }

 private:
  const bool simulated_;
  std::set<std::string_view> have_run_;
};

class OpenClConformance : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(OpenClConformance, AgreesWithTheReferenceOfTheCpu) {
  Device* device = shared_device();
  if (!device) GTEST_SKIP() << "no OpenCL driver";
  const OpDef& op = *GetParam();
  ASSERT_FALSE(device->kernels().of(op).empty()) << op.name << " has no OpenCL kernel";
  int compared = 0;
  for (DType dtype : sample_dtypes(op)) {
    TinyCalls calls(*device);
    for (const OpSample& sample : samples(op, dtype)) {
      const Call call(op, sample.attrs, random_inputs(sample));
      if (left_out(op, call)) continue;
      const Tensors expected = call.run_reference();
      for (const Kernel& kernel : device->kernels().of(op)) {
        const Support support = kernel.supports ? kernel.supports(call.kernel_call(device)) : yes();
        if (!support) {
          EXPECT_FALSE(support.reason.empty()) << kernel.name << " refuses " << op.name << " without a reason";
          continue;
        }
        if (!calls.takes(call, kernel)) continue;
        const Tensors got = call.run(*device, kernel);
        ++compared;
        for (std::size_t k = 0; k < got.size(); ++k)
          expect_close(got[k], expected[k], op.random ? 0 : tolerance(got[k].dtype()),
                       describe(op, sample, kernel.name));
        if (HasFatalFailure()) return;
      }
    }
  }
  const bool host_only = std::ranges::find(linalg_ops(), &op) != linalg_ops().end();
  EXPECT_EQ(compared > 0, !host_only) << op.name;
}

INSTANTIATE_TEST_SUITE_P(Ops, OpenClConformance, ::testing::ValuesIn(runnable_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

// --- Sizes beyond the samples: several tiles, segments and blocks of depth. ---

void expect_agrees(const OpDef& op, const Attrs& attrs, const Tensors& inputs, double allowed = tolerance(DType::f32)) {
  const Call call(op, attrs, inputs);
  const Tensors expected = call.run_reference();
  for (const Kernel& kernel : shared_device()->kernels().of(op)) {
    if (!call.runs_with(kernel, *shared_device())) continue;
    const Tensors got = call.run(*shared_device(), kernel);
    for (std::size_t k = 0; k < got.size(); ++k)
      expect_close(got[k], expected[k], allowed, text(op.name, " of ", inputs[0].shape(), " by ", kernel.name));
  }
}

/// Many equal values, both zeros, infinities and NaN.
Tensor few_values(const Shape& shape) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kValues[] = {0.0f, -0.0f, 1.5f, -2, 1e-40f, -1e30f, 7, kInfinity, -kInfinity, kNan, -kNan};
  std::mt19937 engine(1);
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (float& value : values) value = kValues[engine() % std::size(kValues)];
  return Tensor::from(values, shape);
}

TEST_F(OpenCl, EveryByteButZeroIsTrueInLogicalOps) {
  for (std::int64_t count : {1, 63, 64, 65, 200}) {
    Tensor x = Tensor::uninitialized({DType::boolean, {count}}, host_memory(), nullptr),
           y = Tensor::uninitialized({DType::boolean, {count}}, host_memory(), nullptr);
    auto* of_x = static_cast<unsigned char*>(x.impl()->storage->address());
    auto* of_y = static_cast<unsigned char*>(y.impl()->storage->address());
    for (std::int64_t i = 0; i < count; ++i)
      of_x[i] = static_cast<unsigned char>(i % 3 ? 1 << i % 8 : 0),
      of_y[i] = static_cast<unsigned char>(i % 2 ? 255 - i : 0);
    for (const char* name : {"logical_and", "logical_or", "logical_xor", "logical_not"}) {
      const OpDef& op = *find_op(name);
      const Attrs attrs = make_attrs(op);
      const Tensor got =
          Call(op, attrs, std::string_view(name) == "logical_not" ? Tensors{x} : Tensors{x, y}).run(*shared_device());
      const auto* bytes = static_cast<const unsigned char*>(got.raw_data());
      for (std::int64_t i = 0; i < count; ++i) {
        const bool a = of_x[i] != 0, b = of_y[i] != 0;
        const int wanted = name == std::string_view("logical_and")   ? a && b
                           : name == std::string_view("logical_or")  ? a || b
                           : name == std::string_view("logical_xor") ? a != b
                                                                     : !a;
        ASSERT_EQ(bytes[i], wanted) << name << " of " << count << " at " << i;
      }
    }
  }
}

TEST_F(OpenCl, MatmulsDeeperThanOneBlockAgree) {
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      expect_agrees(
          matmul_op, make_attrs(matmul_op, ta, tb),
          {random_f32(ta ? Shape{2100, 37} : Shape{37, 2100}), random_f32(tb ? Shape{50, 2100} : Shape{2100, 50}, 2)},
          2e-5);
}

TEST_F(OpenCl, SmallMatmulsThatFillTheirTilesOrDoNotAgree) {
  const auto agrees = [](const Shape& a, const Shape& b, bool transpose_a = false) {
    expect_agrees(matmul_op, make_attrs(matmul_op, transpose_a, false), {random_f32(a), random_f32(b, 2)}, 1e-5);
  };
  for (std::int64_t m : {1, 6, 7, 48})
    for (std::int64_t n : {1, 8, 9, 16, 31}) {
      agrees({m, 20}, {20, n});
      agrees({20, m}, {20, n}, true);
    }
  agrees({3, 1, 7, 5}, {4, 5, 17});
  agrees({100, 5}, {5, 18});
}

TEST_F(OpenCl, MatmulsWithFewColumnsAgree) {
  for (std::int64_t n : {1, 8, 9, 16})
    for (bool ta : {false, true})
      for (bool tb : {false, true})
        expect_agrees(
            matmul_op, make_attrs(matmul_op, ta, tb),
            {random_f32(ta ? Shape{4200, 17} : Shape{17, 4200}), random_f32(tb ? Shape{n, 4200} : Shape{4200, n}, 2)},
            2e-5);
  expect_agrees(matmul_op, make_attrs(matmul_op, false, false),
                {random_f32({3, 1, 17, 4200}), random_f32({2, 4200, 5}, 2)}, 2e-5);
}

TEST_F(OpenCl, BroadcastsOfShortAndLongRowsAgree) {
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{5000, 10}, {10}},
                                                                 {{5000, 10}, {5000, 1}},
                                                                 {{5000, 1}, {1, 7}},
                                                                 {{300, 1000}, {1000}},
                                                                 {{300, 1000}, {300, 1}},
                                                                 {{70, 1, 40}, {70, 30, 1}},
                                                                 {{7, 1, 400}, {30, 1}},
                                                                 {{3, 129}, {129}},
                                                                 {{3, 4, 5, 6}, {4, 1, 6}},
                                                                 {{100'003}, {}}})
    expect_agrees(add_op, {}, {random_f32(a), random_f32(b, 2)}, 0);
}

TEST_F(OpenCl, ReductionsOfManyTilesAgree) {
  const Tensor x = random_f32({3, 9000}), y = random_f32({1500, 70}), z = random_f32({5, 1300, 9}),
               all = random_f32({1 << 20});
  expect_agrees(reduce_sum_op, make_attrs(reduce_sum_op, Ints{1}, false), {x}, 2e-5);
  expect_agrees(reduce_mean_op, make_attrs(reduce_mean_op, Ints{0}, false), {y}, 2e-5);
  expect_agrees(reduce_max_op, make_attrs(reduce_max_op, Ints{1}, true), {z}, 0);
  expect_agrees(reduce_sum_op, make_attrs(reduce_sum_op, Ints{}, false), {all}, 2e-4);
}

TEST_F(OpenCl, ConvolutionsWorkedOffInPartsAgree) {
  const Shape input{5, 40, 40, 64}, filter{3, 3, 64, 8}, output{5, 40, 40, 8};
  const Ints one{1, 1};
  expect_agrees(conv2d_op, make_attrs(conv2d_op, one, "same", one, Ints{}), {random_f32(input), random_f32(filter, 2)},
                2e-5);
  expect_agrees(conv2d_backprop_input_op, make_attrs(conv2d_backprop_input_op, input, one, "same", one, Ints{}),
                {random_f32(filter), random_f32(output, 2)}, 2e-5);
  expect_agrees(conv2d_backprop_filter_op, make_attrs(conv2d_backprop_filter_op, filter, one, "same", one, Ints{}),
                {random_f32(input), random_f32(output, 2)}, 5e-5);
}

TEST_F(OpenCl, ConvolutionsWithFewFiltersAgree) {
  for (const char* padding : {"same", "valid"})
    for (std::int64_t outputs : {16, 20, 32})
      expect_agrees(conv2d_op, make_attrs(conv2d_op, Ints{1, 1}, padding, Ints{1, 1}, Ints{}),
                    {random_f32({3, 11, 9, 3}), random_f32({3, 3, 3, outputs}, 2)}, 1e-5);
}

TEST_F(OpenCl, FilterGradientsOfAnyNumberOfChannelsAgree) {
  for (const char* padding : {"same", "valid"})
    for (std::int64_t outputs : {5, 16, 17, 32, 33, 48, 80}) {
      const Shape filter{3, 3, 3, outputs},
          output = padding[0] == 's' ? Shape{3, 11, 9, outputs} : Shape{3, 9, 7, outputs};
      expect_agrees(conv2d_backprop_filter_op,
                    make_attrs(conv2d_backprop_filter_op, filter, Ints{1, 1}, padding, Ints{1, 1}, Ints{}),
                    {random_f32({3, 11, 9, 3}), random_f32(output, 2)}, 2e-5);
    }
}

TEST_F(OpenCl, ConvolutionsInGroupsAgree) {
  struct Case {
    std::int64_t groups, inputs, outputs, stride, dilation;  // channels of a group
  };
  for (const Case& c : {Case{4, 8, 8, 1, 1},
                        {2, 3, 20, 1, 1},
                        {2, 5, 33, 2, 1},
                        {3, 4, 2, 2, 1},
                        {2, 4, 4, 1, 2},
                        {2, 2, 16, 1, 1},
                        {16, 1, 1, 1, 1},
                        {16, 1, 1, 2, 1},
                        {11, 1, 1, 1, 2},
                        {5, 1, 3, 1, 1},
                        {5, 1, 2, 3, 1},
                        {3, 1, 8, 1, 1}})
    for (const char* padding : {"same", "valid"}) {
      const Ints strides{c.stride, c.stride}, dilations{c.dilation, c.dilation};
      const Shape input{3, 11, 9, c.groups * c.inputs}, filter{3, 2, c.inputs, c.groups * c.outputs};
      const Attrs attrs = make_attrs(conv2d_op, strides, padding, dilations, Ints{});
      expect_agrees(conv2d_op, attrs, {random_f32(input), random_f32(filter, 2)}, 1e-5);
      const Tensor dy = random_f32(Call(conv2d_op, attrs, {random_f32(input), random_f32(filter)}).specs[0].shape(), 3);
      expect_agrees(conv2d_backprop_input_op,
                    make_attrs(conv2d_backprop_input_op, input, strides, padding, dilations, Ints{}),
                    {random_f32(filter), dy}, 1e-5);
      expect_agrees(conv2d_backprop_filter_op,
                    make_attrs(conv2d_backprop_filter_op, filter, strides, padding, dilations, Ints{}),
                    {random_f32(input), dy}, 2e-5);
    }
}

TEST_F(OpenCl, RowsOfAnyLengthAreSortedAndEqualValuesKeepTheirOrder) {
  for (const Shape& shape : {Shape{3, 1}, Shape{3, 16}, Shape{70, 17}, Shape{2, 64}, Shape{9, 65}, Shape{40, 300},
                             Shape{1, 40'001}, Shape{2, 16'385}})
    for (const Tensor& x : {few_values(shape), random_f32(shape)}) {
      for (const char* direction : {"ascending", "descending"}) {
        expect_agrees(sort_op, make_attrs(sort_op, direction), {x}, 0);
        expect_agrees(argsort_op, make_attrs(argsort_op, direction), {x}, 0);
      }
      for (std::int64_t k : {1, 5, 64, 100})
        if (k <= shape[-1]) expect_agrees(top_k_op, make_attrs(top_k_op, k), {x}, 0);
    }
}

TEST_F(OpenCl, ScansAlongAnyAxisAgree) {
  for (const auto& [shape, axis] : std::vector<std::pair<Shape, int>>{
           {{70, 130}, 0}, {{70, 130}, 1}, {{5, 33, 64}, 1}, {{4, 9, 10}, 1}, {{300, 7}, 0}})
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) {
        expect_agrees(cumsum_op, make_attrs(cumsum_op, axis, exclusive, reverse), {random_f32(shape)}, 1e-5);
        expect_agrees(cumprod_op, make_attrs(cumprod_op, axis, exclusive, reverse), {random_f32(shape)}, 1e-5);
      }
}

TEST_F(OpenCl, LongLinesAreScannedInPieces) {
  for (const Shape& shape : {Shape{16 * 2096}, Shape{2, 40'003}})
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) {
        std::mt19937 engine(1);
        const Attrs sums = make_attrs(cumsum_op, -1, exclusive, reverse),
                    products = make_attrs(cumprod_op, -1, exclusive, reverse);
        expect_agrees(cumsum_op, sums, {random_tensor({{DType::i32, shape}, {-9, 9}}, engine)}, 0);
        expect_agrees(cumsum_op, sums, {random_f32(shape)}, 1e-5);
        expect_agrees(cumprod_op, products, {random_tensor({{DType::f32, shape}, {0.999, 1.001}}, engine)}, 1e-5);
      }
}

TEST_F(OpenCl, SumsOverSeveralAxesThatAreNotNeighboursAgree) {
  for (const auto& [shape, axes] : std::vector<std::pair<Shape, Ints>>{
           {{64, 5, 33}, {0, 2}}, {{9, 3, 10, 4, 7}, {0, 2, 4}}, {{2, 70, 600}, {0, 2}}, {{600, 70, 7}, {0, 2}}})
    expect_agrees(reduce_sum_op, make_attrs(reduce_sum_op, axes, false), {random_f32(shape)}, 2e-5);
}

TEST_F(OpenCl, MatricesOfAnySizeAreTurned) {
  for (const Shape& shape : {Shape{16, 16}, Shape{33, 40}, Shape{3, 48, 33}, Shape{2, 3, 64, 80}}) {
    Ints perm;
    for (int i = 0; i < shape.rank(); ++i) perm.push_back(i < shape.rank() - 2 ? i : 2 * shape.rank() - 3 - i);
    expect_agrees(transpose_op, make_attrs(transpose_op, perm), {random_f32(shape)}, 0);
    std::mt19937 engine(1);
    expect_agrees(transpose_op, make_attrs(transpose_op, perm), {random_tensor({{DType::i64, shape}, {-9, 9}}, engine)},
                  0);
    expect_agrees(transpose_op, make_attrs(transpose_op, perm), {random_tensor({{DType::i8, shape}, {-9, 9}}, engine)},
                  0);
  }
}

TEST_F(OpenCl, RowsOfAnyLengthAreGathered) {
  std::mt19937 engine(1);
  for (std::int64_t length : {1, 7, 8, 9, 10, 16, 23}) {
    expect_agrees(gather_op, make_attrs(gather_op, 0, 0),
                  {random_f32({300, length}), random_tensor({{DType::i32, {9'000}}, {0, 299}}, engine)}, 0);
    expect_agrees(gather_op, make_attrs(gather_op, 2, 1),
                  {random_f32({4, 5, 30, length}), random_tensor({{DType::i64, {4, 700}}, {0, 29}}, engine)}, 0);
  }
}

TEST_F(OpenCl, RoundingHasTheBitsOfTheCpu) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values{0.0f,           -0.0f,  0.5f,  1.5f,      2.5f,
                            0x1.FFFFFEp-2f, 1e-40f, 3e38f, kInfinity, std::numeric_limits<float>::quiet_NaN()};
  for (float power : {0x1p22f, 0x1p23f, 0x1p24f, 0x1p31f})  // around them the last fractions and odd numbers end
    for (float next :
         {std::nextafter(power, 0.0f), power, power + 0.5f, power + 1, power + 1.5f, std::nextafter(power, kInfinity)})
      values.push_back(next);
  for (std::size_t i = 0, count = values.size(); i < count; ++i) values.push_back(-values[i]);
  for (const char* name : {"round", "rint"}) {
    const Call call(*find_op(name), {}, {Tensor::from(values, {static_cast<std::int64_t>(values.size())})});
    const Tensor expected = call.run_reference()[0], got = call.run(*shared_device());
    EXPECT_EQ(std::memcmp(got.raw_data(), expected.raw_data(), got.spec().bytes()), 0) << name;
  }
  expect_agrees(*find_op("round"), {}, {random_f32({5000})}, 0);
  const std::vector<double> wide{0.5,
                                 -0.0,
                                 -0.5,
                                 1.5,
                                 -2.5,
                                 0x1p51 + 0.5,
                                 0x1p52 - 0.5,
                                 0x1p52 + 1,
                                 -0x1p53,
                                 1e300,
                                 -std::numeric_limits<double>::infinity()};
  expect_agrees(*find_op("round"), {}, {Tensor::from(wide, {static_cast<std::int64_t>(wide.size())})}, 0);
}

TEST_F(OpenCl, TheFirstOfEqualValuesIsFoundInRowsOfAnyLength) {
  for (std::int64_t length : {1, 7, 8, 9, 16, 23, 1000})
    for (const OpDef* op : {&argmax_op, &argmin_op})
      expect_agrees(*op, make_attrs(*op, 1, DType::i64), {few_values({50, length})}, 0);
  for (std::int64_t columns : {8, 32, 40, 72, 9})
    expect_agrees(argmax_op, make_attrs(argmax_op, 1, DType::i32), {few_values({3, 50, columns})}, 0);
}

TEST_F(OpenCl, ReversedRowsAndEverySecondElementAgree) {
  for (std::int64_t length : {1, 8, 9, 17, 40})
    for (std::int64_t step : {-1, 2, 3, -2}) {
      const std::int64_t begin = step > 0 ? 0 : length - 1, taken = (length + std::abs(step) - 1) / std::abs(step);
      expect_agrees(strided_slice_op, make_attrs(strided_slice_op, Ints{0, begin}, Ints{3, taken}, Ints{1, step}),
                    {random_f32({3, length})}, 0);
    }
}

TEST_F(OpenCl, AttentionOfManyTilesAgrees) {
  const Shape query{2, 13, 2, 20}, key{2, 37, 2, 20}, value{2, 37, 2, 35};
  for (bool causal : {false, true})
    for (const Shape& bias : {Shape{1, 1, 1, 1}, Shape{2, 1, 13, 37}, Shape{1, 2, 1, 37}, Shape{2, 1, 13, 1}}) {
      const Tensors inputs{random_f32(query), random_f32(key, 2), random_f32(value, 3), random_f32(bias, 4)};
      const Attrs attrs = make_attrs(dot_product_attention_op, 0.3, causal);
      expect_agrees(dot_product_attention_op, attrs, inputs, 1e-5);
      const Tensors results = Call(dot_product_attention_op, attrs, inputs).run_reference();
      expect_agrees(
          dot_product_attention_grad_op, make_attrs(dot_product_attention_grad_op, 0.3, causal),
          {random_f32(results[0].shape(), 5), inputs[0], inputs[1], inputs[2], inputs[3], results[0], results[1]},
          1e-5);
    }
}

TEST_F(OpenCl, LoopsOfAnyLengthAgree) {
  std::mt19937 engine(1);
  const auto random = [&](DType dtype, std::int64_t length) {
    return random_tensor({{dtype, {length}}, {-9, 9}}, engine);
  };
  for (std::int64_t length : {1, 7, 8, 9, 15, 16, 17, 24, 31, 33, 20'011}) {
    expect_agrees(*find_op("exp"), {}, {random(DType::f32, length)});
    expect_agrees(*find_op("floordiv"), {}, {random(DType::i32, length), random(DType::i32, length)}, 0);
    expect_agrees(*find_op("greater"), {}, {random(DType::i64, length), random(DType::i64, length)}, 0);
    expect_agrees(add_op, {}, {random(DType::f16, length), random(DType::f16, length)}, 0);
    expect_agrees(*find_op("cast"), make_attrs(*find_op("cast"), DType::i8), {random(DType::f32, length)}, 0);
  }
}

// --- The device's promises. ---

const OpDef& square() { return *find_op("square"); }
Tensor squared(Device& device, const Tensor& x) { return Call(square(), {}, {x}).run(device); }

TEST_F(OpenCl, OneDriverSplitInTwoServesAsTwoDevices) {
  const auto two = devices({.cpu_as_gpu = 2});
  ASSERT_EQ(two.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(two[static_cast<std::size_t>(i)]->name().short_name(), text("/GPU:", i));
    const Tensor x = random_f32({1000});
    expect_close(squared(*two[static_cast<std::size_t>(i)], x), Call(square(), {}, {x}).run_reference()[0], 1e-6,
                 "square");
  }
}

TEST_F(OpenCl, NothingIsPretendedUnlessAskedFor) {
  EXPECT_TRUE(devices({}).empty());
  const Discovery found = discover({});
  ASSERT_FALSE(found.devices.empty());
  for (const FoundDevice& device : found.devices) {
    EXPECT_EQ(device.status, Status::rejected);
    EXPECT_FALSE(device.reason.empty() || device.remedy.empty());
  }
}

/// An op that is for the CPU alone: float32 is refused as well.
bool refuses_floats(const Kernel& kernel, const OpDef& op, Device& device) {
  const auto floats = samples(op, DType::f32);
  return !floats.empty() && !kernel.supports(Call(op, floats[0].attrs, random_inputs(floats[0])).kernel_call(&device));
}

TEST_F(OpenCl, ADeviceWhoseFloat64IsHiddenRefusesItWithThatReason) {
  const auto made = devices({.cpu_as_gpu = 1, .hide_fp64 = true});
  ASSERT_EQ(made.size(), 1u);
  for (const OpDef* op : runnable_ops())
    for (const OpSample& sample : samples(*op, DType::f64)) {
      const Call call(*op, sample.attrs, random_inputs(sample));
      bool said_why = false, moves_bytes = op == &gather_op;
      for (const Kernel& kernel : made[0]->kernels().of(*op)) {
        moves_bytes |= kernel.name == "opencl copy" || kernel.name == "opencl fill";
        if (moves_bytes) continue;
        ASSERT_TRUE(kernel.supports) << op->name;
        const Support support = kernel.supports(call.kernel_call(made[0].get()));
        EXPECT_FALSE(support) << op->name;
        said_why |= support.reason == "the device has no float64" || refuses_floats(kernel, *op, *made[0]);
      }
      EXPECT_TRUE(said_why || moves_bytes) << op->name;
      break;
    }
}

TEST_F(OpenCl, MemoryBeyondTheLimitIsAnErrorAndNothingIsLost) {
  const auto made = devices({.cpu_as_gpu = 1, .memory_limit = 1 << 20});
  ASSERT_EQ(made.size(), 1u);
  MemorySpace& memory = made[0]->memory();
  void* kept = memory.allocate(600'000);
  try {
    memory.allocate(600'000);
    FAIL() << "600,000 bytes more fit into a megabyte";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("/GPU:0"), std::string::npos);
  }
  memory.free(kept, 600'000);
  void* larger = memory.allocate(700'000);  // the block kept for reuse makes room
  memory.free(larger, 700'000);
  EXPECT_LE(memory_stats(*made[0]).cached, std::size_t{1} << 20);
  EXPECT_EQ(memory_stats(*made[0]).in_use, 0u);
  EXPECT_THROW(memory.allocate(2 << 20), Error);
  const Tensor x = random_f32({100});
  expect_close(squared(*made[0], x), Call(square(), {}, {x}).run_reference()[0], 1e-6, "square");
}

TEST_F(OpenCl, ABlockFreedWhileAKernelUsesItMayBeHandedOutAtOnce) {
  Device& device = *shared_device();
  const Tensor x = random_f32({1 << 16});
  const Tensor expected = Call(square(), {}, {x}).run_reference()[0];
  for (int round = 0; round < 50; ++round) expect_close(squared(device, x), expected, 1e-6, "square");
}

void expect_index_error(const OpDef& op, const Attrs& attrs, const Tensors& inputs) {
  Device& device = *shared_device();
  try {
    Call(op, attrs, inputs).run(device);
    FAIL() << op.name << " took a bad index";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::index_out_of_range);
    EXPECT_NE(std::string(error.what()).find(op.name), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find('9'), std::string::npos) << error.what();
  }
  device.synchronize();  // reported once
}

TEST_F(OpenCl, ABadIndexIsReportedOnceByTheNameOfItsOp) {
  const Tensor indices = Tensor::from<std::int32_t>({1, 9, 0}, {3});
  expect_index_error(gather_op, make_attrs(gather_op, 0, 0), {random_f32({4, 2}), indices});
  expect_index_error(gather_grad_op, make_attrs(gather_grad_op, Shape{4, 2}, 0, 0), {random_f32({3, 2}), indices});
  expect_index_error(sparse_softmax_cross_entropy_op, {}, {indices, random_f32({3, 5})});
}

TEST_F(OpenCl, SeveralThreadsMayUseOneDeviceAtOnce) {
  Device& device = *shared_device();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Tensor x = random_f32({1000 + 37 * static_cast<int>(t)}, t + 1);
      for (int round = 0; round < 20; ++round) {
        const Tensor got = squared(device, x);
        for (std::int64_t i = 0; i < x.size(); ++i)
          wrong += got.data<float>()[i] != x.data<float>()[i] * x.data<float>()[i];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// --- Programs on disk. ---

TEST_F(OpenCl, ANewShapeCompilesNothing) {
  const OwnFolder folder;
  const auto made = devices({.cpu_as_gpu = 1});
  squared(*made.at(0), random_f32({10}));
  const std::size_t programs = folder.programs().size();
  EXPECT_EQ(programs, 2u);  // the proof of the device, and the op
  for (const Shape& shape : {Shape{11}, Shape{4, 5}, Shape{2, 3, 4, 5}, Shape{100'000}})
    squared(*made[0], random_f32(shape));
  EXPECT_EQ(folder.programs().size(), programs);
}

void corrupt(const fs::path& path, bool by_cutting) {
  if (by_cutting) return fs::resize_file(path, fs::file_size(path) / 2);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(200);
  file.write("garbage", 7);
}

TEST_F(OpenCl, ACorruptedProgramIsBuiltAgain) {
  const OwnFolder folder;
  const Tensor x = random_f32({10});
  for (bool by_cutting : {false, true, false}) {
    const auto made = devices({.cpu_as_gpu = 1});
    expect_close(squared(*made.at(0), x), Call(square(), {}, {x}).run_reference()[0], 1e-6, "square");
    EXPECT_EQ(folder.programs().size(), 2u);
    for (const fs::path& path : folder.programs()) corrupt(path, by_cutting);
  }
}

TEST(OpenClProgramCache, GivesBackWhatItKeptAndNothingElse) {
  const fs::path folder = fs::temp_directory_path() / text("tandem-program-cache-", ::getpid());
  const ProgramCache cache(folder);
  const ProgramCache::Bytes binary{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::string key = program_key({"source", "options"});
  EXPECT_NE(key, program_key({"source", "option", "s"}));
  EXPECT_FALSE(cache.load(key));
  cache.store(key, binary);
  EXPECT_EQ(cache.load(key), binary);
  std::ofstream(cache.path_of(key), std::ios::app | std::ios::binary) << "more";
  EXPECT_FALSE(cache.load(key));
  fs::resize_file(cache.path_of(key), fs::file_size(cache.path_of(key)) - 5);
  EXPECT_FALSE(cache.load(key));
  fs::remove_all(folder);
}

TEST(OpenClOptions, ComeFromTheEnvironment) {
  setenv("TANDEM_OPENCL_CPU_AS_GPU", "2", 1);
  setenv("TANDEM_OPENCL_CORES", "0,3", 1);
  setenv("TANDEM_OPENCL_HIDE_FP64", "1", 1);
  const Options options = options_from_environment();
  EXPECT_EQ(options.cpu_as_gpu, 2);
  EXPECT_EQ(options.cores, (std::vector<int>{0, 3}));
  EXPECT_TRUE(options.hide_fp64);
  setenv("TANDEM_OPENCL_CPU_AS_GPU", "1", 1);  // as the other tests need it
  for (const char* name : {"TANDEM_OPENCL_CORES", "TANDEM_OPENCL_HIDE_FP64"}) unsetenv(name);
}

TEST(OpenClOptions, AreRefusedWithWhatIsNeededWhenTheyMakeNoSense) {
  for (const auto& [name, value] : {std::pair{"TANDEM_OPENCL_CPU_AS_GPU", "many"},
                                    {"TANDEM_OPENCL_SHARED_MEMORY", "yes"},
                                    {"TANDEM_OPENCL_STYLE", "card"},
                                    {"TANDEM_OPENCL_LANES", "12"},
                                    {"TANDEM_OPENCL_GEMM", "fast"}}) {
    const char* before = std::getenv(name);
    const std::string kept = before ? before : "";
    setenv(name, value, 1);
    try {
      options_from_environment();
      ADD_FAILURE() << name << "=" << value << " was taken";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(std::string(name) + "='" + value), std::string::npos) << error.what();
    }
    if (before) setenv(name, kept.c_str(), 1);
    else unsetenv(name);
  }
}

}  // namespace
}  // namespace tandem::opencl
