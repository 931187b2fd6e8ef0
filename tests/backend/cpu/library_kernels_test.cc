#include <dlfcn.h>

#include <thread>

#include "tandem/backend/cpu/halves.h"
#include "tandem/backend/cpu/openblas_core.h"
#include "tandem/backend/cpu/simd.h"
#include "tests/backend/cpu/kernel_call.h"

namespace tandem::cpu {
namespace {

using Ints = std::vector<std::int64_t>;

void check_matmul(DType dtype, const Shape& a, const Shape& b, bool ta, bool tb, double tolerance) {
  SCOPED_TRACE(text(dtype, " ", a, " x ", b, " ", ta, tb));
  check_kernels(matmul_kernels(), reference_matmul(), matmul_op, make_attrs(matmul_op, ta, tb),
                {sample(dtype, a, 1), sample(dtype, b, 2)}, tolerance);
}

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return 1e-5;
    case DType::f64: return 1e-12;
    case DType::f16: return 2e-3;
    case DType::bf16: return 1e-2;
    default: return 0;
  }
}
constexpr DType kMatrixDTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64};

TEST(LibraryMatmul, AgreesWithTheReferenceForOddSizesInAllTransposes) {
  for (DType dtype : kMatrixDTypes)
    for (bool ta : {false, true})
      for (bool tb : {false, true})
        for (auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                               {3, 5, 7},
                               {1, 33, 17},
                               {29, 1, 13},
                               {65, 130, 257},
                               {33, 40, 21},
                               {64, 10, 32}})
          check_matmul(dtype, ta ? Shape{k, m} : Shape{m, k}, tb ? Shape{n, k} : Shape{k, n}, ta, tb,
                       tolerance_of(dtype));
}

/// Large enough for a library to take a processor's matrix tiles, where it has them.
TEST(LibraryMatmul, TallNarrowProductsOfColumnsAgreeWithTheReference) {
  for (const std::int64_t m : {1024, 1300, 2561, 5003})
    for (const std::int64_t n : {5, 10, 16})
      for (const std::int64_t k : {3, 64}) check_matmul(DType::f32, {k, m}, {k, n}, true, false, 1e-5);
}

TEST(LibraryMatmul, ShortSumsOfLongTurnedRowsAgreeWithTheReference) {
  for (const std::int64_t m : {64, 67})
    for (const std::int64_t n : {1024, 1333})
      for (const std::int64_t k : {1, 3, 4, 10, 16}) check_matmul(DType::f32, {m, k}, {n, k}, false, true, 1e-5);
}

TEST(LibraryMatmul, LargeProductsOfBfloat16AgreeWithTheReference) {
  check_matmul(DType::bf16, {384, 384}, {384, 384}, false, false, tolerance_of(DType::bf16));
  check_matmul(DType::bf16, {256, 320}, {192, 320}, false, true, tolerance_of(DType::bf16));
}

TEST(LibraryMatmul, BroadcastsTheBatch) {
  for (DType dtype : kMatrixDTypes) {
    check_matmul(dtype, {4, 3, 5}, {4, 5, 2}, false, false, tolerance_of(dtype));
    check_matmul(dtype, {4, 3, 5}, {5, 2}, false, false, tolerance_of(dtype));
    check_matmul(dtype, {4, 5, 3}, {2, 5}, true, true, tolerance_of(dtype));
    check_matmul(dtype, {2, 1, 3, 5}, {3, 5, 2}, false, false, tolerance_of(dtype));
    check_matmul(dtype, {6, 1, 5}, {5, 4}, false, false, tolerance_of(dtype));
  }
}

TEST(LibraryMatmul, AnEmptySumIsZeroAndAnEmptyResultIsNothing) {
  for (DType dtype : kMatrixDTypes) {
    check_matmul(dtype, {3, 0}, {0, 4}, false, false, 0);
    check_matmul(dtype, {0, 3}, {3, 4}, false, false, 0);
    check_matmul(dtype, {0, 2, 3}, {0, 3, 4}, false, false, 0);
  }
}

