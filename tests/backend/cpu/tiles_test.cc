// The portable interpreter against evaluate(), bit for bit (any NaN equals any other).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "tandem/backend/cpu/loop.h"
#include "tandem/expr/lane_ops.h"
#include "tandem/expr/random.h"

namespace tandem::cpu {
namespace {

using expr::exp;
using expr::Expr;
using expr::Graph;
using expr::Lane;
using expr::make_program;
using expr::pow;
using expr::Prim;
using expr::Program;

constexpr Lane kNumbers[] = {Lane::f32, Lane::f64, Lane::i32, Lane::i64};

DType dtype_for(Lane lane) {
  constexpr DType dtypes[] = {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean};
  return dtypes[static_cast<int>(lane)];
}

std::size_t size_of(DType dtype) {
  return visit_dtype(dtype, []<class T>(TypeTag<T>) { return sizeof(T); });
}

/// Values that break things, then random bits.
template <class T>
std::vector<T> interesting(std::size_t count, unsigned seed) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{T(0), T(1), T(-1), T(2), T(3), T(-7), Limits::max(), Limits::lowest(), Limits::min(), T(100)};
  if constexpr (std::is_floating_point_v<T>) {
    for (T x :
         {-T(0), T(0.5), T(-0.5), T(1.5), T(2.5), T(-2.5), T(0x1p31), T(-0x1p31), T(0x1p32), T(0x1p63), T(-0x1p63),
          T(2147483520), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min()})
      values.push_back(x);
  }
  std::mt19937_64 random(seed);
  while (values.size() < count) values.push_back(std::bit_cast<T>(static_cast<expr::BitsOf<T>>(random())));
  std::shuffle(values.begin(), values.end(), random);
  values.resize(count);
  return values;
}

/// Bytes of `count` elements of `dtype`.
std::vector<unsigned char> bytes_for(DType dtype, std::size_t count, unsigned seed) {
  std::vector<unsigned char> bytes(count * size_of(dtype));
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t> ||
                  std::is_same_v<T, std::int64_t>) {
      const auto values = interesting<T>(count, seed);
      std::memcpy(bytes.data(), values.data(), bytes.size());
    } else {
      std::mt19937 random(seed);
      for (auto& b : bytes) b = static_cast<unsigned char>(std::is_same_v<T, bool> ? random() % 3 : random());
    }
  });
  return bytes;
}

bool is_nan(DType dtype, const void* element) {
  const ScalarValue value = expr::load_value(dtype, element);
  const Lane lane = expr::lane_of(dtype);
  return (lane == Lane::f32 && std::isnan(value.f32)) || (lane == Lane::f64 && std::isnan(value.f64));
}

struct Shape {
  std::int64_t rows = 1, length = 1;
  std::int64_t gap = 0;  // elements between rows
  ScalarInputs scalars = 0;
  std::uint64_t index = 0, index_stride = 0;
};

