// The arithmetic of sliding windows: output sizes and padding, as TensorFlow defines them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>

namespace tandem {

/// One spatial axis of a convolution or pooling.
struct Window {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_before = 0;
  std::int64_t pad_after = 0;

  static Window make(std::int64_t input, std::int64_t kernel, std::int64_t stride, std::int64_t dilation, bool same) {
    Window w{.input = input, .kernel = kernel, .stride = stride, .dilation = dilation};
    const std::int64_t reach = (kernel - 1) * dilation + 1;
    if (!same) {
      w.output = input < reach ? 0 : (input - reach) / stride + 1;
      return w;
    }
    w.output = (input + stride - 1) / stride;
    const std::int64_t total = std::max<std::int64_t>((w.output - 1) * stride + reach - input, 0);
    w.pad_before = total / 2;
    w.pad_after = total - w.pad_before;
    return w;
  }
};

}  // namespace tandem
