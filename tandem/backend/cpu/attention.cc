// Attention, a head of a sequence at a time: a tile of rows' scores stays in the cache between the products that make
// and use it. The backward pass makes the scores again instead of keeping them.
#include <cmath>

#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/gemm.h"
#include "tandem/backend/cpu/network_kernels.h"
#include "tandem/backend/cpu/loop_source.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/kernel/attention_sizes.h"

namespace tandem::cpu {
namespace {

using Exprs = std::vector<expr::Expr>;

/// Floats of a tile of scores: 128 rows of 512 sources. Libraries pack keys and values again for every tile: with a
/// quarter of the rows, 8 x 512 sources of 8 heads took a third longer; with twice as many, causal scores compute much
/// above the diagonal.
constexpr std::int64_t kTileFloats = 64 << 10;

struct Parts {
  std::shared_ptr<const Loop> exps;    // x, largest, scale -> exp((x - largest) * scale)
  std::shared_ptr<const Loop> shares;  // x, log sum, scale -> exp(x * scale - log sum)
  std::shared_ptr<const Loop> change;  // share, product, own, scale -> share * (product - own) * scale
  std::shared_ptr<const Fold> max, sum;
};

Parts make_parts(const KernelCall&, LoopSource& source) {
  const DType f32 = DType::f32;
  Parts p;
  p.exps = source.loop(program({f32, f32, f32}, f32, [](Exprs& in) { return exp((in[0] - in[1]) * in[2]); }), 0b110);
  p.shares = source.loop(program({f32, f32, f32}, f32, [](Exprs& in) { return exp(in[0] * in[2] - in[1]); }), 0b110);
  p.change = source.loop(program({f32, f32, f32, f32}, f32, [](Exprs& in) { return in[0] * (in[1] - in[2]) * in[3]; }),
                         0b1100);
  p.max = source.fold(max_fold(f32));
  p.sum = source.fold(sum_fold(f32));
  return p;
}

/// Runs a loop in place on a tile [rows, columns]: after the tile come one value a row, or one for all (stride 0).
struct RowValues {
  const float* values;
  bool one_a_row = true;
};
void run_loop(const Loop& loop, float* out, std::int64_t rows, std::int64_t columns,
              std::initializer_list<const float*> tiles, std::initializer_list<RowValues> scalars) {
  LoopArgs args;
  int i = 0;
  for (const float* tile : tiles) {
    args.inputs[i] = tile;
    args.input_row_strides[i++] = columns * static_cast<std::int64_t>(sizeof(float));
  }
  for (const RowValues& scalar : scalars) {
    args.inputs[i] = scalar.values;
    args.input_row_strides[i++] = scalar.one_a_row ? sizeof(float) : 0;
  }
  args.outputs[0] = out;
  args.output_row_strides[0] = columns * static_cast<std::int64_t>(sizeof(float));
  args.rows = rows;
  args.length = columns;
  loop.run(args);
}

void run_fold(const Fold& fold, const float* tile, std::int64_t rows, std::int64_t columns, float* out) {
  FoldArgs args;
  args.inputs[0] = tile;
  args.input_row_strides[0] = columns * static_cast<std::int64_t>(sizeof(float));
  args.output = out;
  args.rows = rows;
  args.length = columns;
  fold.run(args);
}

/// What both directions share: one head of one sequence, in tiles of rows.
class Attention : public PreparedKernel {
 public:
  Attention(const KernelCall& call, Parts parts, int first) : s_(call, first), parts_(std::move(parts)) {
    tile_rows_ = std::clamp<std::int64_t>(kTileFloats / s_.sources, 1, std::max<std::int64_t>(s_.targets, 1));
  }

 protected:
  struct Tile {
    std::int64_t b, n, first, rows, columns;  // rows of targets; the sources they may see
  };

  /// body(tile) for all tiles; the tiles of one head run in order on one thread.
  template <class F>
  void for_heads(const F& body) const {
    parallel(s_.batch * s_.heads, [&](std::int64_t head) {
      for (std::int64_t first = 0; first < s_.targets; first += tile_rows_) {
        const std::int64_t rows = std::min(tile_rows_, s_.targets - first);
        body(Tile{head / s_.heads, head % s_.heads, first, rows,
                  s_.causal ? std::min(first + rows, s_.sources) : s_.sources});
      }
    });
  }

