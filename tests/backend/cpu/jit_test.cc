#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <thread>

#include "tandem/backend/cpu/jit_writers.h"
#include "tests/backend/cpu/jit_trial.h"

namespace tandem::cpu {
namespace {

using expr::AngleGrid;
using expr::Expr;
using expr::Graph;
using expr::Lane;
using expr::make_program;
using expr::Prim;
using expr::Program;

constexpr std::int64_t kLengths[] = {0, 1, 3, 7, 8, 9, 31, 64, 65, 1000};
constexpr DType kStored[] = {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8,  DType::u8,
                             DType::i16, DType::u16,  DType::i32, DType::i64, DType::u64, DType::boolean};

DType dtype_of_lane(Lane lane) {
  constexpr DType dtypes[] = {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean};
  return dtypes[static_cast<int>(lane)];
}

/// A program of `arity` inputs, all of `dtype`; the result is stored as the dtype of its lane.
Program program_of(DType dtype, int arity, const std::function<Expr(const Expr*)>& body) {
  Graph graph;
  Expr in[4];
  for (int i = 0; i < arity; ++i) in[i] = graph.input(i, expr::lane_of(dtype));
  const Expr result = body(in);
  return make_program(graph, std::vector<DType>(arity, dtype), {result}, {dtype_of_lane(result.lane())});
}

/// Compares with `evaluate` for all lengths, in one row and in rows apart.
void expect_same(const Program& program, ScalarInputs scalars = 0) {
  std::string refusal;
  const auto loop = jit_loop(program, scalars, refusal);
  ASSERT_TRUE(loop) << refusal << "\n" << program.to_string();
  for (const std::int64_t length : kLengths) {
    const Layout plain{.length = length, .scalars = scalars};
    ASSERT_EQ(LoopTrial(program, plain, length + 1).run(*loop), "");
    const Layout rows{.length = length, .rows = 3, .gap = 5, .scalars = scalars};
    ASSERT_EQ(LoopTrial(program, rows, length + 2).run(*loop), "");
  }
}

bool refuses(const Program& program, const std::string& part) {
  std::string refusal;
  return !jit_loop(program, 0, refusal) && refusal.find(part) != std::string::npos;
}

class TemporaryTarget {
 public:
  explicit TemporaryTarget(const char* value) {
    if (const char* old = std::getenv("TANDEM_JIT")) old_ = old;
    setenv("TANDEM_JIT", value, 1);
  }
  ~TemporaryTarget() { old_.empty() ? unsetenv("TANDEM_JIT") : setenv("TANDEM_JIT", old_.c_str(), 1); }

 private:
  std::string old_;
};

/// Runs as what the machine has and, where that is AVX-512, once more as AVX2. Skipped without generated code.
class Jit : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (jit_target() == "none") GTEST_SKIP() << "no generated code here";
    if (GetParam() == std::string("avx2")) capped_ = std::make_unique<TemporaryTarget>("avx2");
  }
  bool wide() const { return jit_target() == "AVX-512"; }

 private:
  std::unique_ptr<TemporaryTarget> capped_;
};
INSTANTIATE_TEST_SUITE_P(Targets, Jit, testing::Values("machine", "avx2"));

Expr prim2(Prim prim, Expr a, Expr b) {
  if (prim == Prim::eq || prim == Prim::lt || prim == Prim::le) return compare(prim, a, b);
  return binary(prim, a, b);
}

TEST_P(Jit, ArithmeticAndComparisonsOfEveryLaneGiveTheBitsOfEvaluate) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
    for (const Prim prim :
         {Prim::add, Prim::sub, Prim::mul, Prim::div, Prim::min, Prim::max, Prim::eq, Prim::lt, Prim::le}) {
      if (!is_floating(dtype) && prim == Prim::div) continue;
      if (dtype == DType::i64 && prim == Prim::mul && !wide()) continue;
      expect_same(program_of(dtype, 2, [&](const Expr* x) { return prim2(prim, x[0], x[1]); }));
      expect_same(program_of(dtype, 1, [&](const Expr* x) { return prim2(prim, x[0], x[0].like(3)); }));
      expect_same(program_of(dtype, 1, [&](const Expr* x) { return prim2(prim, x[0].like(3), x[0]); }));
    }
}

