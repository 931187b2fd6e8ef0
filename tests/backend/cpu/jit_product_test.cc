#include "tandem/backend/cpu/jit_product.h"

#include <gtest/gtest.h>

#include "tests/backend/cpu/guarded_buffer.h"

namespace tandem::cpu {
namespace {

using expr::Expr;
using expr::Lane;

/// Floats in memory that ends where it may be touched.
struct Floats {
  GuardedBuffer buffer;
  explicit Floats(std::int64_t count) : buffer(static_cast<std::size_t>(count) * sizeof(float)) {}
  float* data() { return reinterpret_cast<float*>(buffer.data()); }
  void fill(std::int64_t count, std::mt19937_64& random) {
    for (std::int64_t i = 0; i < count; ++i) data()[i] = static_cast<float>(random() % 2001) / 100 - 10;
  }
};

struct Trial {
  TileShape shape;
  std::int64_t columns, depth, tiles;
  std::int64_t rows() const { return shape.rows * tiles; }
};

/// max(product + vector, single) * full, and the product itself.
TileEpilogue all_kinds_of_operands() {
  expr::Graph graph;
  Expr in[4];
  for (int i = 0; i < 4; ++i) in[i] = graph.input(i, Lane::f32);
  const Expr first = greater_of(in[0] + in[1], in[2]) * in[3];
  return {expr::make_program(graph, std::vector<DType>(4, DType::f32), {first, in[0]}, {DType::f32, DType::f32}),
          1u << 2};
}

float after_product(float sum, float vector, float single, float full) { return std::max(sum + vector, single) * full; }

void check(const Trial& t, JitTarget target, bool followed) {
  SCOPED_TRACE(testing::Message() << t.shape.rows << "x" << t.shape.vectors << " columns " << t.columns << " depth "
                                  << t.depth << " tiles " << t.tiles << (t.shape.transposed_a ? " transposed" : "")
                                  << (followed ? " followed" : ""));
  std::mt19937_64 random(7);
  const std::int64_t rows = t.rows(), gap = 3, width = t.columns + gap;
  const std::int64_t a_row = t.shape.transposed_a ? 1 : t.depth + gap, a_depth = t.shape.transposed_a ? rows + gap : 1;
  const auto reach = [](std::int64_t outer, std::int64_t step, std::int64_t inner) {
    return (outer - 1) * step + inner;
  };
  const std::int64_t a_count = t.shape.transposed_a ? reach(t.depth, a_depth, rows) : reach(rows, a_row, t.depth);
  const std::int64_t b_count = reach(t.depth, width, t.columns), c_count = reach(rows, width, t.columns);
  Floats a(a_count), b(b_count), c(c_count), plain(c_count), vector(t.columns), single(1), full(c_count);
  a.fill(a_count, random), b.fill(b_count, random), vector.fill(t.columns, random), single.fill(1, random),
      full.fill(c_count, random);

  const TileEpilogue epilogue = followed ? all_kinds_of_operands() : TileEpilogue();
  std::string refusal;
  const auto code = tile_code(t.shape, epilogue, target, refusal);
  ASSERT_TRUE(code) << refusal;
  ProductTileArgs args{.a = a.data(),
                       .a_row = a_row * 4,
                       .a_depth = a_depth * 4,
                       .b = b.data(),
                       .b_depth = width * 4,
                       .depth = t.depth,
                       .tiles = t.tiles,
                       .last_columns = t.columns - (t.shape.vectors - 1) * (target == JitTarget::avx512 ? 16 : 8),
                       .inputs = {nullptr, vector.data(), single.data(), full.data()},
                       .input_rows = {0, 0, 0, width * 4},
                       .outputs = {c.data(), plain.data()},
                       .output_rows = {width * 4, width * 4}};
  reinterpret_cast<void (*)(ProductTileArgs*)>(code->entry())(&args);

  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < t.columns; ++j) {
      float sum = 0;
      for (std::int64_t p = 0; p < t.depth; ++p)
        sum = std::fma(a.data()[i * a_row + p * a_depth], b.data()[p * width + j], sum);
      const std::int64_t at = i * width + j;
      const float wanted = followed ? after_product(sum, vector.data()[j], single.data()[0], full.data()[at]) : sum;
      ASSERT_EQ(c.data()[at], wanted) << "row " << i << " column " << j;
      if (!followed) continue;
      ASSERT_EQ(plain.data()[at], sum) << "row " << i << " column " << j;
    }
  const auto untouched = [&](Floats& out) {
    for (std::int64_t i = 0; i + 1 < rows; ++i)
      for (std::int64_t j = t.columns; j < width; ++j)
        if (std::memcmp(out.data() + i * width + j, "\xA5\xA5\xA5\xA5", 4) != 0) return false;
    return out.buffer.front_unharmed();
  };
  EXPECT_TRUE(untouched(c)) << "written between rows";
  EXPECT_TRUE(!followed || untouched(plain)) << "written between rows";
}

class Tiles : public testing::TestWithParam<JitTarget> {};

TEST_P(Tiles, OfEveryShapeAddUpInOrderAndTouchNothingElse) {
  std::string refusal;
  const JitTarget here = current_target(refusal);
  if (here == JitTarget::none || (GetParam() == JitTarget::avx512 && here != JitTarget::avx512))
    GTEST_SKIP() << "this machine does not run such code";
  const bool wide = GetParam() == JitTarget::avx512;
  const int lanes = wide ? 16 : 8;
  for (const bool followed : {false, true})
    for (const bool transposed : {false, true})
      for (int vectors = 1; vectors <= (wide ? 4 : 2); ++vectors)
        for (int rows = 1; rows * vectors <= (wide ? 24 : 12) && rows <= 16; ++rows)
          for (const int missing : {0, 1, 6, lanes - 1}) {
            const TileShape shape{rows, vectors, missing > 0, transposed};
            check({shape, vectors * lanes - missing, 1 + rows % 5, 1 + vectors % 3}, GetParam(), followed);
          }
}

INSTANTIATE_TEST_SUITE_P(Targets, Tiles, testing::Values(JitTarget::avx2, JitTarget::avx512),
                         [](const auto& target) { return target.param == JitTarget::avx2 ? "Avx2" : "Avx512"; });

TEST(Tiles, RefuseWhatNeedsMoreRegistersThanTheyLeave) {
  expr::Graph graph;
  std::vector<Expr> values{graph.input(0, Lane::f32)};
  for (int i = 1; i < 12; ++i) values.push_back(values.back() * values[0] + values.front());
  Expr sum = values[0];
  for (std::size_t i = values.size() - 1; i > 0; --i) sum = sum + values[i];
  const TileEpilogue crowded{expr::make_program(graph, {DType::f32}, {sum}, {DType::f32}), 0};
  std::string refusal;
  EXPECT_FALSE(tile_code({6, 2, false, false}, crowded, JitTarget::avx2, refusal));
  EXPECT_EQ(refusal, "what follows the product needs more registers than a tile leaves");
}

}  // namespace
}  // namespace tandem::cpu
