#include "tandem/backend/cpu/product_tiles.h"

#include <xmmintrin.h>

#include <algorithm>

#include "tandem/backend/cpu/scratch.h"

namespace tandem::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

/// `size` cut into parts of at most `most`, as evenly as possible: some of `large`, then the rest one smaller.
struct EvenCut {
  std::int64_t large_parts = 0, small_parts = 0, large = 0;

  EvenCut(std::int64_t size, std::int64_t most) {
    const std::int64_t parts = (size + most - 1) / most, small = size / parts;
    large_parts = size % parts;
    small_parts = parts - large_parts;
    large = small + 1;
  }
  template <class F>  // visit(size of a part, how many, where the first begins)
  void each(const F& visit) const {
    if (large_parts > 0) visit(large, large_parts, std::int64_t(0));
    if (small_parts > 0) visit(large - 1, small_parts, large_parts * large);
  }
};

/// Calls visit(shape, first row, tiles below each other, first column) for all tiles of a block.
template <class F>
void each_tile(const TileLimits& limits, std::int64_t rows, std::int64_t columns, bool transposed_a, const F& visit) {
  const std::int64_t vectors = (columns + limits.lanes - 1) / limits.lanes;
  EvenCut(vectors, limits.vectors).each([&](std::int64_t width, std::int64_t count, std::int64_t first) {
    EvenCut(rows, limits.rows[width]).each([&](std::int64_t height, std::int64_t tiles, std::int64_t row) {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t column = (first + i * width) * limits.lanes;
        const bool partial = columns - column < width * limits.lanes;
        visit(TileShape{static_cast<int>(height), static_cast<int>(width), partial, transposed_a}, row, tiles, column);
      }
    });
  });
}

/// Where sums are short and rows long, most of the time goes into the result and what is read beside it: then row after
/// row, in bands one tile high, so that the processor has few streams of memory to follow. Else a column of tiles after
/// the other.
template <class F>
void each_tile_in_order(const TileLimits& limits, const Gemm<float>& g, std::int64_t rows, std::int64_t columns,
                        const F& visit) {
  constexpr std::int64_t kShort = 16, kLong = 1024;
  if (g.k > kShort || columns < kLong) return each_tile(limits, rows, columns, g.transpose_a, visit);
  EvenCut(rows, limits.rows[limits.vectors]).each([&](std::int64_t height, std::int64_t bands, std::int64_t first) {
    for (std::int64_t band = first; band < first + bands * height; band += height)
      each_tile(limits, height, columns, g.transpose_a,
                [&](const TileShape& shape, std::int64_t row, std::int64_t tiles, std::int64_t column) {
                  visit(shape, band + row, tiles, column);
                });
  });
}

/// to[k][j] = from[j][k], for four of each.
void turn_block(const float* from, std::int64_t from_step, float* to, std::int64_t to_step) {
  __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + from_step), c = _mm_loadu_ps(from + 2 * from_step),
         d = _mm_loadu_ps(from + 3 * from_step);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + to_step, b);
  _mm_storeu_ps(to + 2 * to_step, c);
  _mm_storeu_ps(to + 3 * to_step, d);
}

/// to[c][r] = from[r][c].
void turn(const float* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns, float* to,
          std::int64_t to_step) {
  constexpr std::int64_t kBlock = 4;
  if (rows < kBlock || columns < kBlock) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) to[c * to_step + r] = from[r * from_step + c];
    return;
  }
  // What is left over in the end is a whole block again, that begins a little earlier.
  for (std::int64_t r = 0; r < rows; r += kBlock)
    for (std::int64_t c = 0; c < columns; c += kBlock) {
      const std::int64_t row = std::min(r, rows - kBlock), column = std::min(c, columns - kBlock);
      turn_block(from + row * from_step + column, from_step, to + column * to_step + row, to_step);
    }
}

/// Rows of b as tiles read them, where it is stored column by column.
Gemm<float> turned(Gemm<float> g) {
  auto* const rows = static_cast<float*>(scratch(ScratchUse::pack, static_cast<std::size_t>(g.k * g.n * kFloat)));
  turn(g.b, g.ldb, g.n, g.k, rows, g.n);
  g.b = rows;
  g.ldb = g.n;
  return g;
}

