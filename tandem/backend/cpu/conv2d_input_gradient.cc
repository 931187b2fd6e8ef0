// The input gradient of a convolution with few input channels: a product gives what every window received, a scatter
// adds it up. oneDNN's own kernel has too few channels to fill a vector there.
#include <cstring>

#include "tandem/backend/cpu/amx.h"
#include "tandem/backend/cpu/conv2d.h"
#include "tandem/backend/cpu/gemm.h"
#include "tandem/backend/cpu/halves.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/base/cores.h"

namespace tandem::cpu {
namespace {

/// Where the window of output `o` begins; negative inside the padding.
std::int64_t window_start(const Window& w, std::int64_t o) { return o * w.stride - w.pad_before; }

/// Adds what output row `out_row` received, (columns.output, rows.kernel, columns.kernel, channels), into the image.
__attribute__((always_inline)) inline void scatter_row(const ConvSizes& s, std::int64_t out_row, const float* received,
                                                       float* image) {
  const std::int64_t channels = s.in_channels, run = s.columns.kernel * channels;
  const std::int64_t pixel = s.rows.kernel * run;
  for (std::int64_t kr = 0; kr < s.rows.kernel; ++kr) {
    const std::int64_t row = window_start(s.rows, out_row) + kr * s.rows.dilation;
    if (row < 0 || row >= s.rows.input) continue;
    float* line = image + row * s.columns.input * channels;
    for (std::int64_t oc = 0; oc < s.columns.output; ++oc) {
      const float* from = received + oc * pixel + kr * run;
      const std::int64_t column = window_start(s.columns, oc);
      if (s.columns.dilation == 1 && column >= 0 && column + s.columns.kernel <= s.columns.input) {
        float* to = line + column * channels;
        for (std::int64_t i = 0; i < run; ++i) to[i] += from[i];
        continue;
      }
      for (std::int64_t kc = 0; kc < s.columns.kernel; ++kc) {
        const std::int64_t at = column + kc * s.columns.dilation;
        if (at < 0 || at >= s.columns.input) continue;
        for (std::int64_t c = 0; c < channels; ++c) line[at * channels + c] += from[kc * channels + c];
      }
    }
  }
}

void multiply(const Gemm<float>& gemm) { onednn_gemm(gemm); }
void multiply(const Gemm<BFloat16, float>& gemm) { amx_gemm(gemm); }

template <class T>
void image_gradient(const ConvSizes& s, const T* filter, const T* output_gradient, float* image) {
  constexpr std::int64_t kReceivedFloats = 16 << 10;  // 64 KiB: the product is still in the cache when scattered
  const std::int64_t pixel = s.rows.kernel * s.columns.kernel * s.in_channels;
  const std::int64_t rows_at_once =
      std::clamp<std::int64_t>(kReceivedFloats / (pixel * s.columns.output), 1, s.rows.output);
  auto* received =
      static_cast<float*>(scratch(ScratchUse::columns, rows_at_once * s.columns.output * pixel * sizeof(float)));
  std::memset(image, 0, s.input_image() * sizeof(float));
  for (std::int64_t row = 0; row < s.rows.output; row += rows_at_once) {
    const std::int64_t rows = std::min(rows_at_once, s.rows.output - row);
    multiply(Gemm<T, float>{.m = rows * s.columns.output,
                            .n = pixel,
                            .k = s.out_channels,
                            .transpose_b = true,
                            .a = output_gradient + row * s.columns.output * s.out_channels,
                            .lda = s.out_channels,
                            .b = filter,
                            .ldb = s.out_channels,
                            .c = received,
                            .ldc = pixel});
    wide([&]() __attribute__((always_inline)) {
      for (std::int64_t r = 0; r < rows; ++r) scatter_row(s, row + r, received + r * s.columns.output * pixel, image);
    });
  }
}

void write_gradient(const ConvSizes& s, const float* filter, const float* output_gradient, float* image) {
  image_gradient(s, filter, output_gradient, image);
}
void write_gradient(const ConvSizes& s, const BFloat16* filter, const BFloat16* output_gradient, BFloat16* image) {
  auto* sums =
      static_cast<float*>(scratch(ScratchUse::rows, static_cast<std::size_t>(s.input_image()) * sizeof(float)));
  image_gradient(s, filter, output_gradient, sums);
  narrow(sums, image, s.input_image());
}

template <class T>
Prepared scattered(const ConvSizes& sizes) {
  return prepared([sizes, slices = slice_batch(sizes, 16)](const KernelArgs& args) {
    parallel(slices.count, [&](std::int64_t slice) {
      const std::int64_t first = slice * slices.images;
      for (std::int64_t i = first; i < std::min(first + slices.images, sizes.batch); ++i)
        write_gradient(sizes, args.input<T>(0), args.input<T>(1) + i * sizes.output_image(),
                       args.output<T>() + i * sizes.input_image());
    });
  });
}

}  // namespace

Support gemm_input_gradient(const KernelCall& call) {
  if (Support support = conv_basics(call); !support) return support;
  const ConvSizes sizes = conv_sizes(call, ConvKind::input_gradient);
  if (sizes.groups > 1) return no("groups are left to kernels that know them");
  constexpr std::int64_t kFewChannels = 7;  // fewer than an AVX2 vector has lanes
  if (sizes.in_channels > kFewChannels) return no("oneDNN is faster when the channels fill a vector");
  return yes();
}

Prepared prepare_gemm_input_gradient(const KernelCall& call) {
  return scattered<float>(conv_sizes(call, ConvKind::input_gradient));
}

Prepared scattered_input_gradient(const ConvSizes& sizes, DType dtype) {
  return dtype == DType::bf16 ? scattered<BFloat16>(sizes) : scattered<float>(sizes);
}

}  // namespace tandem::cpu
