// Matrix products: which library, and how one product becomes slices. The grid, and whether the sum over k is cut,
// depend on the shape alone, so the bits do not depend on the number of threads.
#include <algorithm>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/backend/cpu/amx.h"
#include "tandem/backend/cpu/epilogue.h"
#include "tandem/backend/cpu/gemm.h"
#include "tandem/backend/cpu/library_kernels.h"
#include "tandem/backend/cpu/product_tiles.h"
#include "tandem/backend/cpu/reference/reference.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/base/cores.h"
#include "tandem/kernel/in_plan.h"
#include "tandem/kernel/overwriting.h"
#include "tandem/kernel/row_kernel.h"

namespace tandem::cpu {
namespace {

/// How a library reads the last two axes of an operand; nothing when neither axis is dense.
struct Layout {
  bool transposed = false;
  std::int64_t leading = 1;
};
std::optional<Layout> layout_of(const Operand& operand, bool transpose) {
  const int rank = operand.shape().rank();
  const std::int64_t rows = operand.shape()[-2], columns = operand.shape()[-1];
  const std::int64_t row_step = operand.strides[rank - 2], column_step = operand.strides[rank - 1];
  const auto fits = [](std::int64_t inner_step, std::int64_t inner, std::int64_t outer_step, std::int64_t outer) {
    return (inner_step == 1 || inner <= 1) && (outer <= 1 || outer_step >= inner);
  };
  if (fits(column_step, columns, row_step, rows))
    return Layout{transpose, rows <= 1 ? std::max<std::int64_t>(columns, 1) : std::max<std::int64_t>(row_step, 1)};
  if (fits(row_step, rows, column_step, columns))
    return Layout{!transpose, columns <= 1 ? std::max<std::int64_t>(rows, 1) : std::max<std::int64_t>(column_step, 1)};
  return std::nullopt;
}

/// Where each product of the batch begins, in elements; axes of size one are repeated.
struct Offsets {
  std::int64_t a, b;
};
std::vector<Offsets> batch_offsets(const KernelCall& call) {
  const Shape& out = call.outputs[0].shape();
  const int axes = out.rank() - 2;
  const auto step = [&](const Operand& operand, int axis) -> std::int64_t {
    const int own = axis - (out.rank() - operand.shape().rank());
    return own < 0 || operand.shape()[own] == 1 ? 0 : operand.strides[own];
  };
  std::vector<Offsets> offsets{{0, 0}};
  for (int axis = 0; axis < axes; ++axis) {
    std::vector<Offsets> finer;
    finer.reserve(offsets.size() * out[axis]);
    for (const Offsets& at : offsets)
      for (std::int64_t i = 0; i < out[axis]; ++i)
        finer.push_back({at.a + i * step(call.inputs[0], axis), at.b + i * step(call.inputs[1], axis)});
    offsets = std::move(finer);
  }
  return offsets;
}

/// A product cut into blocks of c, and a batch cut into groups of products.
struct Grid {
  std::int64_t rows = 1, columns = 1;    // of a block
  std::int64_t blocks = 1;               // of a product
  std::int64_t block_columns = 1;        // blocks side by side
  std::int64_t group = 1, slices = 1;    // products a slice; slices in all
  bool stays_in_plan = false;            // all slices on the calling thread when it runs a plan
};

// Two slices of a hundred thousand multiply-adds (2 us) pay when the pool is awake, as it is between the ops of a
// training step, unless the operands are still in the cache of the core that made them (in_plan.h); more slices need a
// million each. Each further cut makes a library pack rows or columns again: with OpenBLAS on 1024^3, blocks of
// 512 x 512 reach 97 % of the speed of the whole, 256 x 512 94 %, 256 x 256 93 %, 128 x 128 86 %. So up to eight
// slices, as long as packing stays small; beyond, blocks of 512 x 512.
Grid grid_of(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kPairWork = 200'000, kPairWorkInPlan = 400'000, kSliceWork = 1 << 20, kSlices = 8,
                         kBlockArea = 512 * 512, kLeastSide = 32, kRound = 16;
  constexpr double kRepacking = 1.0 / 256;  // elements packed again, a multiply-add
  // Matrix times vector is bound by memory: a multiply-add costs as much as four.
  const std::int64_t work = m * n * k * (m == 1 || n == 1 ? 4 : 1);
  const std::int64_t least = work * batch >= kPairWork ? 2 : 1;
  const std::int64_t wanted = std::clamp<std::int64_t>(work * batch / kSliceWork, least, kSlices);
  Grid grid{.rows = m, .columns = n, .stays_in_plan = work * batch < kPairWorkInPlan};
  for (std::int64_t count = batch;; count *= 2) {
    const bool large = grid.rows * grid.columns > kBlockArea && work > 2 * kSliceWork;
    std::int64_t& side = grid.rows >= grid.columns ? grid.rows : grid.columns;
    if ((count * 2 > wanted && !large) || side < 2 * kLeastSide) break;
    const std::int64_t before = side;
    side = ((side + 1) / 2 + kRound - 1) / kRound * kRound;
    const double repacking = 1.0 / grid.rows - 1.0 / m + 1.0 / grid.columns - 1.0 / n;
    if (count > 1 && !large && repacking >= kRepacking) {
      side = before;
      break;
    }
  }
  grid.block_columns = (n + grid.columns - 1) / grid.columns;
  grid.blocks = grid.block_columns * ((m + grid.rows - 1) / grid.rows);
  if (grid.blocks == 1) grid.group = std::clamp<std::int64_t>(kSliceWork / std::max<std::int64_t>(work, 1), 1, batch);
  grid.slices = (batch + grid.group - 1) / grid.group * grid.blocks;
  return grid;
}

template <class T>
struct MatmulPlan {
  Gemm<T> whole;  // without addresses
  std::vector<Offsets> offsets;
  Grid grid;
};

/// `more`: work on each element of the result besides, in multiply-adds.
template <class T>
MatmulPlan<T> plan_of(const KernelCall& call, std::int64_t more = 0) {
  const Shape& out = call.outputs[0].shape();
  const bool transpose_a = call.attr().boolean("transpose_a");
  const Layout a = layout_of(call.inputs[0], transpose_a).value();
  const Layout b = layout_of(call.inputs[1], call.attr().boolean("transpose_b")).value();
  MatmulPlan<T> plan;
  plan.whole = {.m = out[-2],
                .n = out[-1],
                .k = call.shape(0)[transpose_a ? -2 : -1],
                .transpose_a = a.transposed,
                .transpose_b = b.transposed,
                .lda = a.leading,
                .ldb = b.leading,
                .ldc = out[-1]};
  if (out.elements() == 0) return plan;
  plan.offsets = batch_offsets(call);
  // One b for all, and the a's follow each other: a single tall product.
  bool tall = !a.transposed;
  for (std::size_t i = 0; i < plan.offsets.size() && tall; ++i)
    tall = plan.offsets[i].b == 0 && plan.offsets[i].a == static_cast<std::int64_t>(i) * plan.whole.m * a.leading;
  if (tall) {
    plan.whole.m *= static_cast<std::int64_t>(plan.offsets.size());
    plan.offsets.resize(1);
  }
  plan.grid = grid_of(static_cast<std::int64_t>(plan.offsets.size()), plan.whole.m, plan.whole.n, plan.whole.k + more);
  return plan;
}

/// Block `block` of product `product`.
template <class T>
ProductBlock block_of(const MatmulPlan<T>& plan, std::int64_t block) {
  const std::int64_t row = block / plan.grid.block_columns * plan.grid.rows,
                     column = block % plan.grid.block_columns * plan.grid.columns;
  return {.row = row,
          .rows = std::min(plan.grid.rows, plan.whole.m - row),
          .column = column,
          .columns = std::min(plan.grid.columns, plan.whole.n - column)};
}

template <class T>
std::vector<ProductBlock> blocks_of(const MatmulPlan<T>& plan) {
  std::vector<ProductBlock> blocks;
  for (std::int64_t block = 0; block < plan.grid.blocks; ++block) blocks.push_back(block_of(plan, block));
  return blocks;
}

template <class T>
Gemm<T> part(const MatmulPlan<T>& plan, const KernelArgs& args, std::int64_t product, const ProductBlock& block) {
  Gemm<T> g = plan.whole;
  g.a = args.input<T>(0) + plan.offsets[product].a + (g.transpose_a ? block.row : block.row * g.lda);
  g.b = args.input<T>(1) + plan.offsets[product].b + (g.transpose_b ? block.column * g.ldb : block.column);
  g.c = args.output<T>() + product * g.m * g.n + block.row * g.ldc + block.column;
  g.m = block.rows;
  g.n = block.columns;
  return g;
}

/// A library's product, then its epilogue.
template <class T, void (*gemm)(const Gemm<T>&)>
struct LibraryProduct {
  LibraryProduct(const MatmulPlan<T>&, Epilogue epilogue) : epilogue(std::move(epilogue)) {}
  void run(const Gemm<T>& part, const KernelArgs& args, const ProductBlock& block) const {
    gemm(part);
    epilogue.run(args, block);
  }
  Epilogue epilogue;
};

struct TileProduct : ProductTiles {
  TileProduct(const MatmulPlan<float>& plan, Epilogue epilogue)
      : ProductTiles(plan.whole, blocks_of(plan), std::move(epilogue)) {}
};

/// A product of matrices, or a batch of them, cut by its grid.
template <class T, class Product>
class Matmul : public PreparedKernel {
 public:
  Matmul(MatmulPlan<T> plan, Product product) : plan_(std::move(plan)), product_(std::move(product)) {}

