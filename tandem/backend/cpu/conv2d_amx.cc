// Convolutions of bfloat16 as products on AMX tiles. The windows of some hundred outputs are laid side by side, a row
// each, and multiplied by the filter as it comes. The input gradient with strides of one is a convolution with the
// filter turned around.
#include <algorithm>
#include <cstring>

#include "tandem/backend/cpu/amx.h"
#include "tandem/backend/cpu/conv2d.h"
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/halves.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/base/cores.h"

namespace tandem::cpu {
namespace {

// 16 slices as for oneDNN; a slice of a filter gradient has a partial sum of its own.
constexpr std::int64_t kMostSlices = 16, kMostPartials = 8;

template <class T>
T* take(ScratchUse use, std::int64_t elements) {
  return static_cast<T*>(scratch(use, static_cast<std::size_t>(elements) * sizeof(T)));
}

std::int64_t positions(const ConvSizes& s) { return s.rows.output * s.columns.output; }
/// Elements of a window: rows of the filter seen as a matrix [window, out_channels].
std::int64_t window(const ConvSizes& s) { return s.rows.kernel * s.columns.kernel * s.in_channels; }

/// The window of one output, zeros where it leaves the image.
void copy_window(const ConvSizes& s, const BFloat16* image, std::int64_t out_row, std::int64_t out_column,
                 BFloat16* to) {
  const std::int64_t channels = s.in_channels, run = s.columns.kernel * channels;
  const std::int64_t top = out_row * s.rows.stride - s.rows.pad_before,
                     left = out_column * s.columns.stride - s.columns.pad_before;
  const bool whole_runs = s.columns.dilation == 1 && left >= 0 && left + s.columns.kernel <= s.columns.input;
  for (std::int64_t kr = 0; kr < s.rows.kernel; ++kr, to += run) {
    const std::int64_t row = top + kr * s.rows.dilation;
    if (row < 0 || row >= s.rows.input) {
      std::memset(static_cast<void*>(to), 0, static_cast<std::size_t>(run) * sizeof(BFloat16));
      continue;
    }
    const BFloat16* line = image + row * s.columns.input * channels;
    if (whole_runs) {
      std::memcpy(static_cast<void*>(to), line + left * channels, static_cast<std::size_t>(run) * sizeof(BFloat16));
      continue;
    }
    for (std::int64_t kc = 0; kc < s.columns.kernel; ++kc) {
      const std::int64_t column = left + kc * s.columns.dilation;
      if (column >= 0 && column < s.columns.input) std::copy_n(line + column * channels, channels, to + kc * channels);
      else std::fill_n(to + kc * channels, channels, BFloat16());
    }
  }
}

/// Some outputs of several images in a row, and their windows [outputs, window].
struct Windows {
  std::int64_t first, count;
  const BFloat16* at;
};

/// body(windows) for the outputs of `images` images, so many at a time that products are worth packing the filter for.
template <class Body>
void for_windows(const ConvSizes& s, const BFloat16* input, std::int64_t images, const Body& body) {
  const std::int64_t each = window(s), all = images * positions(s);
  const bool in_place = each == s.in_channels && positions(s) == s.rows.input * s.columns.input &&
                        s.rows.pad_before == 0 && s.columns.pad_before == 0;
  if (in_place) return body(Windows{0, all, input});
  constexpr std::int64_t kMost = 512, kLeast = 64, kElements = 4 << 20;
  const std::int64_t at_once = std::min(all, std::clamp(kElements / each / kLeast * kLeast, kLeast, kMost));
  auto* rows = take<BFloat16>(ScratchUse::columns, at_once * each);
  for (std::int64_t first = 0; first < all; first += at_once) {
    const std::int64_t count = std::min(at_once, all - first);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t image = (first + i) / positions(s), position = (first + i) % positions(s);
      copy_window(s, input + image * s.input_image(), position / s.columns.output, position % s.columns.output,
                  rows + i * each);
    }
    body(Windows{first, count, rows});
  }
}

struct Images {
  std::int64_t first, count;
};
Images images_of(const ConvSizes& s, const BatchSlices& slices, std::int64_t slice) {
  const std::int64_t first = slice * slices.images;
  return {first, std::min(slices.images, s.batch - first)};
}

/// `input` [images, …] convolved with `filter` [window, out_channels].
void convolve(const ConvSizes& s, const BFloat16* input, std::int64_t images, const BFloat16* filter,
              BFloat16* output) {
  for_windows(s, input, images, [&](const Windows& windows) {
    amx_gemm(Gemm<BFloat16>{.m = windows.count,
                            .n = s.out_channels,
                            .k = window(s),
                            .a = windows.at,
                            .lda = window(s),
                            .b = filter,
                            .ldb = s.out_channels,
                            .c = output + windows.first * s.out_channels,
                            .ldc = s.out_channels});
  });
}

class Forward final : public PreparedKernel {
 public:
  Forward(const ConvSizes& sizes, Epilogue epilogue)
      : s_(sizes),
        slices_(slice_batch(sizes, kMostSlices)),
        epilogue_(std::move(epilogue)) {}

  void run(const KernelArgs& args) const override {
    parallel(slices_.count, [&](std::int64_t slice) {
      const Images images = images_of(s_, slices_, slice);
      convolve(s_, args.input<BFloat16>(0) + images.first * s_.input_image(), images.count, args.input<BFloat16>(1),
               args.output<BFloat16>() + images.first * s_.output_image());
      epilogue_.run(
          args,
          {.row = images.first * positions(s_), .rows = images.count * positions(s_), .columns = s_.out_channels});
    });
  }