TEST_P(Jit, UnaryInstructionsOfEveryLaneGiveTheBitsOfEvaluate) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
    for (const Prim prim : {Prim::neg, Prim::abs, Prim::sqrt, Prim::round_even, Prim::floor, Prim::trunc})
      if (is_floating(dtype) || prim == Prim::neg || prim == Prim::abs)
        expect_same(program_of(dtype, 1, [&](const Expr* x) { return unary(prim, x[0]); }));
}

TEST_P(Jit, TheRestOfLargeAnglesIsThatOfEvaluateBesideWhateverElseIsAlive) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const AngleGrid grid : {AngleGrid::sine, AngleGrid::cosine, AngleGrid::tangent}) {
      expect_same(program_of(dtype, 1, [&](const Expr* x) { return angle_rest(x[0] * 1e6, grid); }));
      expect_same(program_of(dtype, 2, [&](const Expr* x) {
        const Expr kept = x[0] * x[1] + 0.25;
        return angle_rest(x[0] * 1e30, grid) + kept * angle_rest(x[1], grid) - x[0];
      }));
    }
}

TEST_P(Jit, FmaRoundsOnceWhicheverOperandItOverwrites) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    expect_same(program_of(dtype, 3, [](const Expr* x) { return fma(x[0], x[1], x[2]); }));
    expect_same(program_of(dtype, 1, [](const Expr* x) { return fma(fma(x[0], 0.1, 0.7), x[0], 0.3); }));
    expect_same(program_of(dtype, 2, [](const Expr* x) { return fma(x[0], 0.1, x[1]); }));
    expect_same(program_of(dtype, 2, [](const Expr* x) { return fma(x[0], x[0], x[0]) + x[1] * x[0]; }));
    expect_same(program_of(dtype, 3, [](const Expr* x) { return fma(x[0], x[1], x[2]) + x[2]; }));
    expect_same(program_of(dtype, 3, [](const Expr* x) { return (fma(x[0], x[1], x[2]) + x[0]) * x[1] + x[2]; }));
  }
}

TEST_P(Jit, BitsShiftsAndConversionsGiveTheBitsOfEvaluate) {
  for (const DType dtype : {DType::i32, DType::i64}) {
    expect_same(program_of(dtype, 2, [](const Expr* x) { return (x[0] & x[1]) ^ (x[0] | x[1].like(12345)); }));
    expect_same(program_of(dtype, 1, [](const Expr* x) { return !x[0]; }));
    for (const Prim prim : {Prim::shift_left_by, Prim::shift_right_by})
      expect_same(program_of(dtype, 2, [&](const Expr* x) { return shift_lanes(prim, x[0], x[1] & x[1].like(31)); }));
    for (const int bits : {1, 13, 31})
      expect_same(
          program_of(dtype, 1, [&](const Expr* x) { return shift_left(x[0], bits) + shift_right(x[0], bits); }));
  }
  expect_same(program_of(DType::f32, 1, [](const Expr* x) { return convert(x[0], Lane::i32); }));
  expect_same(program_of(DType::i32, 1, [](const Expr* x) { return convert(x[0], Lane::f32); }));
  expect_same(program_of(DType::f64, 1, [](const Expr* x) { return bitcast(x[0], Lane::i64) + 1; }));
  expect_same(program_of(DType::i64, 1, [](const Expr* x) { return bitcast(x[0], Lane::f64) + 1; }));
  expect_same(program_of(DType::i32, 2, [](const Expr* x) { return mul_hi_u32(x[0], x[1]); }));
  expect_same(program_of(DType::i32, 1, [](const Expr* x) { return mul_hi_u32(x[0], x[0].like(0xD2511F53)); }));
  if (!wide()) return;
  expect_same(program_of(DType::f64, 1, [](const Expr* x) { return convert(x[0], Lane::i64); }));
  expect_same(program_of(DType::i64, 1, [](const Expr* x) { return convert(x[0], Lane::f64); }));
}

TEST_P(Jit, AValueAndItsBitsAreBothUsable) {
  expect_same(program_of(DType::f32, 1, [](const Expr* x) {
    const Expr bits = bitcast(x[0], Lane::i32);
    const Expr scaled = fma(x[0], 3.0, 1.0);
    return bitcast(bits + bitcast(scaled, Lane::i32), Lane::f32) + x[0];
  }));
  expect_same(program_of(DType::f32, 1, [](const Expr* x) { return bitcast(x[0], Lane::i32); }));
}

