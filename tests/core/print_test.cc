#include "tandem/core/print.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tandem/core/float_text.h"

namespace tandem {
namespace {

Tensor matrix() { return Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2}); }

TEST(Print, AScalarReadsAsInTensorFlow) {
  EXPECT_EQ(Tensor(32407.754f).to_string(), "tf.Tensor(32407.754, shape=(), dtype=float32)");
  EXPECT_EQ(Tensor(1.f).repr(), "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>");
  EXPECT_EQ(Tensor(32407.754f).repr(), "<tf.Tensor: shape=(), dtype=float32, numpy=32407.75390625>");
  EXPECT_EQ(Tensor(true).to_string(), "tf.Tensor(True, shape=(), dtype=bool)");
  EXPECT_EQ(Tensor::from_strings({"abc"}, {}).to_string(), "tf.Tensor(b'abc', shape=(), dtype=string)");
}

TEST(Print, AMatrixStartsOnALineOfItsOwn) {
  EXPECT_EQ(matrix().to_string(), "tf.Tensor(\n[[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float32)");
  EXPECT_EQ(matrix().repr(),
            "<tf.Tensor: shape=(2, 2), dtype=float32, numpy=\narray([[1., 2.],\n       [3., 4.]], dtype=float32)>");
}

TEST(Print, AVectorStaysOnItsLine) {
  const Tensor v = Tensor::from({1, 2, 3}, {3});
  EXPECT_EQ(v.to_string(), "tf.Tensor([1 2 3], shape=(3,), dtype=int32)");
  EXPECT_EQ(v.repr(), "<tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 2, 3], dtype=int32)>");
}

TEST(Print, ColumnsAlign) {
  EXPECT_EQ(numpy_str(Tensor::from({-1, 20, 300, 4}, {2, 2})), "[[ -1  20]\n [300   4]]");
  EXPECT_EQ(numpy_str(Tensor::from({true, false}, {2})), "[ True False]");
  EXPECT_EQ(numpy_str(Tensor::from({0.5f, -1.25f, 100.f}, {3})), "[  0.5   -1.25 100.  ]");
}

TEST(Print, ExponentsAppearWhenTheRangeIsWide) {
  EXPECT_EQ(numpy_str(Tensor::from({1e-5f, 1.f}, {2})), "[1.e-05 1.e+00]");
  EXPECT_EQ(numpy_str(Tensor::from({1e-5f, 1234.5678f}, {2})), "[9.9999997e-06 1.2345677e+03]");
  EXPECT_EQ(numpy_str(Tensor::from({1e300, 1.0}, {2})), "[1.e+300 1.e+000]");
  EXPECT_EQ(numpy_str(Tensor::from({1.f, 2e6f}, {2})), "[1.e+00 2.e+06]");
}

TEST(Print, NanAndInfinityAreRightAligned) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(numpy_str(Tensor::from({nan, inf, -inf, 1.5f}, {4})), "[ nan  inf -inf  1.5]");
  EXPECT_EQ(numpy_str(Tensor::from({nan, 1.f}, {2})), "[nan  1.]");
}

TEST(Print, LinesBreakAtSeventyFiveColumns) {
  std::vector<std::int32_t> values(40);
  std::iota(values.begin(), values.end(), 0);
  EXPECT_EQ(numpy_str(Tensor::from(values, {40})),
            "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
            " 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39]");
}

TEST(Print, MoreThanAThousandElementsAreSummarized) {
  std::vector<std::int64_t> values(1001);
  std::iota(values.begin(), values.end(), 0);
  EXPECT_EQ(numpy_str(Tensor::from(values, {1001})), "[   0    1    2 ...  998  999 1000]");
  EXPECT_EQ(numpy_repr(Tensor::from(values, {1001})),
            "array([   0,    1,    2, ...,  998,  999, 1000], shape=(1001,))");
}

TEST(Print, EmptyArraysTellTheirShape) {
  EXPECT_EQ(numpy_str(Tensor::from(std::vector<float>{}, {0, 3})), "[]");
  EXPECT_EQ(numpy_repr(Tensor::from(std::vector<float>{}, {0, 3})), "array([], shape=(0, 3), dtype=float32)");
  EXPECT_EQ(numpy_repr(Tensor::from(std::vector<float>{}, {0})), "array([], dtype=float32)");
}

TEST(Print, SixteenBitFloatsReadAsTheirLibrariesPrintThem) {
  EXPECT_EQ(numpy_str(Tensor::from({Half(0.015625f), Half(0.1f)}, {2})), "[0.01563 0.1    ]");
  EXPECT_EQ(numpy_str(Tensor::scalar(1000.0, DType::f16)), "1e+03");
  EXPECT_EQ(numpy_str(Tensor::from({BFloat16(1.f), BFloat16(0.1f), BFloat16(1e-5f)}, {3})), "[1 0.100098 1.00136e-05]");
}

TEST(Print, BytesAreQuotedAsPythonDoes) {
  EXPECT_EQ(bytes_repr("it's"), "b\"it's\"");
  EXPECT_EQ(bytes_repr("it's \"so\""), "b'it\\'s \"so\"'");
  EXPECT_EQ(bytes_repr(std::string("\xff\n\0\\", 4)), "b'\\xff\\n\\x00\\\\'");
  EXPECT_EQ(numpy_repr(Tensor::from_strings({"a", "bc"}, {2})), "array([b'a', b'bc'], dtype=object)");
}

TEST(Print, FloatsHaveTheFewestDigitsThatReadBack) {
  EXPECT_EQ(numpy_scalar_text(0.1f, DType::f32), "0.1");
  EXPECT_EQ(numpy_scalar_text(5e-324, DType::f64), "5e-324");
  EXPECT_EQ(numpy_scalar_text(9999999999999998.0, DType::f64), "9999999999999998.0");
  EXPECT_EQ(numpy_scalar_text(-0.0, DType::f64), "-0.0");
  EXPECT_EQ(python_float_text(0.1f), "0.10000000149011612");
}

}  // namespace
}  // namespace tandem