TEST(LibraryMatmul, GivesTheSameBitsForAnyNumberOfThreadsWhenTheSumIsCut) {
  for (bool ta : {false, true})
    for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{32, 784, 128}, {7, 1001, 133}, {64, 600, 512}})
      check_matmul(DType::f32, ta ? Shape{k, m} : Shape{m, k}, {k, n}, ta, false, 1e-5);
}

TEST(LibraryMatmul, GivesTheSameBitsForAnyNumberOfThreadsWhenCutIntoBlocks) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      check_matmul(DType::f32, ta ? Shape{300, 150} : Shape{150, 300}, tb ? Shape{515, 300} : Shape{300, 515}, ta, tb,
                   1e-5);
      check_matmul(DType::f64, ta ? Shape{130, 260} : Shape{260, 130}, tb ? Shape{270, 130} : Shape{130, 270}, ta, tb,
                   1e-12);
    }
  check_matmul(DType::f32, {40, 33, 65}, {40, 65, 31}, false, false, 1e-5);
  check_matmul(DType::f32, {1, 1500}, {1500, 701}, false, false, 1e-5);
  check_matmul(DType::f64, {1501, 700}, {700, 1}, false, false, 1e-12);
}

TEST(LibraryMatmul, ManyShortRowsTimesAVectorAgreeWithTheReference) {
  for (std::int64_t k : {2, 3, 4})
    for (std::int64_t m : {256, 1001, 300000})
      for (bool tb : {false, true}) {
        check_matmul(DType::f32, {m, k}, tb ? Shape{1, k} : Shape{k, 1}, false, tb, 1e-6);
        check_matmul(DType::f32, {3, m, k}, tb ? Shape{1, k} : Shape{k, 1}, false, tb, 1e-6);
      }
}

TEST(LibraryMatmul, ReadsTransposedStridesInPlace) {
  const Value a = sample(DType::f32, {7, 5}, 1), b = sample(DType::f32, {7, 6}, 2);  // a seen as its transpose (5, 7)
  Operand seen(TensorSpec(DType::f32, {5, 7}));
  seen.strides[0] = 1;
  seen.strides[1] = 5;
  const std::vector<Operand> inputs{seen, Operand(b.spec)}, outputs{Operand(TensorSpec(DType::f32, {5, 6}))};
  const Attrs attrs = make_attrs(matmul_op, false, false);
  const KernelCall call{matmul_op, attrs, inputs, outputs};
  const Value wanted = run(reference_matmul(), matmul_op, make_attrs(matmul_op, true, false), {a, b});
  for (const Kernel& kernel : matmul_kernels()) {
    if (!kernel.supports(call)) continue;
    Value got(DType::f32, {5, 6});
    const void* addresses[] = {a.bytes.data(), b.bytes.data()};
    void* address = got.bytes.data();
    kernel.prepare(call)->run({addresses, &address, {}});
    expect_near(got, wanted, 1e-5);
  }
}

struct ConvCase {
  std::int64_t batch, height, width, in, out, kernel_h, kernel_w;
  Ints strides, dilations;
  const char* padding;
};
const std::vector<ConvCase> kConvCases = {
    {1, 5, 6, 1, 1, 3, 3, {1, 1}, {1, 1}, "valid"},     {3, 9, 8, 3, 5, 3, 2, {1, 1}, {1, 1}, "same"},
    {5, 11, 7, 2, 4, 3, 3, {2, 3}, {1, 1}, "same"},     {2, 12, 13, 4, 8, 3, 3, {2, 2}, {1, 1}, "valid"},
    {2, 12, 13, 3, 8, 3, 3, {1, 1}, {2, 3}, "valid"},   {2, 9, 9, 16, 8, 5, 5, {1, 1}, {2, 2}, "same"},
    {37, 20, 20, 3, 16, 3, 3, {1, 1}, {1, 1}, "valid"}, {19, 14, 14, 16, 24, 3, 3, {1, 1}, {1, 1}, "same"},
    {4, 6, 6, 8, 8, 1, 1, {2, 2}, {1, 1}, "same"},      {2, 7, 7, 20, 50, 5, 5, {1, 1}, {1, 1}, "valid"},
};

