// The sizes of a 2-D convolution, the same for the forward op and both gradients.
#pragma once
#include "tandem/kernel/kernel.h"
#include "tandem/op/window.h"

namespace tandem::cpu {

enum class ConvKind { forward, input_gradient, filter_gradient };

/// Input (batch, rows.input, columns.input, in_channels), filter (rows.kernel, columns.kernel, in_channels, out_channels),
/// output (batch, rows.output, columns.output, out_channels).
struct ConvSizes {
  std::int64_t batch = 0, in_channels = 0, out_channels = 0;
  Window rows, columns;

  std::int64_t input_image() const { return rows.input * columns.input * in_channels; }
  std::int64_t output_image() const { return rows.output * columns.output * out_channels; }
  std::int64_t filter_elements() const { return rows.kernel * columns.kernel * in_channels * out_channels; }
  /// Multiply-adds of one image.
  std::int64_t image_work() const { return output_image() * rows.kernel * columns.kernel * in_channels; }
};

ConvSizes conv_sizes(const KernelCall& call, ConvKind kind);

/// What every fast kernel here needs: f32, dense, no groups, no empty operand.
Support conv_basics(const KernelCall& call, ConvKind kind);

/// The batch in slices of equal work; the last may have fewer images.
struct BatchSlices {
  std::int64_t images = 0;  // a slice
  std::int64_t count = 0;
};
BatchSlices slice_batch(const ConvSizes& sizes, std::int64_t most);

/// The input gradient as one product and a scatter; for few input channels.
Support gemm_input_gradient(const KernelCall& call);
Prepared prepare_gemm_input_gradient(const KernelCall& call);

}  // namespace tandem::cpu