TEST_P(Jit, MasksSelectAndCombine) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    expect_same(program_of(dtype, 3, [](const Expr* x) { return select(x[0] < x[1], x[1], x[2]); }));
    expect_same(program_of(dtype, 2, [](const Expr* x) { return select(x[0] < x[1], 1, x[1]); }));
    expect_same(program_of(dtype, 2, [](const Expr* x) { return select(x[0] <= x[1], x[0], 0); }));
    expect_same(program_of(dtype, 2, [](const Expr* x) { return select(x[0] == x[1], 0, x[0]); }));
    expect_same(program_of(dtype, 2, [](const Expr* x) { return (x[0] < x[1]) | ((x[0] != 0) & (x[1] <= 1)); }));
    expect_same(program_of(dtype, 2, [](const Expr* x) { return convert((x[0] < x[1]) ^ (x[1] == 1), x[0].lane()); }));
  }
  expect_same(program_of(DType::boolean, 2, [](const Expr* x) { return (x[0] & x[1]) ^ (!x[0]); }));
  expect_same(program_of(DType::boolean, 1, [](const Expr* x) { return x[0] ^ x[0].graph().constant(Lane::mask, 1); }));
  expect_same(make_program(formula<1>([](auto m, auto a, auto b) { return expr::select(m, a, b); }),
                           {DType::boolean, DType::f64, DType::f64}, DType::f64, {DType::f64}));
}

TEST_P(Jit, EveryDtypeLoadsAndStoresAsLoadValueAndStoreValueDo) {
  for (const DType from : kStored)
    for (const DType to : kStored) {
      Graph graph;
      const Expr x = graph.input(0, expr::lane_of(from));
      const Program program = make_program(graph, {from}, {x}, {to});
      if (refuses(program, "lanes of 4 and 8 bytes") || refuses(program, "AVX2 does not convert")) continue;
      expect_same(program);
      expect_same(program, 1);
    }
}

TEST_P(Jit, ScalarInputsAreReadOnceARow) {
  for (const DType dtype : kStored) {
    if (dtype == DType::boolean) continue;
    const Program program =
        make_program(formula([](auto a, auto b, auto c) { return a + b - c; }), {dtype, dtype, dtype}, dtype, {dtype});
    for (const ScalarInputs scalars : {0b001u, 0b010u, 0b110u, 0b111u}) expect_same(program, scalars);
  }
}

TEST_P(Jit, AnInputThatTheProgramDoesNotReadIsNotTouched) {
  Graph graph;
  const Program program = make_program(graph, {DType::i64, DType::f32}, {graph.input(1, Lane::f32) + 1}, {DType::f32});
  std::string refusal;
  const auto loop = jit_loop(program, 1, refusal);
  ASSERT_TRUE(loop) << refusal;
  float in[] = {1, 2, 3}, out[3];
  loop->run({.inputs = {nullptr, in}, .outputs = {out}, .length = 3});
  EXPECT_EQ(out[2], 4);
}

TEST_P(Jit, AnOutputMayOverwriteAnInput) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::u8}) {
    const Program program = make_program(formula([](auto a, auto b) { return std::array{a - b, a + b}; }),
                                         {dtype, dtype}, dtype, {dtype, dtype});
    std::string refusal;
    const auto loop = jit_loop(program, 0, refusal);
    ASSERT_TRUE(loop) << refusal;
    for (const std::int64_t length : kLengths)
      for (const int input : {0, 1})
        EXPECT_EQ(LoopTrial(program, {.length = length, .rows = 2, .gap = 3, .in_place = input}, 7).run(*loop), "");
  }
}

TEST_P(Jit, AnIndexCarriesIntoItsHighWord) {
  Graph graph;
  const Program program = make_program(graph, {}, {graph.index_lo(), graph.index_hi()}, {DType::i32, DType::i32});
  std::string refusal;
  const auto loop = jit_loop(program, 0, refusal);
  ASSERT_TRUE(loop) << refusal;
  for (const std::uint64_t index : {0ull, 0xFFFFFFFFull, 0xFFFFFFF3ull, 0x1FFFFFFF0ull, 0x7FFFFFF9ull, ~0ull - 20})
    for (const std::int64_t length : kLengths)
      EXPECT_EQ(LoopTrial(program, {.length = length, .rows = 3, .index = index}, 1).run(*loop), "");
}