  void run(const KernelArgs& args) const override {
    const Grid& grid = plan_.grid;
    const auto run_slice = [&](std::int64_t slice) { this->run_slice(args, slice); };
    if (!grid.stays_in_plan || !InPlan::running()) return parallel(grid.slices, run_slice);
    for (std::int64_t slice = 0; slice < grid.slices; ++slice) run_slice(slice);
  }

 protected:
  void run_slice(const KernelArgs& args, std::int64_t slice) const {
    const Grid& grid = plan_.grid;
    const auto products = static_cast<std::int64_t>(plan_.offsets.size());
    const std::int64_t first = slice / grid.blocks * grid.group;
    ProductBlock block = block_of(plan_, slice % grid.blocks);
    const std::int64_t row = block.row;
    for (std::int64_t i = first; i < std::min(first + grid.group, products); ++i) {
      block.row = row;
      const Gemm<T> at = part(plan_, args, i, block);
      block.row += i * plan_.whole.m;
      product_.run(at, args, block);
    }
  }

  const MatmulPlan<T> plan_;
  const Product product_;
};

/// Each element of a tile is one sum in the order of k: the bits do not depend on where rows are cut.
class TileMatmul final : public Matmul<float, TileProduct>, public RowKernel, public OverwritingKernel {
 public:
  TileMatmul(const KernelCall& call, MatmulPlan<float> plan, const Epilogue& epilogue)
      : Matmul(plan, TileProduct(plan, epilogue)),
        rows_(call.outputs[0].shape()[0]),
        epilogue_(epilogue) {}