template <class Check>
void for_each_conv(const Check& check) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (const ConvCase& c : kConvCases) {
      const Value input = sample(dtype, {c.batch, c.height, c.width, c.in}, 1);
      const Value filter = sample(dtype, {c.kernel_h, c.kernel_w, c.in, c.out}, 2);
      const Attrs attrs = make_attrs(conv2d_op, c.strides, c.padding, c.dilations, Ints{});
      const Value output = run(reference_conv2d(), conv2d_op, attrs, {input, filter});
      SCOPED_TRACE(text(input.spec, " with ", filter.spec, " ", c.padding));
      check(c, input, filter, output);
    }
}

TEST(LibraryConv2d, AgreesWithTheReference) {
  for_each_conv([](const ConvCase& c, const Value& input, const Value& filter, const Value&) {
    check_kernels(with_halves<conv2d_kernels>(), reference_conv2d(), conv2d_op,
                  make_attrs(conv2d_op, c.strides, c.padding, c.dilations, Ints{}), {input, filter},
                  tolerance_of(input.spec.dtype()));
  });
}

TEST(LibraryConv2d, InputGradientAgreesWithTheReference) {
  for_each_conv([](const ConvCase& c, const Value& input, const Value& filter, const Value& output) {
    const OpDef& op = conv2d_backprop_input_op;
    const DType dtype = input.spec.dtype();
    check_kernels(with_halves<conv2d_backprop_input_kernels>(), reference_conv2d_backprop_input(), op,
                  make_attrs(op, input.spec.shape(), c.strides, c.padding, c.dilations, Ints{}),
                  {filter, sample(dtype, output.spec.shape(), 3)}, tolerance_of(dtype));
  });
}

TEST(LibraryConv2d, FilterGradientAgreesWithTheReference) {
  for_each_conv([](const ConvCase& c, const Value& input, const Value& filter, const Value& output) {
    const OpDef& op = conv2d_backprop_filter_op;
    const DType dtype = input.spec.dtype();
    check_kernels(with_halves<conv2d_backprop_filter_kernels>(), reference_conv2d_backprop_filter(), op,
                  make_attrs(op, filter.spec.shape(), c.strides, c.padding, c.dilations, Ints{}),
                  {input, sample(dtype, output.spec.shape(), 3)}, dtype == DType::f32 ? 1e-4 : tolerance_of(dtype));
  });
}

TEST(OpenBlas, UsesWhatTheProcessorHasAlsoWhereItDoesNotKnowTheModel) {
  if (!has_avx2() || std::getenv("OPENBLAS_CORETYPE")) GTEST_SKIP() << "its loops are chosen elsewhere";
  choose_openblas_core();
  const auto name = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  ASSERT_TRUE(name);
  EXPECT_STRNE(name(), "Prescott");
  EXPECT_FALSE(std::getenv("OPENBLAS_CORETYPE")) << "child processes choose by themselves";
}

TEST(LibraryConv2d, RefusesWhatItCannotDoWithAReason) {
  const Attrs attrs = make_attrs(conv2d_op, Ints{1, 1}, "valid", Ints{1, 1}, Ints{});
  const std::vector<Operand> inputs{Operand(TensorSpec(DType::f64, {1, 4, 4, 1})),
                                    Operand(TensorSpec(DType::f64, {1, 1, 1, 1}))};
  const std::vector<Operand> outputs{Operand(TensorSpec(DType::f64, {1, 4, 4, 1}))};
  const Support support = conv2d_kernels()[0].supports({conv2d_op, attrs, inputs, outputs});
  EXPECT_FALSE(support);
  EXPECT_NE(support.reason.find("float64"), std::string::npos) << support.reason;
}