/// Rounds of a counter-based generator: many live values, many constants.
Program random_like(int rounds) {
  Graph graph;
  Expr c[4] = {graph.index_lo(), graph.index_hi(), graph.input(0, Lane::i32), graph.input(1, Lane::i32)};
  for (int round = 0; round < rounds; ++round) {
    const Expr hi0 = mul_hi_u32(c[0], c[0].like(0xD2511F53)), lo0 = c[0] * c[0].like(0xD2511F53);
    const Expr hi1 = mul_hi_u32(c[2], c[2].like(0xCD9E8D57)), lo1 = c[2] * c[2].like(0xCD9E8D57);
    const Expr key0 = c[0].like(0x9E3779B9u * (round + 1u)), key1 = c[0].like(0xBB67AE85u * (round + 1u));
    c[0] = hi1 ^ c[1] ^ key0, c[1] = lo1, c[2] = hi0 ^ c[3] ^ key1, c[3] = lo0;
  }
  return make_program(graph, {DType::i32, DType::i32}, {c[0], c[1], c[2], c[3]},
                      {DType::i32, DType::i32, DType::i32, DType::i32});
}

TEST_P(Jit, LongProgramsWithMoreConstantsThanRegistersAreRight) {
  expect_same(random_like(10));
  expect_same(random_like(10), 0b11);
  expect_same(program_of(DType::f32, 2, [](const Expr* x) {
    Expr sum = x[0] * x[1];
    std::vector<Expr> terms;
    for (int i = 0; i < 30; ++i) terms.push_back(x[0] * (i + 0.5) - x[1]);  // all alive at once
    for (const Expr& term : terms) sum = fma(sum, 0.25, term * sum);
    return sum;
  }));
}

TEST_P(Jit, ElementaryFunctionsGiveTheBitsOfEvaluate) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Expr (*const functions[])(Expr) = {expr::exp, expr::log, expr::tanh, expr::erf, expr::sin, expr::cos};
    for (const auto function : functions)
      expect_same(program_of(dtype, 1, [&](const Expr* x) { return function(x[0]); }));
    expect_same(program_of(dtype, 2, [](const Expr* x) { return pow(x[0], x[1]); }));
  }
}

TEST_P(Jit, SixteenOperandsAreTaken) {
  Graph graph;
  Expr sum = graph.input(0, Lane::f32);
  for (int i = 1; i < 12; ++i) sum = sum + graph.input(i, Lane::f32);
  expect_same(make_program(graph, std::vector<DType>(12, DType::f32), {sum, sum * 2, -sum, sum + 1},
                           std::vector<DType>(4, DType::f32)));
}

FoldProgram fold_of(Program map, std::uint64_t identity, const std::function<Expr(const Expr*)>& combine) {
  const DType lane = dtype_of_lane(map.nodes[map.outputs[0].node].lane);
  return {.map = std::move(map), .combine = program_of(lane, 2, combine), .identity = identity};
}

void expect_same(const FoldProgram& program) {
  std::string refusal;
  const auto fold = jit_fold(program, refusal);
  ASSERT_TRUE(fold) << refusal;
  const DType result = dtype_of_lane(program.combine.nodes[program.combine.outputs[0].node].lane);
  const std::size_t result_size = dtype_size(result), arity = program.map.inputs.size();
  std::mt19937_64 random(3);
  for (const std::int64_t length : {0, 1, 3, 7, 8, 9, 10, 31, 63, 64, 65, 127, 128, 1000, 4096}) {
    const std::int64_t rows = 3;
    FoldArgs args{.length = length, .rows = rows};
    std::vector<std::unique_ptr<GuardedBuffer>> inputs;
    for (std::size_t i = 0; i < arity; ++i) {
      const std::size_t size = dtype_size(program.map.inputs[i]);
      const std::int64_t own = program.scalars >> i & 1 ? 1 : length;
      args.input_row_strides[i] = static_cast<std::int64_t>((own + 2) * size);
      inputs.push_back(std::make_unique<GuardedBuffer>((own * rows + 2 * (rows - 1)) * size));
      for (std::int64_t e = 0; e < own * rows + 2 * (rows - 1); ++e)
        fill(program.map.inputs[i], inputs[i]->data() + e * size, random);
      args.inputs[i] = inputs[i]->data();
    }
    GuardedBuffer output(rows * result_size);
    args.output = output.data();
    fold->run(args);
    ASSERT_TRUE(output.front_unharmed());
    for (std::int64_t r = 0; r < rows; ++r) {
      std::vector<const unsigned char*> row;
      for (std::size_t i = 0; i < arity; ++i) row.push_back(inputs[i]->data() + r * args.input_row_strides[i]);
      unsigned char expected[8];
      expr::store_value(result, fold_model(program, row, length), expected);
      ASSERT_TRUE(same_bits_or_both_nan(result, output.data() + r * result_size, expected))
          << "row " << r << " of length " << length << "\n"
          << program.map.to_string();
    }
  }
}

