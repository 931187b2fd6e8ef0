// Convolution: filters packed into panels unless they are few, patches read where they lie.
#include "tandem/backend/opencl/convolve.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

class Conv2d final : public PreparedKernel {
 public:
  explicit Conv2d(const KernelCall& call, Epilogue epilogue = {})
      : context_(context_of(call)),
        pack_(context_.kernel(packing_source(call.dtype()), "pack_b")),
        g_(conv_geometry(call, ConvKind::forward)),
        convolve_(context_of(call), call.dtype(), g_, std::move(epilogue)),
        empty_(call.outputs[0].shape().elements() == 0) {}

  void run(const KernelArgs& args) const override {
    if (empty_) return;
    if (convolve_.reads_in_place())
      return convolve_.run(args.inputs[0], convolve_.in_place(args.inputs[1]), args.outputs[0], args);
    const Scratch panels(context_.pool(), convolve_.panel_bytes());
    if (convolve_.patch())
      launch_pack_b(context_, pack_, {args.inputs[1], 0, g_.out_channels, 1}, convolve_.patch(), g_.group_outputs(),
                    panels.get(), g_.groups, g_.group_outputs());
    convolve_.run(args.inputs[0], convolve_.packed(panels.get()), args.outputs[0], args);
  }

 private:
  Context& context_;
  KernelFunction pack_;
  ConvGeometry g_;
  Convolve convolve_;
  bool empty_;
};

}  // namespace

ConvGeometry conv_geometry(const KernelCall& call, ConvKind kind) {
  switch (kind) {
    case ConvKind::forward: return ConvGeometry::make(call.attr(), call.shape(0), call.shape(1));
    case ConvKind::input_gradient: return ConvGeometry::make(call.attr(), call.outputs[0].shape(), call.shape(0));
    default: return ConvGeometry::make(call.attr(), call.shape(0), call.outputs[0].shape());
  }
}

std::array<std::int64_t, 13> image_words(const ConvGeometry& g) {
  return {g.rows.input,       g.columns.input,   g.in_channels,       g.rows.output,    g.columns.output,
          g.rows.kernel,      g.columns.kernel,  g.rows.stride,       g.columns.stride, g.rows.dilation,
          g.columns.dilation, g.rows.pad_before, g.columns.pad_before};
}

KernelList conv2d_kernels() { return packed_or_depthwise<Conv2d, ConvKind::forward>(); }
KernelList fused_conv2d_kernels() {
  return {
      {.name = "product, then loop",
       .supports =
           [](const KernelCall& call) { return product_and_rest_supported(call, conv2d_kernels(), {"opencl packed"}); },
       .prepare = [](const KernelCall& call) { return prepare_product_and_rest(call, conv2d_kernels()); }},
      {.name = "opencl packed", .supports = dtypes_supported, .prepare = [](const KernelCall& call) -> Prepared {
         return std::make_unique<Conv2d>(ProductCall(call).call(), Epilogue(call));
       }}};
}

}  // namespace tandem::opencl