  bool may_lie_on(std::size_t input) const override {
    if (input < 2 || !product_.finishes_in_registers()) return false;
    const EpilogueStride &read = epilogue_.layout()->inputs[input - 1], &written = epilogue_.layout()->outputs[0];
    return read.row == written.row && read.column == written.column;
  }

  std::int64_t rows() const override { return rows_; }
  bool reads_by_row(std::size_t input) const override {
    if (input < 2) return input == 0 && !plan_.whole.transpose_a;
    return epilogue_.layout()->inputs[input - 1].row != 0;
  }
  std::unique_ptr<const CutKernel> cut(std::span<const RowRange> ranges) const override {
    if (plan_.offsets.size() != 1) return nullptr;  // a batch: its products are the rows
    return std::make_unique<Cut>(*this, ranges);
  }

 private:
  class Cut final : public CutKernel {
   public:
    Cut(const TileMatmul& of, std::span<const RowRange> ranges)
        : of_(of),
          tiles_(of.plan_.whole, of.blocks(ranges), of.epilogue_) {}
    void run(const KernelArgs& args, RowRange rows) const override {
      const ProductBlock block = of_.block(rows);
      tiles_.run(part(of_.plan_, args, 0, block), args, block);
    }

   private:
    const TileMatmul& of_;
    const ProductTiles tiles_;
  };

  ProductBlock block(RowRange rows) const {
    const std::int64_t each = plan_.whole.m / rows_;
    return {.row = rows.begin * each, .rows = (rows.end - rows.begin) * each, .columns = plan_.whole.n};
  }
  std::vector<ProductBlock> blocks(std::span<const RowRange> ranges) const {
    std::vector<ProductBlock> blocks;
    for (const RowRange& rows : ranges) blocks.push_back(block(rows));
    return blocks;
  }

  std::int64_t rows_;
  Epilogue epilogue_;
};

/// A few rows times a large matrix, as in a layer that is being trained. Cut by columns, each core would read a half of
/// every row of b; the halves of the gradient and of the update are rows. A line that one core writes and the other
/// reads costs 18 to 85 ns, so here each core reads the rows that it writes: the sum is cut in two and added up in the
/// end.
template <class Product>
class SplitSum final : public PreparedKernel {
 public:
  SplitSum(MatmulPlan<float> plan, Epilogue epilogue)
      : plan_(in_one_block(std::move(plan))),
        product_(plan_, Epilogue()),
        epilogue_(std::move(epilogue)) {}