Program plain_input(DType dtype) {
  return program_of(dtype, 1, [](const Expr* x) { return x[0]; });
}

TEST_P(Jit, FoldsKeepTheOrderOfTheContract) {
  for (const DType dtype : kStored)
    if (dtype != DType::boolean) expect_same(fold_of(plain_input(dtype), 0, [](const Expr* x) { return x[0] + x[1]; }));
  const std::uint64_t least = std::bit_cast<std::uint32_t>(-std::numeric_limits<float>::infinity());
  expect_same(fold_of(plain_input(DType::f32), least, [](const Expr* x) { return greater_of(x[0], x[1]); }));
  expect_same(fold_of(plain_input(DType::i32), 1u << 31, [](const Expr* x) { return greater_of(x[0], x[1]); }));
  expect_same(fold_of(plain_input(DType::i64), 1ull << 63, [](const Expr* x) { return greater_of(x[0], x[1]); }));
  const std::uint64_t start = std::bit_cast<std::uint32_t>(7.5f);
  expect_same(fold_of(plain_input(DType::f32), start, [](const Expr* x) { return x[1] - x[0]; }));
  expect_same(fold_of(plain_input(DType::f64), 0, [](const Expr* x) { return fma(x[0], 0.5, x[1]); }));
}

TEST_P(Jit, FoldsReadInputsOfOneValueARow) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i32})
    for (const ScalarInputs scalars : {0b01u, 0b10u, 0b11u}) {
      FoldProgram fold = fold_of(program_of(dtype, 2, [](const Expr* x) { return x[0] * x[1] - x[1]; }), 0,
                                 [](const Expr* x) { return x[0] + x[1]; });
      fold.scalars = scalars;
      expect_same(fold);
    }
}

TEST_P(Jit, FoldsMapTheirElementsFirst) {
  auto sum = [](const Expr* x) { return x[0] + x[1]; };
  for (const DType dtype : {DType::f32, DType::f64}) {
    expect_same(fold_of(program_of(dtype, 2, [](const Expr* x) { return x[0] * x[1]; }), 0, sum));
    expect_same(fold_of(program_of(dtype, 2, [](const Expr* x) { return fma(x[0], x[1], 1.0); }), 0, sum));
    expect_same(fold_of(program_of(dtype, 2, [](const Expr* x) { return convert(x[0] < x[1], x[0].lane()); }), 0, sum));
    expect_same(fold_of(program_of(dtype, 1, [](const Expr* x) { return x[0].like(1); }), 0, sum));
    expect_same(fold_of(program_of(dtype, 1, [](const Expr* x) { return x[0].like(3); }), 0,
                        [](const Expr* x) { return fma(x[1], 0.5, x[0]); }));
    expect_same(fold_of(program_of(dtype, 2,
                                   [](const Expr* x) {  // too long for a block in registers
                                     Expr y = x[0];
                                     for (int i = 0; i < 50; ++i) y = fma(y, 0.5, x[1] + (i + 0.1));
                                     return y;
                                   }),
                        0, sum));
  }
  expect_same(fold_of(make_program(formula<1>([](auto m, auto a) { return expr::select(m, a, a - a); }),
                                   {DType::boolean, DType::f32}, DType::f32, {DType::f32}),
                      0, sum));
}

/// Beside two roots, so that the quotient is made by products where that is faster.
std::shared_ptr<const Loop> quotient_loop() {
  Graph graph;
  const Expr a = graph.input(0, Lane::f32), b = graph.input(1, Lane::f32);
  const auto program =
      expr::make_program(graph, {DType::f32, DType::f32}, {a / b, sqrt(sqrt(b))}, {DType::f32, DType::f32});
  std::string refusal;
  return jit_loop(program, 0, refusal);
}

