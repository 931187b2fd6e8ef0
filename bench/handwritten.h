// The yardsticks of graphs: loops as one would write them by hand, with intrinsics-friendly code and OpenBLAS.
#pragma once
#include <cstdint>

namespace tandem::bench {

/// mean(x²) over `count` floats on `threads` threads of their own.
double mean_square_seconds(const float* x, std::int64_t count, int threads);

/// Twelve elementwise operations on `count` floats as one loop that the compiler vectorises, on `threads` threads.
double twelve_ops_seconds(const float* x, const float* y, float* out, std::int64_t count, int threads);
float twelve_ops(float x, float y);

/// Dense(hidden, relu), Dense(out, softmax), cross entropy, Adam, accuracy: one step on a batch, with OpenBLAS.
double dense_step_seconds(int batch, int in, int hidden, int out, int steps);

}  // namespace tandem::bench