 private:
  ConvSizes s_;
  BatchSlices slices_;
  Epilogue epilogue_;
};

/// Strides of one: what reached an input is a window of the output's gradient.
class InputGradient final : public PreparedKernel {
 public:
  explicit InputGradient(const ConvSizes& sizes) : s_(turned(sizes)), slices_(slice_batch(s_, kMostSlices)) {}

  void run(const KernelArgs& args) const override {
    auto* filter = take<BFloat16>(ScratchUse::weights, s_.filter_elements());
    turn_filter(args.input<BFloat16>(0), filter);
    parallel(slices_.count, [&](std::int64_t slice) {
      const Images images = images_of(s_, slices_, slice);
      convolve(s_, args.input<BFloat16>(1) + images.first * s_.input_image(), images.count, filter,
               args.output<BFloat16>() + images.first * s_.output_image());
    });
  }

 private:
  static Window turned(const Window& w) {
    const std::int64_t reach = (w.kernel - 1) * w.dilation;
    return {.input = w.output,
            .output = w.input,
            .kernel = w.kernel,
            .dilation = w.dilation,
            .pad_before = reach - w.pad_before,
            .pad_after = reach - w.pad_after};
  }
  static ConvSizes turned(const ConvSizes& s) {
    ConvSizes t = s;
    t.rows = turned(s.rows);
    t.columns = turned(s.columns);
    std::swap(t.in_channels, t.out_channels);
    return t;
  }
  /// [taps, channels, outputs] to [taps from the last on, outputs, channels].
  void turn_filter(const BFloat16* from, BFloat16* to) const {
    constexpr std::int64_t kBlock = 16;
    const std::int64_t taps = s_.rows.kernel * s_.columns.kernel, channels = s_.out_channels, outputs = s_.in_channels;
    parallel_ranges(taps, channels * outputs * 2, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t tap = first; tap < last; ++tap) {
        const BFloat16* plane = from + (taps - 1 - tap) * channels * outputs;
        BFloat16* turned = to + tap * channels * outputs;
        for (std::int64_t o = 0; o < outputs; o += kBlock)
          for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t i = o; i < std::min(o + kBlock, outputs); ++i)
              turned[i * channels + c] = plane[c * outputs + i];
      }
    });
  }

  ConvSizes s_;  // of the convolution that gives the gradient
  BatchSlices slices_;
};

/// A float sum for each slice, added in the order of the slices.
class FilterGradient final : public PreparedKernel {
 public:
  explicit FilterGradient(const ConvSizes& sizes) : s_(sizes), slices_(slice_batch(sizes, most_partials(sizes))) {}

  void run(const KernelArgs& args) const override {
    const std::int64_t elements = s_.filter_elements();
    auto* partials = take<float>(ScratchUse::partials, slices_.count * elements);
    parallel(slices_.count, [&](std::int64_t slice) {
      const Images images = images_of(s_, slices_, slice);
      const BFloat16* gradient = args.input<BFloat16>(1) + images.first * s_.output_image();
      for_windows(s_, args.input<BFloat16>(0) + images.first * s_.input_image(), images.count,
                  [&](const Windows& windows) {
                    amx_gemm(Gemm<BFloat16, float>{.m = window(s_),
                                                   .n = s_.out_channels,
                                                   .k = windows.count,
                                                   .transpose_a = true,
                                                   .a = windows.at,
                                                   .lda = window(s_),
                                                   .b = gradient + windows.first * s_.out_channels,
                                                   .ldb = s_.out_channels,
                                                   .c = partials + slice * elements,
                                                   .ldc = s_.out_channels,
                                                   .accumulate = windows.first > 0});
                  });
    });
    parallel_ranges(elements, sizeof(float) * slices_.count, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t slice = 1; slice < slices_.count; ++slice)
        for (std::int64_t i = first; i < last; ++i) partials[i] += partials[slice * elements + i];
      narrow(partials + first, args.output<BFloat16>() + first, last - first);
    });
  }

 private:
  /// All partial sums together stay within 16 MiB, unless two of them do not.
  static std::int64_t most_partials(const ConvSizes& s) {
    constexpr std::int64_t kElements = 4 << 20;
    return std::clamp<std::int64_t>(kElements / s.filter_elements(), 2, kMostPartials);
  }

  ConvSizes s_;
  BatchSlices slices_;
};

}  // namespace

template <ConvKind kind>
Support amx_conv(const KernelCall& call) {
  if (call.dtype() != DType::bf16) return no("AMX tiles multiply bfloat16 here, got ", call.dtype());
  if (Support support = amx_support(); !support) return support;
  if (Support support = conv_basics(call, DType::bf16); !support) return support;
  if (conv_sizes(call, kind).groups > 1) return no("groups are left to kernels that know them");
  return yes();
}
template Support amx_conv<ConvKind::forward>(const KernelCall&);
template Support amx_conv<ConvKind::input_gradient>(const KernelCall&);
template Support amx_conv<ConvKind::filter_gradient>(const KernelCall&);

Prepared prepare_amx_conv(const KernelCall& call, Epilogue epilogue) {
  return std::make_unique<Forward>(conv_sizes(call, ConvKind::forward), std::move(epilogue));
}
Prepared prepare_amx_input_gradient(const KernelCall& call) {
  const ConvSizes sizes = conv_sizes(call, ConvKind::input_gradient);
  if (sizes.rows.stride == 1 && sizes.columns.stride == 1) return std::make_unique<InputGradient>(sizes);
  return scattered_input_gradient(sizes, call.dtype());
}
Prepared prepare_amx_filter_gradient(const KernelCall& call) {
  return std::make_unique<FilterGradient>(conv_sizes(call, ConvKind::filter_gradient));
}

}  // namespace tandem::cpu
