// A convolution that reads the patches of the image where they lie: a work-item makes a tile of 6 pixels by 16 channels.
#pragma once
#include "tandem/backend/opencl/conv2d.h"
#include "tandem/backend/opencl/gemm.h"

namespace tandem::opencl {

/// y[pixels, outputs] = patches of x times the filters; each group of outputs has its own channels of x.
class Convolve {
 public:
  /// Sixteen outputs are a panel, which has a line for each element of the patch.
  struct Filters {
    const void* buffer;
    std::int64_t step, panel;  // elements from one line to the next, and from one panel to the next
  };
  Convolve(Context& context, DType dtype, const ConvGeometry& geometry, Epilogue epilogue = {});

  /// Elements that a result is made of.
  std::int64_t patch() const { return g_.rows.kernel * g_.columns.kernel * g_.group_inputs(); }
  std::size_t panel_bytes() const {
    return static_cast<std::size_t>(g_.groups * packed_elements(g_.group_outputs(), patch(), kTileColumns)) * packed_bytes(dtype_);
  }
  /// Are filters[patch][outputs] so few that they need not be packed?
  bool reads_in_place() const;
  Filters in_place(const void* filters) const { return {filters, g_.out_channels, kTileColumns}; }
  /// Packed as panels[groups][outputs/16][patch][16].
  Filters packed(const void* panels) const { return {panels, kTileColumns, patch() * kTileColumns}; }

  /// `args` are those of the fused region when there is an epilogue.
  void run(const void* x, const Filters& filters, void* y, const KernelArgs& args) const;

 private:
  Context* context_;
  DType dtype_;
  ConvGeometry g_;
  Epilogue epilogue_;
  KernelFunction kernel_;
};

}  // namespace tandem::opencl