/// A narrow product of columns of a, as the gradient of a layer with few outputs: a tile would be one vector wide, some
/// of its lanes idle, and read a line of every row of a at a time, of tall ones more streams than the processor
/// follows. The transpose is wide, and reads rows of a in pieces.
bool is_made_transposed(const Gemm<float>& g, const TileLimits& limits) {
  constexpr std::int64_t kTall = 32;
  return limits.target == JitTarget::avx512 && g.transpose_a && !g.transpose_b && g.n <= kNarrowColumns && g.m >= kTall;
}
/// Columns of the transpose that are made at once: they stay in the first cache until they are turned.
constexpr std::int64_t kPiece = 256;

/// The transpose of `columns` rows of the product, from `first` on.
Gemm<float> transposed_piece(const Gemm<float>& g, std::int64_t first, std::int64_t columns, float* to) {
  return {.m = g.n,
          .n = columns,
          .k = g.k,
          .transpose_a = true,
          .a = g.b,
          .lda = g.ldb,
          .b = g.a + first,
          .ldb = g.lda,
          .c = to,
          .ldc = kPiece};
}

}  // namespace

ProductTiles::ProductTiles(const Gemm<float>& whole, std::span<const ProductBlock> blocks, Epilogue epilogue) {
  std::string refusal;
  limits_ = tile_limits(whole.n, refusal);
  if (is_made_transposed(whole, limits_)) {
    transposes_ = true;
    limits_ = tile_limits(kPiece, refusal);
    std::vector<ProductBlock> pieces{{.rows = whole.n, .columns = kPiece}};
    for (const ProductBlock& block : blocks) pieces.push_back({.rows = whole.n, .columns = block.rows % kPiece});
    after_ = std::move(epilogue);
    TANDEM_CHECK(prepare(transposed_piece(whole, 0, kPiece, nullptr), pieces, {}),
                 "no code for the tiles of a product");
    return;
  }
  inside_ = epilogue.layout();
  if (inside_ && prepare(whole, blocks, {inside_->program, inside_->scalars})) return;
  inside_ = nullptr;
  after_ = std::move(epilogue);
  TANDEM_CHECK(prepare(whole, blocks, {}), "no code for the tiles of a product");
}

bool ProductTiles::prepare(const Gemm<float>& whole, std::span<const ProductBlock> blocks, const TileEpilogue& inside) {
  functions_.clear();
  std::string refusal;
  for (const ProductBlock& block : blocks)
    if (block.columns > 0)
      each_tile_in_order(limits_, whole, block.rows, block.columns, [&](const TileShape& shape, auto...) {
        const auto same = [&](const Function& function) { return function.shape == shape; };
        if (refusal.empty() && std::none_of(functions_.begin(), functions_.end(), same))
          functions_.push_back({shape, tile_code(shape, inside, limits_.target, refusal)});
      });
  return refusal.empty();
}

void ProductTiles::run_tiles(const TileShape& shape, ProductTileArgs& args) const {
  for (const Function& function : functions_)
    if (function.shape == shape) return reinterpret_cast<void (*)(ProductTileArgs*)>(function.code->entry())(&args);
}

void ProductTiles::run(const Gemm<float>& part, const KernelArgs& kernel, const ProductBlock& block) const {
  if (transposes_) run_transposed(part);
  else run_block(part.transpose_b ? turned(part) : part, kernel, block);
  after_.run(kernel, block);
}

void ProductTiles::run_transposed(const Gemm<float>& g) const {
  auto* const piece = static_cast<float*>(scratch(ScratchUse::pack, static_cast<std::size_t>(g.n * kPiece * kFloat)));
  for (std::int64_t first = 0; first < g.m; first += kPiece) {
    const std::int64_t columns = std::min(kPiece, g.m - first);
    run_block(transposed_piece(g, first, columns, piece), {}, {});
    turn(piece, kPiece, g.n, columns, g.c + first * g.ldc, g.ldc);
  }
}