/// Runs `program` by tiles and by evaluate() and compares every element, and that nothing else was written.
void expect_same(const Program& program, const Shape& shape, unsigned seed = 1) {
  LoopArgs args{.length = shape.length, .rows = shape.rows, .index = shape.index, .index_stride = shape.index_stride};
  std::vector<std::vector<unsigned char>> in, out;
  const std::int64_t pitch = shape.length + shape.gap;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    in.push_back(bytes_for(program.inputs[i], shape.rows * pitch + 1, seed + static_cast<unsigned>(i)));
    args.inputs[i] = in[i].data();
    args.input_row_strides[i] = pitch * size_of(program.inputs[i]);
  }
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    const std::size_t size = size_of(program.outputs[k].dtype);
    out.emplace_back((shape.rows * pitch + 1) * size, 0xA5);
    args.outputs[k] = out[k].data();
    args.output_row_strides[k] = pitch * size;
  }
  tile_loop(program, shape.scalars)->run(args);

  ScalarValue operands[kMaxLoopOperands], results[kMaxLoopOperands];
  for (std::int64_t at = 0; at < shape.rows * pitch; ++at) {
    const std::int64_t row = at / pitch, column = at % pitch;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::int64_t from = shape.scalars >> i & 1 ? row * pitch : at;
      operands[i] = expr::load_value(program.inputs[i], in[i].data() + from * size_of(program.inputs[i]));
    }
    expr::evaluate(program, operands, results, shape.index + row * shape.index_stride + column);
    for (std::size_t k = 0; k < out.size(); ++k) {
      const DType dtype = program.outputs[k].dtype;
      unsigned char wanted[8];
      std::memset(wanted, 0xA5, sizeof wanted);
      if (column < shape.length) expr::store_value(dtype, results[k], wanted);
      const unsigned char* got = out[k].data() + at * size_of(dtype);
      if (column < shape.length && is_nan(dtype, got) && is_nan(dtype, wanted)) continue;
      ASSERT_EQ(std::memcmp(got, wanted, size_of(dtype)), 0) << "row " << row << ", element " << column << "\n"
                                                             << program.to_string();
    }
  }
}

/// A program of one instruction.
Program single(Prim prim, Lane from, Lane to, int arity, std::uint64_t bits = 0) {
  Graph graph;
  std::vector<DType> inputs;
  std::int32_t operands[3] = {-1, -1, -1};
  for (int i = 0; i < arity; ++i) {
    const Lane lane = prim == Prim::select && i == 0 ? Lane::mask : from;
    operands[i] = graph.input(i, lane).node();
    inputs.push_back(dtype_for(lane));
  }
  Expr result =
      graph.add({.prim = prim, .lane = to, .a = operands[0], .b = operands[1], .c = operands[2], .bits = bits});
  return make_program(graph, inputs, {result}, {dtype_for(to)});
}

class TilesForLane : public testing::TestWithParam<Lane> {};

TEST_P(TilesForLane, EveryInstructionGivesTheBitsOfEvaluate) {
  const Lane lane = GetParam();
  std::vector<Program> programs;
  auto add = [&](Prim prim, Lane to, std::uint64_t bits = 0) {
    programs.push_back(single(prim, lane, to, expr::prim_arity(prim), bits));
  };
  for (Prim p : {Prim::add, Prim::sub, Prim::mul, Prim::div, Prim::neg, Prim::abs, Prim::min, Prim::max, Prim::select})
    add(p, lane);
  for (Prim p : {Prim::eq, Prim::lt, Prim::le}) add(p, Lane::mask);
  for (Lane to : kNumbers)
    if (to != lane) add(Prim::convert, to);
  if (expr::is_float_lane(lane)) {
    for (Prim p : {Prim::fma, Prim::sqrt, Prim::round_even, Prim::floor, Prim::trunc}) add(p, lane);
    for (std::uint64_t grid : {0, 1, 2}) add(Prim::angle_rest, lane, grid);
    add(Prim::bitcast, lane == Lane::f32 ? Lane::i32 : Lane::i64);
  } else {
    for (Prim p : {Prim::bit_and, Prim::bit_or, Prim::bit_xor, Prim::bit_not}) add(p, lane);
    for (std::uint64_t bits : {1, 7, 31}) {
      add(Prim::shift_left, lane, bits);
      add(Prim::shift_right, lane, bits);
    }
    for (Prim p : {Prim::shift_left_by, Prim::shift_right_by}) {
      Graph graph;
      const Expr x = graph.input(0, lane), y = graph.input(1, lane);
      const DType dtype = dtype_for(lane);
      programs.push_back(make_program(graph, {dtype, dtype}, {shift_lanes(p, x, y & y.like(31))}, {dtype}));
    }
    add(Prim::bitcast, lane == Lane::i32 ? Lane::f32 : Lane::f64);
    if (lane == Lane::i32) add(Prim::mul_hi_u32, lane);
  }
  for (const Program& program : programs) {
    expect_same(program, {.length = 2000}, 1);
    for (unsigned seed = 2; seed < 6; ++seed) expect_same(program, {.length = 27}, seed);  // special with special
    expect_same(program, {.rows = 3, .length = 70, .scalars = 1});
    expect_same(program, {.rows = 3, .length = 70, .scalars = 3});
    expect_same(program, {.rows = 3, .length = 70, .scalars = 7});
  }
}
INSTANTIATE_TEST_SUITE_P(Lanes, TilesForLane, testing::ValuesIn(kNumbers));

