// Convolutions on oneDNN: activations stay NHWC, the filter is brought into the order oneDNN likes, the batch is cut
// into slices that run on one thread each.
#include "tandem/backend/cpu/conv2d.h"

#include <array>
#include <cstring>
#include <string>

#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/halves.h"
#include "tandem/backend/cpu/library_kernels.h"
#include "tandem/backend/cpu/onednn.h"
#include "tandem/backend/cpu/reference/reference.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/base/cores.h"

namespace tandem::cpu {
namespace {

using dnnl::memory;
using Forward = dnnl::convolution_forward;
using InputGradient = dnnl::convolution_backward_data;
using FilterGradient = dnnl::convolution_backward_weights;

/// What oneDNN is told about one slice of a batch.
struct Descs {
  memory::desc input, filter, output;
  memory::dims strides, dilates, before, after;
};

/// How oneDNN names the axes of a filter: groups, if any, are an axis of their own.
memory::dims filter_dims(const ConvSizes& s) {
  if (s.groups == 1) return {s.out_channels, s.in_channels, s.rows.kernel, s.columns.kernel};
  return {s.groups, s.group_outputs(), s.group_inputs(), s.rows.kernel, s.columns.kernel};
}

/// The filter as it comes: [height, width, channels, outputs].
memory::desc filter_hwio(const ConvSizes& s) {
  return {filter_dims(s), memory::data_type::f32, s.groups == 1 ? memory::format_tag::hwio : memory::format_tag::hwigo};
}

Descs descs_of(const ConvSizes& s, std::int64_t images) {
  const auto f32 = memory::data_type::f32;
  const auto nhwc = memory::format_tag::nhwc;
  return {.input = {{images, s.in_channels, s.rows.input, s.columns.input}, f32, nhwc},
          .filter = {filter_dims(s), f32, memory::format_tag::any},
          .output = {{images, s.out_channels, s.rows.output, s.columns.output}, f32, nhwc},
          .strides = {s.rows.stride, s.columns.stride},
          .dilates = {s.rows.dilation - 1, s.columns.dilation - 1},
          .before = {s.rows.pad_before, s.columns.pad_before},
          .after = {s.rows.pad_after, s.columns.pad_after}};
}

Forward::primitive_desc forward_desc(const Descs& d) {
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, d.input, d.filter, d.output,
           d.strides, d.dilates, d.before, d.after},
          shared_attr(),
          onednn_engine()};
}
InputGradient::primitive_desc input_gradient_desc(const Descs& d) {
  return {{dnnl::algorithm::convolution_direct, d.input, d.filter, d.output, d.strides, d.dilates, d.before, d.after},
          shared_attr(),
          onednn_engine(),
          forward_desc(d)};
}
FilterGradient::primitive_desc filter_gradient_desc(const Descs& d) {
  return {{dnnl::algorithm::convolution_direct, d.input, d.filter, d.output, d.strides, d.dilates, d.before, d.after},
          shared_attr(),
          onednn_engine(),
          forward_desc(d)};
}

/// One primitive for whole slices, one for a shorter last slice, and the filter's layout both use.
struct SlicedConv {
  ConvSizes sizes;
  BatchSlices slices;
  memory::desc filter;
  SharedPrimitivePtr whole, rest;

  const SharedPrimitive& of(std::int64_t slice) const {
    const bool last_is_shorter = rest && slice == slices.count - 1;
    return last_is_shorter ? *rest : *whole;
  }
};

SharedPrimitivePtr make_primitive(const ConvSizes& sizes, ConvKind kind, std::int64_t images, memory::desc& filter) {
  const OneThread guard;
  Descs d = descs_of(sizes, images);
  if (!filter.is_zero()) d.filter = filter;  // the last slice must agree with the others
  if (kind == ConvKind::forward) {
    const auto pd = forward_desc(d);
    filter = pd.weights_desc();
    return share<Forward>(pd, {{DNNL_ARG_SRC, d.input}, {DNNL_ARG_WEIGHTS, filter}, {DNNL_ARG_DST, d.output}});
  }
  if (kind == ConvKind::input_gradient) {
    const auto pd = input_gradient_desc(d);
    filter = pd.weights_desc();
    return share<InputGradient>(
        pd, {{DNNL_ARG_DIFF_SRC, d.input}, {DNNL_ARG_WEIGHTS, filter}, {DNNL_ARG_DIFF_DST, d.output}});
  }
  const auto pd = filter_gradient_desc(d);
  filter = pd.diff_weights_desc();
  return share<FilterGradient>(
      pd, {{DNNL_ARG_SRC, d.input}, {DNNL_ARG_DIFF_WEIGHTS, filter}, {DNNL_ARG_DIFF_DST, d.output}});
}

