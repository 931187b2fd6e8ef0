// The number that Keras adds where it would divide by zero: keras.config.epsilon().
#pragma once

namespace tandem {

inline constexpr double kFuzz = 1e-7;

}  // namespace tandem