TEST(Tiles, MasksAreComputedLikeEvaluate) {
  for (Prim p : {Prim::bit_and, Prim::bit_or, Prim::bit_xor, Prim::bit_not})
    expect_same(single(p, Lane::mask, Lane::mask, expr::prim_arity(p)), {.length = 300});
}

TEST(Tiles, MasksOfTwoWidthsMeet) {
  Graph graph;
  Expr a = graph.input(0, Lane::f32), b = graph.input(1, Lane::f64), m = graph.input(2, Lane::mask);
  Expr narrow = a < 1, wide = b < 2;
  Expr both = (narrow & wide) | (m ^ wide);
  expect_same(make_program(graph, {DType::f32, DType::f64, DType::boolean},
                           {both, select(both, a, -a), select(narrow, b, b * 2), select(wide & m, a, a * 3)},
                           {DType::boolean, DType::f32, DType::f64, DType::f16}),
              {.rows = 2, .length = 777, .gap = 3});
}

TEST(Tiles, EveryDTypeIsLoadedAndStored) {
  for (int from = 0; from < kDTypeCount - 1; ++from)
    for (int to = 0; to < kDTypeCount - 1; ++to) {
      const DType in = static_cast<DType>(from), out = static_cast<DType>(to);
      Graph graph;
      Expr x = graph.input(0, expr::lane_of(in));
      const auto program = make_program(graph, {in}, {x}, {out});
      expect_same(program, {.length = 3000}, 5);
      expect_same(program, {.rows = 5, .length = 9, .scalars = 1}, 6);
    }
}

TEST(Tiles, EveryHalfIsReadAndWrittenExactly) {
  Graph graph;
  Expr x = graph.input(0, Lane::f32);
  const auto widen = make_program(graph, {DType::f16}, {x}, {DType::f32});
  const auto narrow = make_program(graph, {DType::f32}, {x}, {DType::f16});
  std::vector<Half> halves(65536), back(65536);
  std::vector<float> floats(65536);
  for (int i = 0; i < 65536; ++i) halves[i].bits = static_cast<std::uint16_t>(i);
  tile_loop(widen, 0)->run({.inputs = {halves.data()}, .outputs = {floats.data()}, .length = 65536});
  tile_loop(narrow, 0)->run({.inputs = {floats.data()}, .outputs = {back.data()}, .length = 65536});
  for (int i = 0; i < 65536; ++i) {
    if (std::isnan(floats[i])) continue;
    EXPECT_EQ(floats[i], static_cast<float>(halves[i]));
    EXPECT_EQ(back[i].bits, i);
  }
}

TEST(Tiles, RowsOfEveryLengthAndStrideAreWalked) {
  const auto program = make_program(formula([](auto x, auto y) { return x * y + exp(x) / (1 + y); }),
                                    {DType::f32, DType::f32}, DType::f32, {DType::f32});
  for (std::int64_t length : {0, 1, 7, 63, 64, 65, 1000})
    for (std::int64_t rows : {0, 1, 3})
      for (std::int64_t gap : {0, 5})
        for (ScalarInputs scalars : {0, 1, 2, 3})
          if (length + gap > 0) expect_same(program, {.rows = rows, .length = length, .gap = gap, .scalars = scalars});
}

