#include "tandem/backend/cpu/copy.h"
#include "tests/backend/cpu/guarded_buffer.h"
#include "tests/backend/cpu/kernel_call.h"

namespace tandem::cpu {
namespace {

using Ints = std::vector<std::int64_t>;
constexpr DType kAllDTypes[] = {DType::f16, DType::bf16, DType::f32, DType::f64,    DType::i8,
                                DType::u8,  DType::i32,  DType::i64, DType::boolean};

TEST(LibraryTranspose, AgreesWithTheReferenceForAllSizesOfElements) {
  for (DType dtype : kAllDTypes)
    for (const auto& [shape, perm] : std::vector<std::pair<Shape, Ints>>{{{}, {}},
                                                                         {{5}, {0}},
                                                                         {{3, 0, 2}, {2, 1, 0}},
                                                                         {{37, 65}, {1, 0}},
                                                                         {{300, 257}, {1, 0}},
                                                                         {{2, 3, 4, 5}, {0, 2, 1, 3}},
                                                                         {{5, 34, 33, 7}, {0, 3, 1, 2}},
                                                                         {{3, 40, 2, 35}, {3, 0, 2, 1}},
                                                                         {{4, 1, 6, 1, 3}, {4, 3, 2, 1, 0}},
                                                                         {{2, 3, 4}, {-1, 0, 1}},
                                                                         {{2, 3, 4}, {}}}) {
      SCOPED_TRACE(text(dtype, " ", shape, " [", join(perm), "]"));
      check_kernels(transpose_kernels(), reference_transpose(), transpose_op, make_attrs(transpose_op, perm),
                    {sample(dtype, shape)});
    }
}

TEST(LibraryBroadcastTo, AgreesWithTheReference) {
  for (DType dtype : kAllDTypes)
    for (const auto& [from, to] : std::vector<std::pair<Shape, Shape>>{{{}, {3, 4}},
                                                                       {{1}, {100000}},
                                                                       {{32}, {40, 25, 32}},
                                                                       {{5, 1}, {5, 7}},
                                                                       {{3, 1, 4}, {2, 3, 5, 4}},
                                                                       {{4, 1}, {0, 4, 3}}})
      check_kernels(broadcast_to_kernels(), reference_broadcast_to(), broadcast_to_op, make_attrs(broadcast_to_op, to),
                    {sample(dtype, from)});
}

TEST(LibraryConcat, AgreesWithTheReference) {
  for (DType dtype : kAllDTypes)
    for (int axis : {0, 1, 2, -1}) {
      std::vector<Value> values;
      for (std::int64_t i : {3, 1, 0, 70}) {
        Ints sizes{13, 20, 40};
        sizes[axis < 0 ? 2 : axis] = i;
        values.push_back(sample(dtype, Shape(std::span<const std::int64_t>(sizes)), static_cast<unsigned>(i)));
      }
      check_kernels(concat_kernels(), reference_concat(), concat_op, make_attrs(concat_op, axis), values);
    }
}

TEST(LibrarySlice, AgreesWithTheReferenceAndChecksWhereItBegins) {
  for (DType dtype : kAllDTypes) {
    const Value input = sample(dtype, {9, 50, 61});
    for (const auto& [begin, size] : std::vector<std::pair<Ints, Ints>>{{{0, 0, 0}, {9, 50, 61}},
                                                                        {{2, 0, 0}, {6, 50, 61}},
                                                                        {{1, 3, 5}, {7, 44, 50}},
                                                                        {{8, 49, 60}, {1, 1, 1}},
                                                                        {{0, 9, 0}, {9, 0, 61}}})
      check_kernels(slice_kernels(), reference_slice(), slice_op, make_attrs(slice_op, begin, size), {input});
  }
  const Attrs outside = make_attrs(slice_op, Ints{2}, Ints{4});
  try {
    run(slice_kernels()[0], slice_op, outside, {sample(DType::f32, {5})});
    FAIL() << "a slice beyond the end was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::index_out_of_range);
  }
}

TEST(LibraryPad, AgreesWithTheReference) {
  for (DType dtype : kAllDTypes)
    for (const auto& [shape, paddings] : std::vector<std::pair<Shape, Ints>>{{{}, {}},
                                                                             {{5}, {2, 1}},
                                                                             {{3, 4}, {0, 0, 0, 0}},
                                                                             {{3, 4}, {1, 2, 0, 0}},
                                                                             {{30, 40, 50}, {1, 0, 2, 3, 0, 0}},
                                                                             {{30, 40, 50}, {0, 0, 0, 0, 1, 1}},
                                                                             {{0, 4}, {1, 1, 2, 2}}})
      check_kernels(pad_kernels(), reference_pad(), pad_op, make_attrs(pad_op, paddings, 3.0), {sample(dtype, shape)});
}

Value indices(DType dtype, const Shape& shape, std::int64_t below) {
  Value value(dtype, shape);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::int64_t index = (i * 7 + 3) % below;
    if (dtype == DType::u8) value.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(index);
    if (dtype == DType::i32) value.as<std::int32_t>()[i] = static_cast<std::int32_t>(index);
    if (dtype == DType::i64) value.as<std::int64_t>()[i] = index;
  }
  return value;
}

TEST(LibraryGather, AgreesWithTheReferenceAlongEveryAxis) {
  for (DType dtype : kAllDTypes)
    for (DType index : {DType::i32, DType::i64})
      for (int axis : {0, 1, -1})
        for (const Shape& where : {Shape{}, Shape{0}, Shape{4, 3}, Shape{1000}})
          check_kernels(gather_kernels(), reference_gather(), gather_op, make_attrs(gather_op, axis, 0),
                        {sample(dtype, {11, 6, 9}), indices(index, where, 6)});
}

TEST(LibraryGather, EachPartOfABatchGoesByItsOwnIndices) {
  for (DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64})
    for (DType index : {DType::i32, DType::i64})
      for (int axis : {1, 2}) {
        check_kernels(gather_kernels(), reference_gather(), gather_op, make_attrs(gather_op, axis, 1),
                      {sample(dtype, {7, 6, 9}), indices(index, {7, 40}, 6)});
        check_kernels(gather_kernels(), reference_gather(), gather_op, make_attrs(gather_op, 2, axis),
                      {sample(dtype, {70, 6, 90}), indices(index, axis == 1 ? Shape{70, 3, 5} : Shape{70, 6, 31}, 90)});
      }
}

