// The yardstick: OpenBLAS and oneDNN called directly, with threads of their own, as a program without TandemFlow would.
#pragma once

namespace tandem::bench {

/// Seconds of one row-major sgemm, best of many; negative when the threaded OpenBLAS is not installed.
double openblas_direct_seconds(int m, int n, int k, bool transpose_a, bool transpose_b, int threads);

/// Seconds of one f32 matmul primitive with plain strides on all three sides, best of many.
double onednn_direct_matmul_seconds(int m, int n, int k, bool transpose_a, bool transpose_b, int threads);

enum class ConvKind { forward, backward_data, backward_weights };

/// An f32 convolution without padding, stride 1: NHWC activations, weights in the format oneDNN likes best (its
/// reorder is not counted). Seconds, best of many.
double onednn_direct_conv_seconds(ConvKind kind, int batch, int height, int width, int in_channels, int out_channels,
                                  int kernel, int threads);

/// The name of the implementation oneDNN picked for that convolution: "jit:avx2".
const char* onednn_direct_conv_name(ConvKind kind, int batch, int height, int width, int in_channels, int out_channels,
                                    int kernel);

}  // namespace tandem::bench