TEST(Tiles, AnOutputMayLieOnAnInput) {
  Graph graph;
  Expr a = graph.input(0, Lane::f32), b = graph.input(1, Lane::f32);
  const auto swap = make_program(graph, {DType::f32, DType::f32}, {b, a}, {DType::f32, DType::f32});
  std::vector<float> x(1001), y(1001);
  for (int i = 0; i < 1001; ++i) x[i] = static_cast<float>(i), y[i] = static_cast<float>(-i);
  tile_loop(swap, 0)->run({.inputs = {x.data(), y.data()}, .outputs = {x.data(), y.data()}, .length = 1001});
  for (int i = 0; i < 1001; ++i) {
    EXPECT_EQ(x[i], -i);
    EXPECT_EQ(y[i], i);
  }
}

TEST(Tiles, TheIndexCrossesThirtyTwoBits) {
  Graph graph;
  const auto program = make_program(graph, {}, {graph.index_lo(), graph.index_hi()}, {DType::i32, DType::i32});
  expect_same(program, {.rows = 3, .length = 700, .index = 0xFFFFFF00u, .index_stride = 1000000000000});
}

TEST(Tiles, AConstantResultIsWrittenToEveryElement) {
  Graph graph;
  Expr x = graph.input(0, Lane::f64);
  const auto program =
      make_program(graph, {DType::f64}, {graph.constant(Lane::f32, 2.5), x * 2, graph.constant(Lane::mask, 1)},
                   {DType::bf16, DType::i32, DType::boolean});
  expect_same(program, {.rows = 2, .length = 600, .scalars = 1});
}

TEST(Tiles, TheFunctionsGiveTheBitsOfEvaluate) {
  for (DType dtype : {DType::f32, DType::f64})
    for (auto f :
         std::initializer_list<Expr (*)(Expr)>{expr::exp, expr::log, expr::tanh, expr::erf, expr::sin, expr::cos}) {
      Graph graph;
      Expr x = graph.input(0, expr::lane_of(dtype));
      expect_same(make_program(graph, {dtype}, {f(x)}, {dtype}), {.length = 3000});
    }
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    const auto program =
        make_program(formula([](auto x, auto y) { return pow(x, y); }), {dtype, dtype}, dtype, {dtype});
    expect_same(program, {.length = 3000});
  }
}

TEST(Tiles, RandomWordsAndNormalsGiveTheBitsOfEvaluate) {
  Graph graph;
  const expr::PhiloxKey key{graph.input(0, Lane::i32), graph.input(1, Lane::i32), graph.constant(Lane::i32, 5),
                            graph.constant(Lane::i32, 0)};
  const auto words = expr::philox(graph.index_lo(), graph.index_hi(), key);
  const auto program = make_program(graph, {DType::i32, DType::i32},
                                    {words[0], words[3], expr::normal(words[0], words[1]), expr::normal_f64(words)},
                                    {DType::i32, DType::i32, DType::f32, DType::f64});
  expect_same(program, {.rows = 2, .length = 1500, .scalars = 3, .index = 1ull << 40, .index_stride = 1500});
}

TEST(Tiles, AProgramThatKeepsManyValuesAliveStillRuns) {
  Graph graph;
  Expr x = graph.input(0, Lane::f64), sum = x;
  std::vector<Expr> terms;
  for (int i = 0; i < 200; ++i) terms.push_back(x * (i + 1) + x / (i + 3));
  for (int i = 199; i >= 0; --i) sum = sum * 0.5 + terms[i];
  for (int i = 0; i < 200; i += 3) sum = sum - terms[i];
  expect_same(make_program(graph, {DType::f64}, {sum}, {DType::f64}), {.length = 300});
}

TEST(Tiles, ALoopRunsFromSeveralThreads) {
  const auto loop =
      tile_loop(make_program(formula([](auto x) { return x * 2 + 1; }), {DType::f32}, DType::f32, {DType::f32}), 0);
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> out(4, std::vector<float>(5000));
  for (auto& result : out)
    threads.emplace_back([&loop, &result] {
      std::vector<float> in(5000, 3);
      for (int i = 0; i < 50; ++i) loop->run({.inputs = {in.data()}, .outputs = {result.data()}, .length = 5000});
    });
  for (auto& thread : threads) thread.join();
  for (const auto& result : out) EXPECT_EQ(result, std::vector<float>(5000, 7));
}