TEST(LibraryGatherGrad, AddsRowsInTheirOrderWhetherTheyAreLongOrShortOrFewPlacesGetMost) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32})
    for (const auto& [params, axis, batch, picks, below] :
         std::vector<std::tuple<Shape, int, int, Shape, std::int64_t>>{{{50, 700}, 0, 0, {400}, 50},
                                                                       {{50, 700}, 0, 0, {400}, 2},
                                                                       {{300, 16}, 0, 0, {9000}, 300},
                                                                       {{50, 3}, 0, 0, {400}, 50},
                                                                       {{40, 20, 30}, 1, 0, {35}, 20},
                                                                       {{40, 20, 30}, 1, 1, {40, 35}, 20}}) {
      SCOPED_TRACE(text(dtype, " ", params, " ", picks));
      const Attrs attrs = make_attrs(gather_grad_op, params, axis, batch);
      Ints sizes(params.begin(), params.end());
      sizes[static_cast<std::size_t>(axis)] = picks[-1];
      check_kernels(gather_grad_kernels(), reference_gather_grad(), gather_grad_op, attrs,
                    {sample(dtype, Shape(std::span<const std::int64_t>(sizes))), indices(DType::i64, picks, below)});
    }
}

TEST(StridedCopy, PixelsOfThreeReadAndWriteNothingBesideThem) {
  for (std::size_t bytes : {1, 2, 4, 8})
    for (std::int64_t width : {1, 2, 3, 40}) {
      const Shape picture{5, width, 3};
      const auto size = static_cast<std::size_t>(picture.elements()) * bytes;
      GuardedBuffer from(size), to(size);
      for (std::size_t i = 0; i < size; ++i) from.data()[i] = static_cast<unsigned char>(i * 31);
      // Columns in reverse order, from the last pixel of the first row on.
      run_copy(make_copy(picture, {width * 3, -3, 1}), bytes,
               from.data() + static_cast<std::size_t>(width - 1) * 3 * bytes, to.data());
      EXPECT_TRUE(to.front_unharmed());
      for (std::int64_t y = 0; y < 5; ++y)
        for (std::int64_t x = 0; x < width; ++x)
          EXPECT_EQ(
              std::memcmp(to.data() + static_cast<std::size_t>((y * width + x) * 3) * bytes,
                          from.data() + static_cast<std::size_t>((y * width + width - 1 - x) * 3) * bytes, 3 * bytes),
              0)
              << y << " " << x;
    }
}

TEST(LibraryGather, AnIndexOutsideIsAnErrorThatNamesIt) {
  for (std::int32_t bad : {5, -1, 1 << 30}) {
    Value where = indices(DType::i32, {4}, 5);
    where.as<std::int32_t>()[3] = bad;
    try {
      run(gather_kernels()[0], gather_op, make_attrs(gather_op, 0, 0), {sample(DType::f32, {5, 2}), where});
      FAIL() << "index " << bad << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::index_out_of_range);
      EXPECT_NE(std::string(error.what()).find(text("index ", bad, " at position 3 is outside axis 0 of size 5")),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(LibraryOneHot, AgreesWithTheReference) {
  for (DType dtype : kAllDTypes)
    for (DType index : {DType::u8, DType::i32, DType::i64})
      for (int axis : {-1, 0, 1})
        check_kernels(one_hot_kernels(), reference_one_hot(), one_hot_op,
                      make_attrs(one_hot_op, 10, 2.0, 1.0, axis, dtype), {indices(index, {60, 41}, 12)});
}

TEST(LibraryArgmax, AgreesWithTheReferenceAlongEveryAxis) {
  for (DType dtype : kAllDTypes) {
    if (dtype == DType::boolean) continue;
    for (DType output : {DType::i32, DType::i64})
      for (int axis : {0, 1, -1})
        for (const Shape& shape :
             {Shape{3, 4, 5}, Shape{10, 300, 1}, Shape{7, 3, 501}, Shape{40, 33, 131}, Shape{1, 1, 1}})
          check_kernels(argmax_kernels(), reference_argmax(), argmax_op, make_attrs(argmax_op, axis, output),
                        {sample(dtype, shape)});
  }
}

TEST(LibraryArgmax, NaNIsPassedOver) {
  Value input = sample(DType::f32, {3, 500});
  input.as<float>()[0] = input.as<float>()[321] = input.as<float>()[400] = std::nanf("");
  std::fill_n(input.as<float>() + 500, 500, std::nanf(""));
  for (int axis : {0, 1})
    check_kernels(argmax_kernels(), reference_argmax(), argmax_op, make_attrs(argmax_op, axis, DType::i64), {input});
}

}  // namespace
}  // namespace tandem::cpu
