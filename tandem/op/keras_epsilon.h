// The number that Keras adds where it would divide by zero: keras.config.epsilon().
#pragma once

namespace tandem {

inline constexpr double kKerasEpsilon = 1e-7;

}  // namespace tandem
