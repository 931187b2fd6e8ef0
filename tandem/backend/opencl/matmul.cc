// Matrix products: leading axes broadcast, transposes vanish in the packing. Two families, by what the device is:
// CLBlast for GPUs, tiles of our own for CPU-type devices, which read small and narrow matrices where they lie and pack
// others.
#include "tandem/backend/opencl/clblast.h"
#include "tandem/backend/opencl/gemm.h"

namespace tandem::opencl {
namespace {

/// The matrices of one operand.
struct Side {
  std::int64_t rows, columns, row_stride, column_stride, count = 1;
  bool empty = false;

  Side(const Operand& operand, bool transposed) {
    const int rank = operand.shape().rank();
    const int r = rank - (transposed ? 1 : 2), c = rank - (transposed ? 2 : 1);
    rows = operand.shape()[r];
    columns = operand.shape()[c];
    row_stride = operand.strides[static_cast<std::size_t>(r)];
    column_stride = operand.strides[static_cast<std::size_t>(c)];
    for (int i = 0; i < rank - 2; ++i) count *= operand.shape()[i];
  }
  std::int64_t size() const { return rows * columns; }
};

/// How many matrices of `operand` lie between neighbours along each leading axis of the result; 0 where it is
/// broadcast.
void batch_strides(const Operand& operand, const Shape& out, std::int64_t* strides) {
  const int extra = out.rank() - operand.shape().rank();
  std::int64_t stride = 1;
  for (int i = out.rank() - 3; i >= 0; --i) {
    const std::int64_t size = i < extra ? 1 : operand.shape()[i - extra];
    strides[i] = size == 1 ? 0 : stride;
    stride *= size;
  }
}

Batch batch_of(const KernelCall& call) {
  const Shape& out = call.outputs[0].shape();
  Batch batch;
  batch.words[0] = out.rank() - 2;
  for (int i = 0; i < out.rank() - 2; ++i) {
    batch.words[static_cast<std::size_t>(1 + i)] = out[i];
    batch.count *= out[i];
  }
  batch_strides(call.inputs[0], out, &batch.words[1 + kMaxRank]);
  batch_strides(call.inputs[1], out, &batch.words[1 + 2 * kMaxRank]);
  return batch;
}

/// What a product multiplies.
struct Product {
  Side a, b;
  Batch batch;

  explicit Product(const KernelCall& call)
      : a(call.inputs[0], call.attr().boolean("transpose_a")),
        b(call.inputs[1], call.attr().boolean("transpose_b")),
        batch(batch_of(call)) {}
  std::array<std::int64_t, 3> mnk() const { return {a.rows, b.columns, a.columns}; }
  Matrix left(const KernelArgs& args) const { return {args.inputs[0], 0, a.row_stride, a.column_stride}; }
  Matrix right(const KernelArgs& args) const { return {args.inputs[1], 0, b.row_stride, b.column_stride}; }
};

class MatmulKernel final : public PreparedKernel {
 public:
  explicit MatmulKernel(const KernelCall& call, Epilogue epilogue = {})
      : gemm_(context_of(call), call.dtype(), std::move(epilogue)),
        product_(call),
        empty_(call.outputs[0].shape().elements() == 0) {}

  void run(const KernelArgs& args) const override {
    if (empty_) return;
    const auto& [a_side, b_side, batch] = product_;
    const auto [m, n, depth] = product_.mnk();
    const std::size_t lane = packed_bytes(gemm_.dtype());
    BufferPool& pool = gemm_.context().pool();
    const Scratch a(pool, static_cast<std::size_t>(a_side.count * packed_elements(m, depth, kTileRows)) * lane);
    const Scratch b(pool, static_cast<std::size_t>(b_side.count * packed_elements(n, depth, kPanelColumns)) * lane);
    if (depth > 0) {
      gemm_.pack_a(product_.left(args), m, depth, a.get(), a_side.count, a_side.size());
      gemm_.pack_b(product_.right(args), depth, n, b.get(), b_side.count, b_side.size());
    }
    gemm_.multiply(a.get(), b.get(), args.outputs[0], 0, m, n, depth, batch, false, args);
  }

 private:
  Gemm gemm_;
  Product product_;
  bool empty_;
};

// --- Small products ---

/// Rows of a up to which reading b in place, from further away each time, beats packing it once.
constexpr std::int64_t kFewRows = 48;
/// Bytes of b that stay in a core's own cache wherever they lie.
constexpr std::int64_t kSmallBytes = 64 * 1024;

Support direct_supported(const KernelCall& call) {
  if (Support dtypes = dtypes_supported(call); !dtypes) return dtypes;
  const Side a(call.inputs[0], call.attr().boolean("transpose_a")),
      b(call.inputs[1], call.attr().boolean("transpose_b"));
  if (b.column_stride != 1) return no("the columns of the right side are not neighbours");
  const bool small = b.size() * static_cast<std::int64_t>(dtype_size(call.dtype())) <= kSmallBytes;
  if (a.rows > kFewRows && !small) return no("packing pays for so many rows");
  return call.outputs[0].shape().elements() == 0 ? no("there is nothing to multiply") : yes();
}

class DirectMatmul final : public PreparedKernel {
 public:
  explicit DirectMatmul(const KernelCall& call, Epilogue epilogue = {})
      : gemm_(context_of(call), call.dtype(), std::move(epilogue)),
        product_(call) {}

  void run(const KernelArgs& args) const override {
    gemm_.multiply_in_place(product_.left(args), product_.right(args), args.outputs[0], product_.mnk(), product_.batch,
                            args);
  }

