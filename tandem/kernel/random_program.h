// The trees that random ops draw by, and the scalars of one draw: the same for every device, so that all draw the same.
#pragma once
#include <span>

#include "tandem/expr/program.h"
#include "tandem/op/op_def.h"

namespace tandem {

/// Inputs of the program, all scalars: four words of key and counter (i32), then two numbers of the lane type.
inline constexpr int kRandomWords = 4;

/// The program of random_normal or random_uniform for results of `dtype`.
expr::Program random_program(const OpDef& op, DType dtype);

/// The scalars of one run, from the op's run-time words: two numbers, key, counter.
struct RandomScalars {
  std::int32_t words[kRandomWords];
  ScalarValue numbers[2];
  /// `lane`: the dtype in which the numbers are computed.
  RandomScalars(const OpDef& op, std::span<const std::int64_t> run_time, DType lane);
};

}  // namespace tandem
