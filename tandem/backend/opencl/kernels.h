// The kernels of OpenCL devices, a list an op; and what they share.
#pragma once
#include "tandem/backend/opencl/context.h"
#include "tandem/backend/opencl/nest.h"
#include "tandem/kernel/kernel.h"

namespace tandem::opencl {

inline constexpr std::string_view kNoFloat64 = "the device has no float64";

/// No for float64 operands where the device has none.
Support dtypes_supported(const KernelCall& call);
/// No for uint64, too: for kernels that compare lanes.
Support ordered_dtypes_supported(const KernelCall& call);

KernelList elementwise_kernels();
KernelList random_kernels();
KernelList reduction_kernels();
KernelList argmax_kernels();
KernelList softmax_kernels();        // softmax, log_softmax
KernelList softmax_grad_kernels();   // of these two
KernelList cross_entropy_kernels();  // and their gradients
KernelList matmul_kernels();
KernelList fused_matmul_kernels();
KernelList conv2d_kernels();
KernelList fused_conv2d_kernels();
KernelList conv2d_backprop_input_kernels();
KernelList conv2d_backprop_filter_kernels();
KernelList max_pool2d_kernels();
KernelList max_pool2d_grad_kernels();
KernelList max_pool_with_argmax_kernels();
KernelList avg_pool2d_kernels();
KernelList avg_pool2d_grad_kernels();
KernelList transpose_kernels();
KernelList concat_kernels();
KernelList slice_kernels();
KernelList pad_kernels();
KernelList broadcast_to_kernels();
KernelList gather_kernels();
KernelList gather_grad_kernels();
KernelList one_hot_kernels();
KernelList fill_kernels();
KernelList range_kernels();

KernelTable kernel_table();

/// Elements moved from one buffer to another, each with strides of its own.
class StridedCopy {
 public:
  /// `axes` has two operands: from, to.
  StridedCopy(Context& context, std::size_t element_bytes, const Axes& axes);
  /// Offsets in elements.
  void run(const void* from, std::int64_t from_offset, void* to, std::int64_t to_offset) const;

 private:
  Context* context_;
  std::vector<std::int64_t> words_;
  std::int64_t items_ = 0, batch_ = 1;
  KernelFunction kernel_;
};

/// Every element the same. A kernel of our own, because clEnqueueFillBuffer uses one core of a CPU-type device.
class Filling {
 public:
  Filling(Context& context, DType dtype, std::int64_t elements);
  Filling(Context& context, const TensorSpec& spec) : Filling(context, spec.dtype(), spec.shape().elements()) {}
  void run(void* to, double value) const;
  /// The element as it lies in memory.
  void run_bits(void* to, const void* bits) const;

 private:
  Context* context_;
  DType dtype_;
  std::int64_t elements_;
  KernelFunction kernel_;
};

/// The bits of `value` as an element of `dtype`.
std::array<unsigned char, 8> element_bits(DType dtype, double value);

/// Sums kept as lanes, rounded to the dtype of the result: for dtypes that are narrower than their lanes.
class Narrowing {
 public:
  Narrowing(Context& context, DType dtype, std::int64_t elements);
  bool needed() const { return needed_; }
  void run(const void* lanes, void* to) const;

 private:
  Context* context_;
  bool needed_;
  std::int64_t elements_;
  KernelFunction kernel_;
};

/// `long i` runs over the part of 0..count-1 that belongs to the work-item.
inline constexpr std::string_view kForEach = R"(
#define FOR_EACH(i, count, per_item) \
  for (long i = ITEM * (per_item), i##_end = min((long)(count), i + (per_item)); i < i##_end; ++i)
)";
inline std::int64_t blocks(std::int64_t count, std::int64_t per_block) { return (count + per_block - 1) / per_block; }

}  // namespace tandem::opencl
