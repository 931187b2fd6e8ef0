#include "tandem/expr/random.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/expr/program.h"

namespace tandem::expr {
namespace {

PhiloxKey key_inputs(Graph& graph) {
  return {graph.input(0, Lane::i32), graph.input(1, Lane::i32), graph.input(2, Lane::i32), graph.input(3, Lane::i32)};
}

std::array<std::uint32_t, 4> draw(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  Graph graph;
  const auto words = philox(graph.index_lo(), graph.index_hi(), key_inputs(graph));
  const auto program = make_program(graph, std::vector<DType>(4, DType::i32), {words.begin(), words.end()},
                                    std::vector<DType>(4, DType::i32));
  ScalarValue in[4], out[4];
  const std::uint32_t values[] = {key[0], key[1], counter[2], counter[3]};
  for (int i = 0; i < 4; ++i) in[i].i32 = static_cast<std::int32_t>(values[i]);
  evaluate(program, in, out, static_cast<std::uint64_t>(counter[1]) << 32 | counter[0]);
  std::array<std::uint32_t, 4> result;
  for (int i = 0; i < 4; ++i) result[i] = static_cast<std::uint32_t>(out[i].i32);
  return result;
}

// The vectors published with the generator (Random123).
TEST(Philox, GivesThePublishedWords) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(draw({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(draw({ones, ones, ones, ones}, {ones, ones}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(draw({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Uniform, LiesInTheHalfOpenUnitInterval) {
  Graph graph;
  const auto f32 = make_program(graph, {DType::i32}, {uniform01(graph.input(0, Lane::i32))}, {DType::f32});
  ScalarValue in[2], out;
  in[0].i32 = 0;
  evaluate(f32, in, &out);
  EXPECT_EQ(out.f32, 0);
  in[0].i32 = -1;
  evaluate(f32, in, &out);
  EXPECT_EQ(out.f32, 1 - 0x1p-24f);

  Graph graph64;
  const auto f64 =
      make_program(graph64, {DType::i32, DType::i32},
                   {uniform01_f64(graph64.input(0, Lane::i32), graph64.input(1, Lane::i32))}, {DType::f64});
  in[1].i32 = -1;
  evaluate(f64, in, &out);
  EXPECT_EQ(out.f64, 1 - 0x1p-53);
}

TEST(Normal, IsFiniteForEveryWord) {
  Graph graph;
  const auto program = make_program(graph, {DType::i32, DType::i32},
                                    {normal(graph.input(0, Lane::i32), graph.input(1, Lane::i32))}, {DType::f32});
  ScalarValue in[2], out;
  for (std::uint32_t a : {0u, 255u, 256u, 0xffffffffu})
    for (std::uint32_t b : {0u, 0x40000000u, 0x80000000u, 0xc0000000u, 0xffffffffu}) {
      in[0].i32 = static_cast<std::int32_t>(a);
      in[1].i32 = static_cast<std::int32_t>(b);
      evaluate(program, in, &out);
      EXPECT_LT(std::fabs(out.f32), 6) << a << " " << b;
    }
}

/// Mean, variance and fourth moment of `count` draws.
std::array<double, 3> moments(const Program& program, bool f64, int count) {
  ScalarValue in[4] = {{.i32 = 1}, {.i32 = 2}, {.i32 = 3}, {.i32 = 4}}, out;
  double sums[3] = {};
  for (int i = 0; i < count; ++i) {
    evaluate(program, in, &out, i);
    const double x = f64 ? out.f64 : out.f32;
    sums[0] += x;
    sums[1] += x * x;
    sums[2] += x * x * x * x;
  }
  return {sums[0] / count, sums[1] / count, sums[2] / count};
}

TEST(Normal, HasTheMomentsOfTheDistribution) {
  Graph graph;
  const auto words = philox(graph.index_lo(), graph.index_hi(), key_inputs(graph));
  const std::vector<DType> inputs(4, DType::i32);
  const auto f32 = make_program(graph, inputs, {normal(words[0], words[1])}, {DType::f32});
  const auto f64 = make_program(graph, inputs, {normal_f64(words)}, {DType::f64});
  for (auto [mean, variance, fourth] : {moments(f32, false, 100000), moments(f64, true, 100000)}) {
    EXPECT_NEAR(mean, 0, 0.012);
    EXPECT_NEAR(variance, 1, 0.02);
    EXPECT_NEAR(fourth, 3, 0.15);
  }
}

}  // namespace
}  // namespace tandem::expr