void ProductTiles::run_block(const Gemm<float>& g, const KernelArgs& kernel, const ProductBlock& block) const {
  ProductTileArgs args;
  args.a_row = (g.transpose_a ? 1 : g.lda) * kFloat;
  args.a_depth = (g.transpose_a ? g.lda : 1) * kFloat;
  args.b_depth = g.ldb * kFloat;
  args.depth = g.k;
  each_tile_in_order(limits_, g, g.m, g.n,
                     [&](const TileShape& shape, std::int64_t row, std::int64_t tiles, std::int64_t column) {
                       args.a = reinterpret_cast<const char*>(g.a) + row * args.a_row;
                       args.b = g.b + column;
                       args.tiles = tiles;
                       args.last_columns = g.n - column - (shape.vectors - 1) * limits_.lanes;
                       args.outputs[0] = g.c + row * g.ldc + column;
                       args.output_rows[0] = g.ldc * kFloat;
                       if (inside_) {
                         const ProductBlock at{.row = block.row + row, .column = block.column + column};
                         for (std::size_t i = 1; i < inside_->inputs.size(); ++i) {
                           args.inputs[i] = inside_->input(kernel, i, at);
                           args.input_rows[i] = inside_->inputs[i].row;
                         }
                         for (std::size_t k = 0; k < inside_->outputs.size(); ++k) {
                           args.outputs[k] = inside_->output(kernel, k, at);
                           args.output_rows[k] = inside_->outputs[k].row;
                         }
                       }
                       run_tiles(shape, args);
                     });
}

// One thread, Zen 4, GFLOP/s tiles / oneDNN / OpenBLAS (m x k x n):
//   AVX-512  32x100x64 112 / 97 / 112    1024x100x64 116 / 104 / 99   32x784x128 117 / 106 / 90   128x1024x512 116 /
//   112 / 100
//            1024x64x10 65 / 50 / 72     1024x256x10 65 / 50 / 49     32x100x4 44 / 17 / 65      32x100x10 (a
//            transposed) 63 / 42 / 88
//   AVX2     32x100x64 109               1024x100x64 116              32x1024x512 83             1024x256x64 (a
//   transposed) 84
// Emerald Rapids, us in a training step, tiles / OpenBLAS: 32x10x64 (b transposed, then relu_grad) 0.51 / 0.94;
// 64x32x10 (a transposed, made transposed) 0.63 / 0.70. What follows a narrow product costs a pass of its own with a
// library, of short rows: a third of 1024x64x10. Without AVX-512 tiles are 16 columns wide, and rows of b far apart, or
// columns of a, fight for the same cache sets.
Support tiles_serve(const Gemm<float>& g, bool followed) {
  std::string refusal;
  const TileLimits limits = tile_limits(g.n, refusal);
  if (limits.target == JitTarget::none) return no(refusal);
  constexpr std::int64_t kTiny = 8 << 10, kSmall = 1 << 20, kLeastColumns = 5, kFarApart = 128, kFarRows = 512;
  constexpr std::int64_t kMostBytes = 2 << 20, kMostBytesAvx2 = 256 << 10, kMostTurned = 8 << 10, kRowsThatPay = 16;
  constexpr std::int64_t kShallow = 16, kRowsThatPayForAll = 64;  // each core turns the columns of its own block
  const bool wide = limits.target == JitTarget::avx512, narrow = g.n <= kNarrowColumns;
  const bool turns = g.k * g.n <= kMostTurned ? g.m >= kRowsThatPay : g.k <= kShallow && g.m >= kRowsThatPayForAll;
  if (g.transpose_b && !(wide && turns)) return no("tiles read rows of the second operand");
  const std::int64_t work = g.m * g.n * g.k;
  const bool slow = work < kTiny || g.m == 1 || g.n < kLeastColumns ||
                    g.k * g.n * kFloat > (wide ? kMostBytes : kMostBytesAvx2) ||
                    (!wide && (g.n > kFarApart || (g.transpose_a && g.m > kFarRows))) ||
                    (narrow && work < kSmall && (g.transpose_a || !followed) && !is_made_transposed(g, limits));
  return slow ? no("a library is faster for a product of this size") : yes();
}

}  // namespace tandem::cpu