SlicedConv sliced(const ConvSizes& sizes, ConvKind kind, std::int64_t most_slices) {
  SlicedConv conv{.sizes = sizes, .slices = slice_batch(sizes, most_slices)};
  conv.whole = make_primitive(sizes, kind, conv.slices.images, conv.filter);
  if (const std::int64_t left = sizes.batch % conv.slices.images; left != 0)
    conv.rest = make_primitive(sizes, kind, left, conv.filter);
  return conv;
}

std::string implementation(const ConvSizes& sizes, ConvKind kind) {
  const OneThread guard;
  const Descs d = descs_of(sizes, slice_batch(sizes, 1).images);
  if (kind == ConvKind::forward) return forward_desc(d).impl_info_str();
  if (kind == ConvKind::input_gradient) return input_gradient_desc(d).impl_info_str();
  return filter_gradient_desc(d).impl_info_str();
}

template <ConvKind kind>
Support onednn_conv(const KernelCall& call) {
  if (Support support = conv_basics(call); !support) return support;
  try {
    const std::string name = implementation(conv_sizes(call, kind), kind);
    if (is_reference(name)) return no("oneDNN has only a reference implementation (", name, ")");
  } catch (const dnnl::error& error) {
    return no("oneDNN refuses it: ", error.what());
  }
  return yes();
}

// 64 images of 28x28x3, 32 filters of 3x3: 16 slices and 8 slices are equally fast; 16 leave room for more cores.
constexpr std::int64_t kMostSlices = 16;

/// Forward and input gradient: (input, filter, output), one of the outer two is written.
class ConvOverFilter final : public PreparedKernel {
 public:
  ConvOverFilter(const ConvSizes& sizes, ConvKind kind, Epilogue epilogue = {})
      : conv_(sliced(sizes, kind, kMostSlices)),
        forward_(kind == ConvKind::forward),
        epilogue_(std::move(epilogue)) {
    if (const auto plain = filter_hwio(sizes); plain != conv_.filter) reorder_ = share_reorder(plain, conv_.filter);
  }

  void run(const KernelArgs& args) const override {
    // conv2d(input, filters) -> output; conv2d_backprop_input(filter, out_backprop) -> input gradient.
    const auto* filter = args.input<float>(forward_ ? 1 : 0);
    const auto* input = forward_ ? args.input<float>(0) : args.output<float>();
    const auto* output = forward_ ? args.output<float>() : args.input<float>(1);
    if (reorder_) {
      void* liked = scratch(ScratchUse::weights, conv_.filter.get_size());
      reorder_->execute(std::array<const void*, 2>{filter, liked});
      filter = static_cast<const float*>(liked);
    }
    parallel(conv_.slices.count, [&](std::int64_t slice) {
      const std::int64_t first = slice * conv_.slices.images;
      conv_.of(slice).execute(std::array<const void*, 3>{input + first * conv_.sizes.input_image(), filter,
                                                         output + first * conv_.sizes.output_image()});
      const std::int64_t positions = conv_.sizes.rows.output * conv_.sizes.columns.output;
      epilogue_.run(args, {.row = first * positions,
                           .rows = std::min(conv_.slices.images, conv_.sizes.batch - first) * positions,
                           .columns = conv_.sizes.out_channels});
    });
  }

 private:
  SlicedConv conv_;
  bool forward_;
  Epilogue epilogue_;
  SharedPrimitivePtr reorder_;
};

/// Filter gradient: every slice writes a partial sum, then they are added in the order of the slices.
class ConvFilterGradient final : public PreparedKernel {
 public:
  explicit ConvFilterGradient(const ConvSizes& sizes)
      : conv_(sliced(sizes, ConvKind::filter_gradient, most_partials(sizes))),
        reorder_(share_reorder(conv_.filter, filter_hwio(sizes))),
        partial_((conv_.filter.get_size() + 63) / 64 * 16) {}