  /// query key^T; where there is a bias, scaled and with it; -infinity above the diagonal. Returns the scale left to
  /// apply.
  float scores(const Tile& t, const float* query, const float* key, const float* bias, float* tile) const {
    const std::int64_t step = s_.heads * s_.size;
    library_gemm({.m = t.rows,
                  .n = t.columns,
                  .k = s_.size,
                  .transpose_b = true,
                  .a = query + s_.query_at(t.b, t.first, t.n),
                  .lda = step,
                  .b = key + s_.key_at(t.b, 0, t.n),
                  .ldb = step,
                  .c = tile,
                  .ldc = t.columns});
    const auto scale = static_cast<float>(s_.scale);
    if (s_.biased)
      wide([&]() __attribute__((always_inline)) {
        for (std::int64_t r = 0; r < t.rows; ++r) {
          float* __restrict row = tile + r * t.columns;
          const float* from = bias + s_.bias_at(t.b, t.n, t.first + r, 0);
          if (s_.bias[3])
            for (std::int64_t k = 0; k < t.columns; ++k) row[k] = row[k] * scale + from[k];
          else
            for (std::int64_t k = 0; k < t.columns; ++k) row[k] = row[k] * scale + from[0];
        }
      });
    if (s_.causal)
      for (std::int64_t r = 0; r < t.rows; ++r)
        for (std::int64_t k = t.first + r + 1; k < t.columns; ++k) tile[r * t.columns + k] = -INFINITY;
    return s_.biased ? 1 : scale;
  }

  /// A bias of one number moves all scores alike: only the logarithms of the sums show it.
  float shift(const float* bias) const { return s_.biased ? 0 : bias[0]; }

  std::int64_t tile_floats() const { return tile_rows_ * s_.sources; }

  AttentionSizes s_;
  Parts parts_;
  std::int64_t tile_rows_;
};

class AttentionForward final : public Attention {
 public:
  AttentionForward(const KernelCall& call, Parts parts) : Attention(call, std::move(parts), 0) {}

  void run(const KernelArgs& args) const override {
    for_heads([&](const Tile& t) {
      auto* largest = static_cast<float*>(scratch(ScratchUse::rows, (2 * tile_rows_ + tile_floats()) * sizeof(float)));
      float *sums = largest + tile_rows_, *tile = sums + tile_rows_;
      const float scale = scores(t, args.input<float>(0), args.input<float>(1), args.input<float>(3), tile);
      run_fold(*parts_.max, tile, t.rows, t.columns, largest);
      run_loop(*parts_.exps, tile, t.rows, t.columns, {tile}, {{largest}, {&scale, false}});
      run_fold(*parts_.sum, tile, t.rows, t.columns, sums);
      const std::int64_t step = s_.heads * s_.depth;
      float* out = args.output<float>(0) + s_.output_at(t.b, t.first, t.n);
      library_gemm({.m = t.rows,
                    .n = s_.depth,
                    .k = t.columns,
                    .a = tile,
                    .lda = t.columns,
                    .b = args.input<float>(2) + s_.value_at(t.b, 0, t.n),
                    .ldb = step,
                    .c = out,
                    .ldc = step});
      float* log_sums = args.output<float>(1) + s_.row_at(t.b, t.n, t.first);
      for (std::int64_t r = 0; r < t.rows; ++r) {
        const float share = 1 / sums[r];
        for (std::int64_t i = 0; i < s_.depth; ++i) out[r * step + i] *= share;
        log_sums[r] = std::log(sums[r]) + largest[r] * scale + shift(args.input<float>(3));
      }
    });
  }
};

class AttentionGradient final : public Attention {
 public:
  AttentionGradient(const KernelCall& call, Parts parts) : Attention(call, std::move(parts), 1) {}

  void run(const KernelArgs& args) const override {
    if (s_.targets == 0) return zero_sources(args);
    for_heads([&](const Tile& t) { run_tile(args, t); });
  }

