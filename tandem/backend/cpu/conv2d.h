// What the kernels of 2-D convolutions share: sizes, what they all need, slices of the batch.
#pragma once
#include "tandem/backend/cpu/epilogue.h"
#include "tandem/kernel/kernel.h"
#include "tandem/op/window.h"

namespace tandem::cpu {

enum class ConvKind { forward, input_gradient, filter_gradient };

/// The geometry, and the work a slice of the batch is measured by.
struct ConvSizes : ConvGeometry {
  /// Multiply-adds of one image.
  std::int64_t image_work() const { return output_image() * rows.kernel * columns.kernel * group_inputs(); }
};

ConvSizes conv_sizes(const KernelCall& call, ConvKind kind);

/// What every fast kernel here needs: its dtype, dense, no empty operand.
Support conv_basics(const KernelCall& call, DType dtype = DType::f32);

/// The batch in slices of equal work; the last may have fewer images.
struct BatchSlices {
  std::int64_t images = 0;  // a slice
  std::int64_t count = 0;
};
BatchSlices slice_batch(const ConvSizes& sizes, std::int64_t most);

/// The input gradient as one product and a scatter; for few input channels.
Support gemm_input_gradient(const KernelCall& call);
Prepared prepare_gemm_input_gradient(const KernelCall& call);
/// The same for any channels and strides; `dtype` is f32, or bf16 on AMX tiles.
Prepared scattered_input_gradient(const ConvSizes& sizes, DType dtype);

/// Products of bfloat16 on AMX tiles.
template <ConvKind kind>
Support amx_conv(const KernelCall& call);
Prepared prepare_amx_conv(const KernelCall& call, Epilogue epilogue);
Prepared prepare_amx_input_gradient(const KernelCall& call);
Prepared prepare_amx_filter_gradient(const KernelCall& call);

}  // namespace tandem::cpu