  static bool serves(const MatmulPlan<float>& plan) {
    constexpr std::int64_t kMostRows = 64, kLeast = 64 << 10;
    const Gemm<float>& g = plan.whole;
    if (plan.offsets.size() != 1 || plan.grid.slices == 1 || g.transpose_b) return false;
    // Half the lines of b would cross; of the second sum all do, there and back. And a must not be larger than b.
    return g.k >= 8 * g.m && g.m <= std::min(kMostRows, g.n) && g.k * g.n >= kLeast;
  }

  void run(const KernelArgs& args) const override {
    const Gemm<float>& whole = plan_.whole;
    const ProductBlock block = block_of(plan_, 0);
    auto* second =
        static_cast<float*>(scratch(ScratchUse::partials, static_cast<std::size_t>(whole.m * whole.n) * sizeof(float)));
    parallel(2, [&](std::int64_t half) {
      Gemm<float> g = part(plan_, args, 0, block);
      const std::int64_t middle = (whole.k / 2 + kRound - 1) / kRound * kRound, first = half ? middle : 0;
      g.a += whole.transpose_a ? first * whole.lda : first;
      g.b += first * whole.ldb;
      g.k = half ? whole.k - middle : middle;
      if (half) g.c = second;
      product_.run(g, args, block);
    });
    add(args.output<float>(), second, whole.m * whole.n);
    epilogue_.run_all(args);
  }

 private:
  static constexpr std::int64_t kRound = 16;
  static MatmulPlan<float> in_one_block(MatmulPlan<float> plan) {
    plan.grid = {.rows = plan.whole.m, .columns = plan.whole.n};
    return plan;
  }
  static void add(float* __restrict to, const float* __restrict other, std::int64_t count) {
    wide([&]() __attribute__((always_inline)) {
      for (std::int64_t i = 0; i < count; ++i) to[i] += other[i];
    });
  }