/// The contract of loop.h, spelt out.
template <class T, class Map, class Combine>
T fold_by_contract(const T* row, std::int64_t length, T identity, Map map, Combine combine) {
  T lanes[kFoldLanes];
  for (T& lane : lanes) lane = identity;
  for (std::int64_t i = 0; i < length; ++i) lanes[i % kFoldLanes] = combine(lanes[i % kFoldLanes], map(row[i]));
  for (int half = kFoldLanes / 2; half > 0; half /= 2)
    for (int j = 0; j < half; ++j) lanes[j] = combine(lanes[j], lanes[j + half]);
  return lanes[0];
}

template <class T>
void expect_fold_order() {
  constexpr DType dtype = dtype_of<T>();
  const FoldProgram sum_of_squares{
      .map = make_program(formula([](auto x) { return x * x; }), {dtype}, dtype, {dtype}),
      .combine = make_program(formula([](auto a, auto b) { return a + b; }), {dtype, dtype}, dtype, {dtype})};
  const FoldProgram uneven{
                             // a combination that is neither commutative nor associative
      .map = make_program(formula([](auto x) { return x; }), {dtype}, dtype, {dtype}),
      .combine = make_program(formula([](auto a, auto b) { return a * 3 - b; }), {dtype, dtype}, dtype, {dtype}),
      .identity = static_cast<std::uint64_t>(std::bit_cast<expr::BitsOf<T>>(T(1)))};
  std::mt19937 random(9);
  for (std::int64_t length : {0, 1, 7, 63, 64, 65, 127, 512, 513, 1000, 4095, 4096}) {
    const std::int64_t rows = 3, pitch = length + 2;
    std::vector<T> x(rows * pitch), out(rows);
    for (T& value : x) value = static_cast<T>(random() % 20001) / static_cast<T>(7);
    FoldArgs args{.inputs = {x.data()},
                  .input_row_strides = {static_cast<std::int64_t>(pitch * sizeof(T))},
                  .output = out.data(),
                  .length = length,
                  .rows = rows};
    auto check = [&](const FoldProgram& program, T identity, auto map, auto combine) {
      tile_fold(program)->run(args);
      for (std::int64_t r = 0; r < rows; ++r)
        EXPECT_EQ(out[r], fold_by_contract<T>(x.data() + r * pitch, length, identity, map, combine)) << length;
    };
    check(sum_of_squares, T(0), [](T v) { return v * v; }, [](T a, T b) { return a + b; });
    check(uneven, T(1), [](T v) { return v; }, [](T a, T b) { return a * 3 - b; });
  }
}

TEST(Tiles, AFoldCombinesInTheOrderOfTheContract) {
  expect_fold_order<float>();
  expect_fold_order<double>();
  expect_fold_order<std::int32_t>();
  expect_fold_order<std::int64_t>();
}

TEST(Tiles, AFoldReadsSeveralOperandsOfOtherDTypes) {
  const FoldProgram dot{.map = make_program(formula([](auto x, auto y) { return x * y; }), {DType::f16, DType::u8},
                                            DType::f32, {DType::f32}),
                        .combine = make_program(formula([](auto a, auto b) { return a + b; }), {DType::f32, DType::f32},
                                                DType::f32, {DType::f32})};
  std::vector<Half> x(700, Half(0.5f));
  std::vector<std::uint8_t> y(700, 4);
  float out = 0;
  tile_fold(dot)->run({.inputs = {x.data(), y.data()}, .input_row_strides = {0, 0}, .output = &out, .length = 700});
  EXPECT_EQ(out, 1400);
}

}  // namespace
}  // namespace tandem::cpu
