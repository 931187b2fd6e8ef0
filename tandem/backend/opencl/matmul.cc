// Matrix products: leading axes broadcast, transposes vanish in the packing.
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

/// How many matrices of `operand` lie between neighbours along each leading axis of the result; 0 where it is broadcast.
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

class MatmulKernel final : public PreparedKernel {
 public:
  explicit MatmulKernel(const KernelCall& call, Epilogue epilogue = {})
      : gemm_(context_of(call), call.dtype(), std::move(epilogue)),
        a_(call.inputs[0], call.attr().boolean("transpose_a")),
        b_(call.inputs[1], call.attr().boolean("transpose_b")),
        batch_(batch_of(call)),
        empty_(call.outputs[0].shape().elements() == 0) {}

  void run(const KernelArgs& args) const override {
    if (empty_) return;
    const std::int64_t m = a_.rows, depth = a_.columns, n = b_.columns;
    const std::size_t lane = packed_bytes(gemm_.dtype());
    BufferPool& pool = gemm_.context().pool();
    const Scratch a(pool, static_cast<std::size_t>(a_.count * packed_elements(m, depth, kTileRows)) * lane);
    const Scratch b(pool, static_cast<std::size_t>(b_.count * packed_elements(n, depth, kTileColumns)) * lane);
    if (depth > 0) {
      gemm_.pack_a({args.inputs[0], 0, a_.row_stride, a_.column_stride}, m, depth, a.get(), a_.count, a_.size());
      gemm_.pack_b({args.inputs[1], 0, b_.row_stride, b_.column_stride}, depth, n, b.get(), b_.count, b_.size());
    }
    gemm_.multiply(a.get(), b.get(), args.outputs[0], 0, m, n, depth, batch_, false, args);
  }

 private:
  Gemm gemm_;
  Side a_, b_;
  Batch batch_;
  bool empty_;
};

}  // namespace

KernelList matmul_kernels() {
  return {{.name = "opencl packed", .supports = dtypes_supported, .prepare = [](const KernelCall& call) -> Prepared {
             return std::make_unique<MatmulKernel>(call);
           }}};
}

KernelList fused_matmul_kernels() {
  return {{.name = "product, then loop",
           .supports = [](const KernelCall& call) { return product_and_rest_supported(call, matmul_kernels(), "opencl packed"); },
           .prepare = [](const KernelCall& call) { return prepare_product_and_rest(call, matmul_kernels()); }},
          {.name = "opencl packed", .supports = dtypes_supported, .prepare = [](const KernelCall& call) -> Prepared {
             return std::make_unique<MatmulKernel>(ProductCall(call).call(), Epilogue(call));
           }}};
}

}  // namespace tandem::opencl
