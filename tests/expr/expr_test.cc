#include "tandem/expr/expr.h"

#include <gtest/gtest.h>

#include <limits>

#include "tandem/base/error.h"
#include "tandem/expr/program.h"

namespace tandem::expr {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const Node& node_of(Expr e) { return e.graph()[e.node()]; }

float run(const Program& program, float x, float y = 0) {
  ScalarValue in[2] = {{.f32 = x}, {.f32 = y}}, out;
  evaluate(program, in, &out);
  return out.f32;
}

TEST(Expr, EqualNodesAreMadeOnce) {
  Graph graph;
  Expr x = graph.input(0, Lane::f32), y = graph.input(1, Lane::f32);
  EXPECT_EQ((x + y).node(), (y + x).node());
  EXPECT_EQ((x * 3).node(), (3 * x).node());
  EXPECT_NE((x - y).node(), (y - x).node());
  EXPECT_NE(lesser(x, y).node(), lesser(y, x).node());  // they differ when one is NaN
  EXPECT_EQ(fma(x, y, 1).node(), fma(y, x, 1).node());
}

TEST(Expr, ManyNodesAreStillFoundAgain) {
  Graph graph;
  Expr x = graph.input(0, Lane::f32);
  std::vector<Expr> first;
  for (int i = 0; i < 1000; ++i) first.push_back(x + i);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ((x + i).node(), first[i].node());
}

TEST(Expr, OperationsOnConstantsAreDoneAtOnce) {
  Graph graph;
  Expr two = graph.constant(Lane::f32, 2), three = graph.constant(Lane::f32, 3);
  EXPECT_EQ(node_of(two * three), node_of(graph.constant(Lane::f32, 6)));
  EXPECT_EQ(node_of(two < three), node_of(graph.constant(Lane::mask, 1)));
  EXPECT_EQ(node_of(convert(three, Lane::i64)), node_of(graph.constant(Lane::i64, 3)));
  EXPECT_EQ(node_of(shift_left(graph.constant(Lane::i32, 1), 31)).bits, 0x80000000u);
}

TEST(Expr, AConstantNaNIsLeftToTheMachine) {
  Graph graph;
  Expr zero = graph.constant(Lane::f32, 0);
  EXPECT_EQ(node_of(zero / zero).prim, Prim::div);
}

TEST(Expr, OnlyExactIdentitiesAreSimplified) {
  Graph graph;
  Expr x = graph.input(0, Lane::f32), i = graph.input(1, Lane::i32);
  EXPECT_EQ((x * 1).node(), x.node());
  EXPECT_EQ((x / 1).node(), x.node());
  EXPECT_EQ((x - 0).node(), x.node());
  EXPECT_EQ(node_of(x + 0).prim, Prim::add);  // -0 + 0 is +0
  EXPECT_EQ(node_of(x * 0).prim, Prim::mul);  // infinity * 0 is NaN
  EXPECT_EQ((i + 0).node(), i.node());
  EXPECT_EQ(node_of(x / 4).prim, Prim::mul);  // 1/4 is exact
  EXPECT_EQ(node_of(x / 3).prim, Prim::div);
  EXPECT_EQ(select(x < x, x, x).node(), x.node());
}

TEST(Expr, MasksConvertToOneAndZeroAndNumbersByNotZero) {
  const auto program = make_program(formula([](auto x) { return x; }), {DType::boolean}, DType::f32, {DType::f32});
  ScalarValue in{.mask = true}, out;
  evaluate(program, &in, &out);
  EXPECT_EQ(out.f32, 1.0f);

  const auto back = make_program(formula([](auto x) { return x; }), {DType::f32}, DType::f32, {DType::boolean});
  for (auto [x, expected] : {std::pair{0.0f, false}, {-0.0f, false}, {0.5f, true}, {kNan, true}}) {
    in.f32 = x;
    evaluate(back, &in, &out);
    EXPECT_EQ(out.mask, expected) << x;
  }
}

TEST(Expr, LanesThatDoNotFitAreRefused) {
  Graph graph;
  Expr x = graph.input(0, Lane::f32), i = graph.input(1, Lane::i32);
  EXPECT_ANY_THROW(x + i);
  EXPECT_ANY_THROW(x & x);
  EXPECT_ANY_THROW(select(x, x, x));
  EXPECT_ANY_THROW(shift_left(i, 32));
  EXPECT_ANY_THROW(bitcast(i, Lane::f64));
  EXPECT_ANY_THROW(-(x < x));
}

TEST(Program, HoldsOnlyWhatAnOutputNeeds) {
  Graph graph;
  Expr x = graph.input(0, Lane::f32), unused = x * 17, y = x + 1;
  (void)unused;
  const auto program = make_program(graph, {DType::f32}, {y}, {DType::f32});
  EXPECT_EQ(program.nodes.size(), 3u);
}

TEST(Program, EqualProgramsHaveEqualKeysAndOthersDoNot) {
  auto key = [](DType in, DType out, auto f) { return make_program(formula(f), {in}, DType::f32, {out}).key(); };
  auto twice = [](auto x) { return x * 2; };
  auto thrice = [](auto x) { return x * 3; };
  EXPECT_EQ(key(DType::f32, DType::f32, twice), key(DType::f32, DType::f32, twice));
  EXPECT_NE(key(DType::f32, DType::f32, twice), key(DType::f32, DType::f32, thrice));
  EXPECT_NE(key(DType::f32, DType::f32, twice), key(DType::f16, DType::f32, twice));
  EXPECT_NE(key(DType::f32, DType::f32, twice), key(DType::f32, DType::bf16, twice));
}

TEST(Program, PrintsOneLineANode) {
  const auto program = make_program(formula([](auto x) { return x * 2; }), {DType::f16}, DType::f32, {DType::i8});
  EXPECT_EQ(program.to_string(),
            "%0 = input.f32 0 as float16\n%1 = constant.f32 2\n%2 = mul.f32 %0 %1\n%3 = convert.i32 %2\nstore 0 %3 as "
            "int8\n");
}

TEST(Program, MinAndMaxGiveTheSecondWhenOneIsNaN) {
  auto two = [](auto f) { return make_program(formula(f), {DType::f32, DType::f32}, DType::f32, {DType::f32}); };
  const auto least = two([](auto x, auto y) { return lesser(x, y); });
  EXPECT_EQ(run(least, kNan, 1), 1);
  EXPECT_TRUE(std::isnan(run(least, 1, kNan)));
  EXPECT_FALSE(std::signbit(run(least, -0.0f, 0.0f)));
}

TEST(Program, ConversionToIntegersGivesTheSmallestForWhatDoesNotFit) {
  const auto program = make_program(formula([](auto x) { return x; }), {DType::f32}, DType::f32, {DType::i32});
  ScalarValue in, out;
  for (auto [x, expected] : {std::pair<float, std::int64_t>{1.9f, 1},
                             {-1.9f, -1},
                             {kNan, INT32_MIN},
                             {kInf, INT32_MIN},
                             {3e9f, INT32_MIN},
                             {2147483520.0f, 2147483520},
                             {-2147483648.0f, INT32_MIN}}) {
    in.f32 = x;
    evaluate(program, &in, &out);
    EXPECT_EQ(out.i32, expected) << x;
  }
}

TEST(Program, IntegerDivisionHasAValueForEveryOperand) {
  const auto program =
      make_program(formula([](auto x, auto y) { return x / y; }), {DType::i64, DType::i64}, DType::i64, {DType::i64});
  auto divide = [&](std::int64_t a, std::int64_t b) {
    ScalarValue in[2] = {{.i64 = a}, {.i64 = b}}, out;
    evaluate(program, in, &out);
    return out.i64;
  };
  EXPECT_EQ(divide(-7, 2), -3);
  EXPECT_EQ(divide(7, 0), 0);
  EXPECT_EQ(divide(INT64_MIN, -1), INT64_MIN);
}

TEST(Program, OfUint64OrderQuotientsAndConversionsAreUnsigned) {
  const auto run = [](const Formula& formula, DType output, std::uint64_t x, std::uint64_t y) {
    const Program program = make_program(
        formula, std::vector<DType>(static_cast<std::size_t>(formula.arity), DType::u64), DType::u64, {output});
    ScalarValue in[2], out;
    in[0].i64 = static_cast<std::int64_t>(x);
    in[1].i64 = static_cast<std::int64_t>(y);
    evaluate(program, in, &out);
    return out;
  };
  const std::uint64_t numbers[] = {0,
                                   1,
                                   2,
                                   3,
                                   1000,
                                   0x7FFFFFFFFFFFFFFF,
                                   0x8000000000000000,
                                   0x8000000000000001,
                                   0xFFFFFFFFFFFFFFFE,
                                   0xFFFFFFFFFFFFFFFF};
  for (std::uint64_t x : numbers) {
    EXPECT_EQ(run(formula([](auto a) { return a; }), DType::f64, x, 0).f64, static_cast<double>(x));
    for (std::uint64_t y : numbers) {
      EXPECT_EQ(run(formula([](auto a, auto b) { return a < b; }), DType::boolean, x, y).mask, x < y) << x << " " << y;
      EXPECT_EQ(run(formula([](auto a, auto b) { return a <= b; }), DType::boolean, x, y).mask, x <= y)
          << x << " " << y;
      EXPECT_EQ(run(formula([](auto a, auto b) { return greater_of(a, b); }), DType::u64, x, y).i64,
                static_cast<std::int64_t>(std::max(x, y)));
      EXPECT_EQ(run(formula([](auto a, auto b) { return a / b; }), DType::u64, x, y).i64,
                static_cast<std::int64_t>(y ? x / y : 0))
          << x << " / " << y;
    }
  }
}

TEST(Program, MemoryIsReadAndWrittenByTheRulesOfItsDType) {
  unsigned char byte = 7;
  EXPECT_TRUE(load_value(DType::boolean, &byte).mask);
  store_value(DType::boolean, {.mask = true}, &byte);
  EXPECT_EQ(byte, 1);
  store_value(DType::u8, {.i32 = 257}, &byte);
  EXPECT_EQ(byte, 1);
  BFloat16 b;
  store_value(DType::bf16, {.f32 = 1 + 0x1p-8f}, &b);
  EXPECT_EQ(static_cast<float>(b), 1.0f);  // a tie goes to even
}

}  // namespace
}  // namespace tandem::expr
