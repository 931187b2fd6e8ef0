// How a window slides over one axis: convolution and pooling share it.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tandem::cpu {

struct Window {
  std::int64_t in = 0, out = 0;  // sizes of the axis
  std::int64_t size = 1, stride = 1, dilation = 1;
  std::int64_t before = 0, after = 0;  // padding

  /// Where the window of output `o` begins; negative inside the padding.
  std::int64_t start(std::int64_t o) const { return o * stride - before; }
};

/// TensorFlow's rule: "same" gives ceil(in / stride) outputs and puts the odd element of padding behind.
inline Window make_window(std::int64_t in, std::int64_t size, std::int64_t stride, std::int64_t dilation, bool same) {
  Window w{.in = in, .size = size, .stride = stride, .dilation = dilation};
  const std::int64_t reach = (size - 1) * dilation + 1;
  if (!same) {
    w.out = in < reach ? 0 : (in - reach) / stride + 1;
    return w;
  }
  w.out = (in + stride - 1) / stride;
  const std::int64_t total = std::max<std::int64_t>((w.out - 1) * stride + reach - in, 0);
  w.before = total / 2;
  w.after = total - w.before;
  return w;
}

}  // namespace tandem::cpu