 private:
  Gemm gemm_;
  Product product_;
};

// --- Few columns ---

/// Elements of a from which a second launch, for packing b, is worth while.
constexpr std::int64_t kManyElements = 64 * 1024;

Support narrow_supported(const KernelCall& call) {
  if (Support dtypes = dtypes_supported(call); !dtypes) return dtypes;
  const Side a(call.inputs[0], call.attr().boolean("transpose_a")),
      b(call.inputs[1], call.attr().boolean("transpose_b"));
  if (b.columns > kPanelColumns) return no("the right side has more than ", kPanelColumns, " columns");
  // Sums of 16 bits would be rounded between blocks.
  if (packed_bytes(call.dtype()) != dtype_size(call.dtype())) return no(call.dtype(), " is widened when it is packed");
  if (a.size() < kManyElements) return no("one launch does so little sooner");
  return call.outputs[0].shape().elements() == 0 ? no("there is nothing to multiply") : yes();
}

class NarrowMatmul final : public PreparedKernel {
 public:
  explicit NarrowMatmul(const KernelCall& call, Epilogue epilogue = {})
      : gemm_(context_of(call), call.dtype(), std::move(epilogue)),
        product_(call) {}

  void run(const KernelArgs& args) const override {
    gemm_.multiply_narrow(product_.left(args), product_.right(args), product_.b.count, args.outputs[0], product_.mnk(),
                          product_.batch, args);
  }

 private:
  Gemm gemm_;
  Product product_;
};

// --- CLBlast ---

/// Rows of a when all its matrices stand below one another and meet the same b; 0 when the products are several.
std::int64_t rows_of_one_product(const KernelCall& call) {
  const bool transposed = call.attr().boolean("transpose_a");
  const Side a(call.inputs[0], transposed), b(call.inputs[1], call.attr().boolean("transpose_b"));
  if (b.count != 1 || (a.count != 1 && transposed)) return 0;
  return a.rows * a.count;
}

Support clblast_supported(const KernelCall& call) {
  if (!context_of(call).traits().clblast) return no("CLBlast is for GPUs");
  if (call.dtype() != DType::f32) return no("CLBlast multiplies float32 here, got ", call.dtype());
  if (!Clblast::find()) return no("CLBlast is not installed (libclblast.so.1)");
  for (const Operand& operand : call.inputs) {
    const Side side(operand, false);
    if (side.row_stride != side.columns || side.column_stride != 1) return no("CLBlast needs matrices side by side");
    if (operand.shape().elements() == 0) return no("there is nothing to multiply");
  }
  return rows_of_one_product(call) == 0 ? no("the products are several") : yes();
}

class ClblastMatmul final : public PreparedKernel {
 public:
  explicit ClblastMatmul(const KernelCall& call)
      : context_(context_of(call)),
        transpose_a_(call.attr().boolean("transpose_a")),
        transpose_b_(call.attr().boolean("transpose_b")),
        m_(static_cast<std::size_t>(rows_of_one_product(call))),
        n_(static_cast<std::size_t>(Side(call.inputs[1], transpose_b_).columns)),
        k_(static_cast<std::size_t>(Side(call.inputs[1], transpose_b_).rows)) {}

  void run(const KernelArgs& args) const override {
    const ClblastMatrix a{static_cast<const Buffer*>(args.inputs[0]), transpose_a_, transpose_a_ ? m_ : k_};
    const ClblastMatrix b{static_cast<const Buffer*>(args.inputs[1]), transpose_b_, transpose_b_ ? k_ : n_};
    Clblast::find()->multiply(context_, a, b, *static_cast<Buffer*>(args.outputs[0]), {m_, n_, k_});
  }

 private:
  Context& context_;
  bool transpose_a_, transpose_b_;
  std::size_t m_, n_, k_;
};

/// A product whose rest is computed where its sums are stored.
template <class Matmul, Support (*supported)(const KernelCall&)>
Kernel with_epilogue(std::string_view name) {
  return {.name = name,
          .supports =
              [](const KernelCall& call) {
                const Support rest = dtypes_supported(call);
                return rest ? supported(ProductCall(call).call()) : rest;
              },
          .prepare = [](const KernelCall& call) -> Prepared {
            return std::make_unique<Matmul>(ProductCall(call).call(), Epilogue(call));
          }};
}

}  // namespace

KernelList matmul_kernels() {
  return {{.name = "opencl CLBlast",
           .supports = clblast_supported,
           .prepare = [](const KernelCall& call) -> Prepared { return std::make_unique<ClblastMatmul>(call); }},
          {.name = "opencl narrow",
           .supports = narrow_supported,
           .prepare = [](const KernelCall& call) -> Prepared { return std::make_unique<NarrowMatmul>(call); }},
          {.name = "opencl direct",
           .supports = direct_supported,
           .prepare = [](const KernelCall& call) -> Prepared { return std::make_unique<DirectMatmul>(call); }},
          {.name = "opencl packed", .supports = dtypes_supported, .prepare = [](const KernelCall& call) -> Prepared {
             return std::make_unique<MatmulKernel>(call);
           }}};
}

KernelList fused_matmul_kernels() {
  return {{.name = "product, then loop",
           .supports =
               [](const KernelCall& call) {
                 return product_and_rest_supported(call, matmul_kernels(),
                                                   {"opencl narrow", "opencl direct", "opencl packed"});
               },
           .prepare = [](const KernelCall& call) { return prepare_product_and_rest(call, matmul_kernels()); }},
          with_epilogue<NarrowMatmul, narrow_supported>("opencl narrow"),
          with_epilogue<DirectMatmul, direct_supported>("opencl direct"),
          {.name = "opencl packed", .supports = dtypes_supported, .prepare = [](const KernelCall& call) -> Prepared {
             return std::make_unique<MatmulKernel>(ProductCall(call).call(), Epilogue(call));
           }}};
}

}  // namespace tandem::opencl