 private:
  void run_tile(const KernelArgs& args, const Tile& t) const {
    const float *dy = args.input<float>(0) + s_.output_at(t.b, t.first, t.n),
                *y = args.input<float>(5) + s_.output_at(t.b, t.first, t.n);
    const float *query = args.input<float>(1), *key = args.input<float>(2),
                *value = args.input<float>(3) + s_.value_at(t.b, 0, t.n);
    const std::int64_t step = s_.heads * s_.size, deep = s_.heads * s_.depth;
    auto* own = static_cast<float*>(scratch(ScratchUse::rows, (2 * tile_rows_ + 2 * tile_floats()) * sizeof(float)));
    float *sums = own + tile_rows_, *shares = sums + tile_rows_, *products = shares + tile_floats();
    own_products(dy, y, t.rows, own);

    const float scale = scores(t, query, key, args.input<float>(4), shares), whole = static_cast<float>(s_.scale);
    const float* log_sums = args.input<float>(6) + s_.row_at(t.b, t.n, t.first);
    for (std::int64_t r = 0; r < t.rows; ++r) sums[r] = log_sums[r] - shift(args.input<float>(4));
    run_loop(*parts_.shares, shares, t.rows, t.columns, {shares}, {{sums}, {&scale, false}});
    const bool any_blind = s_.biased && std::ranges::any_of(log_sums, log_sums + t.rows, is_blind);
    if (any_blind) for_blind_rows(t, log_sums, shares, true);
    const bool more = t.first > 0;  // later tiles add to what the first of the head wrote
    float *dq = args.output<float>(0) + s_.query_at(t.b, t.first, t.n),
          *dk = args.output<float>(1) + s_.key_at(t.b, 0, t.n);
    float* dv = args.output<float>(2) + s_.value_at(t.b, 0, t.n);
    if (!more) clear_unseen(t, dk, dv);
    library_gemm({.m = t.columns,
                  .n = s_.depth,
                  .k = t.rows,
                  .transpose_a = true,
                  .a = shares,
                  .lda = t.columns,
                  .b = dy,
                  .ldb = deep,
                  .c = dv,
                  .ldc = deep,
                  .accumulate = more});
    library_gemm({.m = t.rows,
                  .n = t.columns,
                  .k = s_.depth,
                  .transpose_b = true,
                  .a = dy,
                  .lda = deep,
                  .b = value,
                  .ldb = deep,
                  .c = products,
                  .ldc = t.columns});
    run_loop(*parts_.change, products, t.rows, t.columns, {shares, products}, {{own}, {&whole, false}});
    if (any_blind) for_blind_rows(t, log_sums, products, false);
    library_gemm({.m = t.rows,
                  .n = s_.size,
                  .k = t.columns,
                  .a = products,
                  .lda = t.columns,
                  .b = key + s_.key_at(t.b, 0, t.n),
                  .ldb = step,
                  .c = dq,
                  .ldc = step});
    library_gemm({.m = t.columns,
                  .n = s_.size,
                  .k = t.rows,
                  .transpose_a = true,
                  .a = products,
                  .lda = t.columns,
                  .b = query + s_.query_at(t.b, t.first, t.n),
                  .ldb = step,
                  .c = dk,
                  .ldc = step,
                  .accumulate = more});
  }

  static bool is_blind(float log_sum) { return log_sum < AttentionSizes::blind(DType::f32); }

  /// Rows that see nothing: equal shares of what they might see, or no change at all.
  void for_blind_rows(const Tile& t, const float* log_sums, float* tile, bool equal_shares) const {
    for (std::int64_t r = 0; r < t.rows; ++r) {
      if (!is_blind(log_sums[r])) continue;
      const std::int64_t seen = s_.seen(t.first + r);
      std::fill_n(tile + r * t.columns, t.columns, 0.0f);
      if (equal_shares) std::fill_n(tile + r * t.columns, seen, 1 / static_cast<float>(seen));
    }
  }

  /// The sum of dy * y of each row.
  void own_products(const float* dy, const float* y, std::int64_t rows, float* own) const {
    const std::int64_t deep = s_.heads * s_.depth;
    wide([&]() __attribute__((always_inline)) {
      for (std::int64_t r = 0; r < rows; ++r) {
        constexpr int kLanes = 8;
        const float *a = dy + r * deep, *b = y + r * deep;
        float lanes[kLanes] = {};
        std::int64_t i = 0;
        for (; i + kLanes <= s_.depth; i += kLanes)
          for (int k = 0; k < kLanes; ++k) lanes[k] += a[i + k] * b[i + k];
        for (int k = 0; i < s_.depth; ++i, ++k) lanes[k] += a[i] * b[i];
        own[r] = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
      }
    });
  }

  /// Sources beyond what the first tile sees: later tiles add to them.
  void clear_unseen(const Tile& t, float* dk, float* dv) const {
    for (std::int64_t k = t.columns; k < s_.sources; ++k) {
      std::fill_n(dk + k * s_.heads * s_.size, s_.size, 0.0f);
      std::fill_n(dv + k * s_.heads * s_.depth, s_.depth, 0.0f);
    }
  }
  void zero_sources(const KernelArgs& args) const {
    std::fill_n(args.output<float>(1), s_.batch * s_.sources * s_.heads * s_.size, 0.0f);
    std::fill_n(args.output<float>(2), s_.batch * s_.sources * s_.heads * s_.depth, 0.0f);
  }
};

Support tiled(const KernelCall& call) {
  if (call.dtype() != DType::f32) return no("for float32 only, got ", call.dtype());
  if (!all_dense(call)) return no("needs dense operands");
  const int first = call.inputs.size() == 7 ? 1 : 0;
  if (call.shape(first)[3] == 0 || call.shape(first + 2)[3] == 0) return no("nothing to compute: heads of size 0");
  if (call.shape(first + 1)[1] > kFoldTile) return no("folds at most ", kFoldTile, " sources at a time");
  return yes();
}

}  // namespace

KernelList dot_product_attention_kernels() { return TwoForms<make_parts, AttentionForward, tiled>::kernels(); }
KernelList dot_product_attention_grad_kernels() { return TwoForms<make_parts, AttentionGradient, tiled>::kernels(); }

}  // namespace tandem::cpu