  void run(const KernelArgs& args) const override {
    const std::int64_t count = conv_.slices.count;
    auto* partials = static_cast<float*>(scratch(ScratchUse::partials, count * partial_ * sizeof(float)));
    parallel(count, [&](std::int64_t slice) {
      const std::int64_t first = slice * conv_.slices.images;
      conv_.of(slice).execute(std::array<const void*, 3>{args.input<float>(0) + first * conv_.sizes.input_image(),
                                                         partials + slice * partial_,
                                                         args.input<float>(1) + first * conv_.sizes.output_image()});
    });
    const auto elements = static_cast<std::int64_t>(conv_.filter.get_size() / sizeof(float));
    parallel_ranges(elements, count * static_cast<std::int64_t>(sizeof(float)),
                    [&](std::int64_t begin, std::int64_t end) { add_partials(partials, count, begin, end); });
    reorder_->execute(std::array<const void*, 2>{partials, args.output<float>()});
  }

 private:
  /// All partial sums together stay within 16 MiB, unless two of them do not.
  static std::int64_t most_partials(const ConvSizes& sizes) {
    constexpr std::int64_t kElements = 4 << 20;
    return std::clamp<std::int64_t>(kElements / sizes.filter_elements(), 2, 8);
  }

  void add_partials(float* partials, std::int64_t count, std::int64_t begin, std::int64_t end) const {
    wide([&]() __attribute__((always_inline)) {
      for (std::int64_t slice = 1; slice < count; ++slice) {
        float* __restrict to = partials;
        const float* __restrict from = partials + slice * partial_;
        for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
      }
    });
  }

  SlicedConv conv_;
  SharedPrimitivePtr reorder_;
  std::int64_t partial_;  // floats from one partial sum to the next
};

}  // namespace

ConvSizes conv_sizes(const KernelCall& call, ConvKind kind) {
  const Shape& input = kind == ConvKind::input_gradient ? call.outputs[0].shape() : call.shape(0);
  const Shape& filter = kind == ConvKind::forward          ? call.shape(1)
                        : kind == ConvKind::input_gradient ? call.shape(0)
                                                           : call.outputs[0].shape();
  return {ConvGeometry::make(call.attr(), input, filter)};
}

Support conv_basics(const KernelCall& call, DType dtype) {
  if (call.dtype() != dtype) return no("for ", dtype, " only, got ", call.dtype());
  if (!all_dense(call)) return no("needs dense operands");
  for (const Operand& operand : call.inputs)
    if (operand.shape().elements() == 0) return no("nothing to compute: an operand is empty");
  if (call.outputs[0].shape().elements() == 0) return no("nothing to compute: the result is empty");
  return yes();
}

BatchSlices slice_batch(const ConvSizes& sizes, std::int64_t most) {
  constexpr std::int64_t kSliceWork = 1 << 20;  // multiply-adds worth waking a thread for
  const std::int64_t wanted =
      std::clamp<std::int64_t>(sizes.image_work() * sizes.batch / kSliceWork, 1, std::min(most, sizes.batch));
  const std::int64_t images = (sizes.batch + wanted - 1) / wanted;
  return {.images = images, .count = (sizes.batch + images - 1) / images};
}

static Prepared prepare_conv(const KernelCall& call, Epilogue epilogue) {
  return std::make_unique<ConvOverFilter>(conv_sizes(call, ConvKind::forward), ConvKind::forward, std::move(epilogue));
}

KernelList conv2d_kernels() {
  return {product_kernel<onednn_conv<ConvKind::forward>, prepare_conv>("onednn"),
          product_kernel<amx_conv<ConvKind::forward>, prepare_amx_conv>("amx")};
}

KernelList fused_conv2d_kernels() {
  return {fused_product_kernel<onednn_conv<ConvKind::forward>, prepare_conv>("onednn"),
          fused_product_kernel<amx_conv<ConvKind::forward>, prepare_amx_conv>("amx"),
          fused_after<widened_kernel<conv2d_kernels>>(), fused_after<reference_conv2d>()};
}

KernelList conv2d_backprop_input_kernels() {
  return {{"gemm", gemm_input_gradient, prepare_gemm_input_gradient},
          {"onednn", onednn_conv<ConvKind::input_gradient>,
           [](const KernelCall& call) -> Prepared {
             return std::make_unique<ConvOverFilter>(conv_sizes(call, ConvKind::input_gradient),
                                                     ConvKind::input_gradient);
           }},
          {"amx", amx_conv<ConvKind::input_gradient>, prepare_amx_input_gradient}};
}

KernelList conv2d_backprop_filter_kernels() {
  return {{"onednn", onednn_conv<ConvKind::filter_gradient>,
           [](const KernelCall& call) -> Prepared {
             return std::make_unique<ConvFilterGradient>(conv_sizes(call, ConvKind::filter_gradient));
           }},
          {"amx", amx_conv<ConvKind::filter_gradient>, prepare_amx_filter_gradient}};
}

}  // namespace tandem::cpu