  const MatmulPlan<float> plan_;
  const Product product_;
  const Epilogue epilogue_;
};

template <class T, class Product>
Prepared prepare(const KernelCall& call, Epilogue epilogue) {
  auto plan = plan_of<T>(call, static_cast<std::int64_t>(epilogue.work() / 2));
  const std::size_t bytes = call.outputs[0].spec.bytes();
  if (bytes == 0) return prepared([](const KernelArgs&) {});
  if (plan.whole.k == 0)
    return prepared([bytes, epilogue = std::move(epilogue)](const KernelArgs& args) {
      std::memset(args.outputs[0], 0, bytes);
      epilogue.run_all(args);
    });
  if constexpr (std::is_same_v<T, float>)
    if (SplitSum<Product>::serves(plan))
      return std::make_unique<SplitSum<Product>>(std::move(plan), std::move(epilogue));
  if constexpr (std::is_same_v<Product, TileProduct>) {
    return std::make_unique<TileMatmul>(call, std::move(plan), epilogue);
  } else {
    Product product(plan, std::move(epilogue));
    return std::make_unique<Matmul<T, Product>>(std::move(plan), std::move(product));
  }
}

Support readable(const KernelCall& call) {
  const auto attrs = call.attr();
  if (!layout_of(call.inputs[0], attrs.boolean("transpose_a")) ||
      !layout_of(call.inputs[1], attrs.boolean("transpose_b")))
    return no("needs rows or columns that lie side by side");
  for (const Operand& operand : call.inputs)
    for (std::int64_t size : operand.shape())
      if (size > INT_MAX) return no("needs sizes below 2^31");
  return yes();
}

/// `followed`: the product is the first op of a fused region.
template <bool followed>
Support jit_matmul(const KernelCall& call) {
  if (call.dtype() != DType::f32) return no("generated tiles multiply float32, got ", call.dtype());
  const Support support = readable(call);
  return support ? tiles_serve(plan_of<float>(call).whole, followed) : support;
}

Support short_rows_matmul(const KernelCall& call) {
  if (call.dtype() != DType::f32) return no("multiplies rows of float32, got ", call.dtype());
  const Support support = readable(call);
  if (!support || has_short_rows(plan_of<float>(call).whole)) return support;
  return no("is for many rows of two to four numbers times a vector");
}

Support amx_matmul(const KernelCall& call) {
  if (call.dtype() != DType::bf16) return no("AMX tiles multiply bfloat16 here, got ", call.dtype());
  const Support support = amx_support();
  return support ? readable(call) : support;
}

Support onednn_matmul(const KernelCall& call) {
  if (call.dtype() == DType::bf16 && !avx512_bf16_pays())
    return no("the processor has no avx512_bf16, or it is not faster than float32 there");
  if (call.dtype() != DType::f32 && call.dtype() != DType::bf16)
    return no("oneDNN has a fast matmul here for float32 and bfloat16, got ", call.dtype());
  if (Support support = readable(call); !support || call.dtype() == DType::bf16) return support;
  if (openblas_is_faster(plan_of<float>(call).whole)) return no("OpenBLAS is faster for a product of this size");
  return yes();
}

Support openblas_matmul(const KernelCall& call) {
  if (call.dtype() != DType::f32 && call.dtype() != DType::f64)
    return no("OpenBLAS multiplies float32 and float64, got ", call.dtype());
  return readable(call);
}

Support plain_matmul(const KernelCall& call) {
  if (!DTypeSet{DType::i32, DType::i64}.contains(call.dtype())) return no("for int32 and int64, got ", call.dtype());
  return readable(call);
}

Support widened_matmul(const KernelCall& call) {
  if (!DTypeSet{DType::f16, DType::bf16}.contains(call.dtype())) return no("for the 16-bit floats, got ", call.dtype());
  return readable(call);
}

Prepared prepare_jit(const KernelCall& call, Epilogue epilogue) {
  return prepare<float, TileProduct>(call, std::move(epilogue));
}

Prepared prepare_short_rows(const KernelCall& call, Epilogue epilogue) {
  return prepare<float, LibraryProduct<float, &short_rows_gemm>>(call, std::move(epilogue));
}
Prepared prepare_onednn(const KernelCall& call, Epilogue epilogue) {
  if (call.dtype() == DType::bf16)
    return prepare<BFloat16, LibraryProduct<BFloat16, &onednn_gemm>>(call, std::move(epilogue));
  return prepare<float, LibraryProduct<float, &onednn_gemm>>(call, std::move(epilogue));
}

Prepared prepare_openblas(const KernelCall& call, Epilogue epilogue) {
  if (call.dtype() == DType::f64)
    return prepare<double, LibraryProduct<double, &openblas_gemm>>(call, std::move(epilogue));
  return prepare<float, LibraryProduct<float, &openblas_gemm>>(call, std::move(epilogue));
}

Prepared prepare_amx(const KernelCall& call, Epilogue epilogue) {
  return prepare<BFloat16, LibraryProduct<BFloat16, &amx_gemm>>(call, std::move(epilogue));
}

Prepared prepare_widened(const KernelCall& call, Epilogue epilogue) {
  if (call.dtype() == DType::f16) return prepare<Half, LibraryProduct<Half, &widened_gemm>>(call, std::move(epilogue));
  return prepare<BFloat16, LibraryProduct<BFloat16, &widened_gemm>>(call, std::move(epilogue));
}

Prepared prepare_plain(const KernelCall& call, Epilogue epilogue) {
  if (call.dtype() == DType::i32)
    return prepare<std::int32_t, LibraryProduct<std::int32_t, &plain_gemm>>(call, std::move(epilogue));
  return prepare<std::int64_t, LibraryProduct<std::int64_t, &plain_gemm>>(call, std::move(epilogue));
}

}  // namespace

KernelList matmul_kernels() {
  return {product_kernel<short_rows_matmul, prepare_short_rows>("short_rows"),
          product_kernel<jit_matmul<false>, prepare_jit>("jit"),
          product_kernel<amx_matmul, prepare_amx>("amx"),
          product_kernel<onednn_matmul, prepare_onednn>("onednn"),
          product_kernel<openblas_matmul, prepare_openblas>("openblas"),
          product_kernel<widened_matmul, prepare_widened>("float32"),
          product_kernel<plain_matmul, prepare_plain>("plain")};
}

KernelList fused_matmul_kernels() {
  return {fused_product_kernel<short_rows_matmul, prepare_short_rows>("short_rows"),
          fused_product_kernel<jit_matmul<true>, prepare_jit>("jit"),
          fused_product_kernel<amx_matmul, prepare_amx>("amx"),
          fused_product_kernel<onednn_matmul, prepare_onednn>("onednn"),
          fused_product_kernel<openblas_matmul, prepare_openblas>("openblas"),
          fused_product_kernel<widened_matmul, prepare_widened>("float32"),
          fused_product_kernel<plain_matmul, prepare_plain>("plain"),
          fused_after<reference_matmul>()};
}

}  // namespace tandem::cpu