TEST(LibraryKernels, OnePreparedKernelRunsOnSeveralThreadsAtOnce) {
  const Attrs conv = make_attrs(conv2d_op, Ints{1, 1}, "same", Ints{1, 1}, Ints{}),
              product = make_attrs(matmul_op, false, false);
  const Value image = sample(DType::f32, {4, 12, 12, 8}, 1), filter = sample(DType::f32, {3, 3, 8, 8}, 2);
  const Value a = sample(DType::f64, {70, 90}, 3), b = sample(DType::f64, {90, 110}, 4);
  const auto check = [](const Kernel& kernel, const OpDef& op, const Attrs& attrs, const Value& x, const Value& y) {
    const Value wanted = run(kernel, op, attrs, {x, y});
    const std::vector<Operand> inputs{Operand(x.spec), Operand(y.spec)}, outputs{Operand(wanted.spec)};
    const Prepared prepared = kernel.prepare({op, attrs, inputs, outputs});
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        const void* addresses[] = {x.bytes.data(), y.bytes.data()};
        for (int i = 0; i < 50; ++i) {
          Value got(wanted.spec.dtype(), wanted.spec.shape());
          void* address = got.bytes.data();
          prepared->run({addresses, &address, {}});
          EXPECT_TRUE(got.same_bits(wanted));
        }
      });
    for (std::thread& thread : threads) thread.join();
  };
  check(conv2d_kernels()[0], conv2d_op, conv, image, filter);
  for (const Kernel& kernel : matmul_kernels())
    if (kernel.name == "openblas") check(kernel, matmul_op, product, a, b);
}

struct PoolCase {
  Shape input;
  Ints ksize, strides;
  const char* padding;
};
const std::vector<PoolCase> kPoolCases = {
    {{1, 4, 4, 1}, {2, 2}, {2, 2}, "valid"}, {{3, 7, 5, 3}, {3, 2}, {2, 1}, "same"},
    {{2, 9, 9, 17}, {3, 3}, {1, 1}, "same"}, {{16, 26, 26, 32}, {2, 2}, {2, 2}, "valid"},
    {{0, 4, 4, 2}, {2, 2}, {2, 2}, "valid"}, {{5, 6, 6, 9}, {2, 2}, {3, 3}, "same"},
};

TEST(LibraryPool, AgreesWithTheReferenceAndTheFirstMaximumGetsTheGradient) {
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32, DType::i64})
    for (const PoolCase& c : kPoolCases) {
      SCOPED_TRACE(text(dtype, " ", c.input));
      const Value input = sample(dtype, c.input, 1);
      const Attrs attrs = make_attrs(max_pool2d_op, c.ksize, c.strides, c.padding);
      check_kernels(max_pool2d_kernels(), reference_max_pool2d(), max_pool2d_op, attrs, {input});
      const Value output = run(reference_max_pool2d(), max_pool2d_op, attrs, {input});
      check_kernels(max_pool2d_grad_kernels(), reference_max_pool2d_grad(), max_pool2d_grad_op, attrs,
                    {input, output, sample(dtype, output.spec.shape(), 2)});
    }
}

TEST(LibraryPool, ANaNIsTheLargest) {
  Value input = sample(DType::f32, {1, 4, 4, 3}, 1);
  input.as<float>()[3] = std::nanf("");
  input.as<float>()[13] = std::nanf("");
  const Attrs attrs = make_attrs(max_pool2d_op, Ints{2, 2}, Ints{2, 2}, "valid");
  const Value got = run(max_pool2d_kernels()[0], max_pool2d_op, attrs, {input});
  EXPECT_TRUE(got.same_bits(run(reference_max_pool2d(), max_pool2d_op, attrs, {input})));
}

}  // namespace
}  // namespace tandem::cpu
