// A convolution that reads the patches of the image where they lie: a work-item makes tiles of 6 pixels by two vectors
// of channels.
#pragma once
#include <optional>

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
  /// Results are of the same dtype unless another one with the same lanes is given.
  Convolve(Context& context, DType dtype, const ConvGeometry& geometry, Epilogue epilogue = {},
           std::optional<DType> result = {});

  /// Elements that a result is made of.
  std::int64_t patch() const { return g_.rows.kernel * g_.columns.kernel * g_.group_inputs(); }
  std::size_t panel_bytes() const {
    return static_cast<std::size_t>(g_.groups * packed_elements(g_.group_outputs(), patch(), kPanelColumns)) *
           packed_bytes(dtype_);
  }
  /// Are filters[patch][outputs] so few that they need not be packed?
  bool reads_in_place() const;
  Filters in_place(const void* filters) const { return {filters, g_.out_channels, kPanelColumns}; }
  /// Packed as panels[groups][outputs/16][patch][16].
  Filters packed(const void* panels) const { return {panels, kPanelColumns, patch() * kPanelColumns}; }

  /// Some images of x, whose results are the first ones of y; all of them by default.
  struct Images {
    std::int64_t first, count;
  };
  /// `args` are those of the fused region when there is an epilogue.
  void run(const void* x, const Filters& filters, void* y, const KernelArgs& args) const {
    run(x, filters, y, args, {0, g_.batch});
  }
  void run(const void* x, const Filters& filters, void* y, const KernelArgs& args, const Images& images) const;

 private:
  Context* context_;
  DType dtype_;
  ConvGeometry g_;
  int lanes_;  // of a vector of the tiles
  Epilogue epilogue_;
  KernelFunction kernel_;
};

}  // namespace tandem::opencl