class Quotients {
 public:
  explicit Quotients(const Loop& loop) : loop_(loop) {}
  void add(float a, float b) {
    a_.push_back(a), b_.push_back(b);
    if (a_.size() == 1 << 14) compare();
  }
  void compare() {
    std::vector<float> quotients(a_.size()), roots(a_.size());
    LoopArgs args{};
    args.length = static_cast<std::int64_t>(a_.size()), args.rows = 1;
    args.inputs[0] = a_.data(), args.inputs[1] = b_.data();
    args.outputs[0] = quotients.data(), args.outputs[1] = roots.data();
    loop_.run(args);
    for (std::size_t i = 0; i < a_.size(); ++i) {
      const float wanted = a_[i] / b_[i];
      const bool same = wanted != wanted
                            ? quotients[i] != quotients[i]
                            : std::bit_cast<std::uint32_t>(wanted) == std::bit_cast<std::uint32_t>(quotients[i]);
      ASSERT_TRUE(same) << std::hexfloat << a_[i] << " / " << b_[i] << " is " << wanted << ", got " << quotients[i];
    }
    a_.clear(), b_.clear();
  }

 private:
  const Loop& loop_;
  std::vector<float> a_, b_;
};

TEST_P(Jit, QuotientsNextToTheMiddleBetweenTwoFloatsAreRoundedAsADivisionRoundsThem) {
  const auto loop = quotient_loop();
  ASSERT_TRUE(loop);
  Quotients quotients(*loop);
  // a 2^shift = middle b + rest with a small rest, for integers a and b of 24 bits: solved for a by the inverse of 2
  // modulo an odd b.
  for (std::uint64_t b = (1u << 23) + 1; b < 1u << 24; b += b + 40 < 1u << 24 ? 26 : 2)
    for (const int shift : {24, 25}) {
      std::uint64_t inverse = 1;
      for (int i = 0; i < shift; ++i) inverse = (inverse & 1 ? inverse + b : inverse) >> 1;
      for (const std::uint64_t rest : {std::uint64_t{1}, std::uint64_t{3}, b - 1, b - 3}) {
        std::uint64_t a = inverse * rest % b;
        const std::uint64_t low = shift == 24 ? b : 1u << 23, high = shift == 24 ? 1u << 24 : b;
        if (a < low) a += b;
        if (a >= low && a < high) quotients.add(static_cast<float>(a) * 0x1p-23f, static_cast<float>(b) * 0x1p-23f);
      }
    }
  for (std::uint32_t a = 1u << 23; a < 1u << 24; a += 3) quotients.add(static_cast<float>(a) * 0x1p-23f, 0x1.fffffep0f);
  quotients.add(1, 0x1.fffffep0f);
  quotients.compare();
}

TEST_P(Jit, QuotientsOfNumbersOfAnySizeAreThoseOfADivision) {
  const auto loop = quotient_loop();
  ASSERT_TRUE(loop);
  Quotients quotients(*loop);
  std::vector<float> numbers{0, -0.0f, INFINITY, -INFINITY, NAN, FLT_MAX, FLT_MIN, -FLT_MIN, 0x1p-149f, -0x1.8p-140f};
  std::mt19937 random(3);
  for (int exponent = -149; exponent < 128; ++exponent)
    for (const float sign : {1.f, -1.f})
      numbers.push_back(sign * std::ldexp(1 + static_cast<float>(random() % (1u << 23)) * 0x1p-23f, exponent));
  // Sixteen like pairs side by side, so that one number out of range does not let all be divided.
  for (const float a : numbers)
    for (const float b : numbers)
      for (int lane = 0; lane < 16; ++lane) quotients.add(a, b);
  quotients.compare();
}

TEST(JitCode, EveryInstructionIsValidForItsTargetOnAnyMachine) {
  std::vector<Program> programs = {random_like(10)};
  for (const DType from : kStored)
    for (const DType to : kStored) {
      Graph graph;
      programs.push_back(make_program(graph, {from}, {graph.input(0, expr::lane_of(from))}, {to}));
    }
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    programs.push_back(
        program_of(dtype, 3, [](const Expr* x) { return select(x[0] < x[1], lesser(x[1], x[2]), abs(x[0])); }));
    programs.push_back(program_of(dtype, 3, [](const Expr* x) { return (x[0] == x[1]) & (!(x[1] <= x[2])); }));
    programs.push_back(program_of(dtype, 3, [](const Expr* x) { return fma(x[0], x[1], -x[2]); }));
  }
  for (const JitTarget target : {JitTarget::avx2, JitTarget::avx512}) {
    std::string refusal;
    for (const Program& program : programs)
      for (const ScalarInputs scalars : {0u, 1u})
        if (assemble(loop_writer(program, scalars, target), refusal).empty()) {
          EXPECT_EQ(refusal.find("failed"), std::string::npos) << refusal << "\n" << program.to_string();
        }
    for (const DType dtype : {DType::f32, DType::f64, DType::i64}) {
      const FoldProgram fold = fold_of(plain_input(dtype), 0, [](const Expr* x) { return x[0] + x[1]; });
      EXPECT_NE(assemble(fold_writer(fold, target), refusal), "") << refusal;
    }
  }
}

TEST(JitCode, ARefusalSaysWhy) {
  if (jit_target() == "none") GTEST_SKIP() << "no generated code here";
  const TemporaryTarget capped("avx2");
  auto mul = [](const Expr* x) { return x[0] * x[1]; };
  EXPECT_TRUE(refuses(program_of(DType::i64, 2, mul), "AVX2 has no 64-bit integer multiply"));
  auto div = [](const Expr* x) { return x[0] / x[1]; };
  EXPECT_TRUE(refuses(program_of(DType::i64, 2, div), "no vector division of 64-bit integers"));
  auto to_f64 = [](const Expr* x) { return convert(x[0], Lane::f64); };
  EXPECT_TRUE(refuses(program_of(DType::i64, 1, to_f64), "AVX2 does not convert"));
  EXPECT_TRUE(refuses(program_of(DType::f32, 1, to_f64), "lanes of 4 and 8 bytes in one program"));
  const Program sum = program_of(DType::f32, 2, [](const Expr* x) { return x[0] + x[1]; });
  Graph graph;
  const Program index = make_program(graph, {}, {convert(graph.index_lo(), Lane::f32)}, {DType::f32});
  const FoldProgram counting{.map = index, .combine = sum};
  std::string refusal;
  EXPECT_FALSE(jit_fold(counting, refusal));
  EXPECT_EQ(refusal, "a fold knows no element index");
}

TEST(JitCode, TheEnvironmentSwitchesItOffAndCapsIt) {
  if (jit_target() == "none") GTEST_SKIP() << "no generated code here";
  const Program sum = program_of(DType::f32, 2, [](const Expr* x) { return x[0] + x[1]; });
  {
    const TemporaryTarget off("0");
    EXPECT_EQ(jit_target(), "none");
    EXPECT_TRUE(refuses(sum, "TANDEM_JIT=0"));
  }
  const TemporaryTarget capped("avx2");
  EXPECT_EQ(jit_target(), "AVX2");
}

/// Makes the kernel refuse executable memory to this process from now on.
bool forbid_executable_memory() {
  auto load_word = [](std::size_t at) {
    return sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(at)};
  };
  const sock_filter filter[] = {
      load_word(offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mprotect, 0, 3),
      load_word(offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), const_cast<sock_filter*>(filter)};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(JitCodeDeathTest, ASystemWithoutExecutableMemoryIsARefusalNotACrash) {
  if (jit_target() == "none") GTEST_SKIP() << "no generated code here";
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // the child must not have code memory from before
  auto in_child = [] {
    if (!forbid_executable_memory()) std::_Exit(0);
    std::string refusal;
    const auto loop = jit_loop(program_of(DType::f32, 2, [](const Expr* x) { return x[0] + x[1]; }), 0, refusal);
    std::_Exit(!loop && refusal.find("no memory for generated code") == 0 ? 0 : 1);
  };
  EXPECT_EXIT(in_child(), testing::ExitedWithCode(0), "");
}

TEST(JitCode, SeveralThreadsMayCompileAndRunAtOnceWhileOldCodeIsDropped) {
  if (jit_target() == "none") GTEST_SKIP() << "no generated code here";
  std::vector<std::thread> threads;
  std::vector<std::string> problems(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&problems, t] {
      for (int i = 0; i < 600; ++i) {  // more programs than the cache keeps
        const double number = t % 2 * 600 + i + 0.5;
        const Program program = program_of(DType::f32, 1, [&](const Expr* x) { return x[0] + number; });
        std::string refusal;
        const auto loop = jit_loop(program, 0, refusal);
        if (!loop) problems[t] = refusal;
        else if (std::string what = LoopTrial(program, {.length = 9}, i).run(*loop); !what.empty()) problems[t] = what;
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& problem : problems) EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace tandem::cpu
