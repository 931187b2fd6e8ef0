// OpenCL C text of expr::angle_rest.
#pragma once
#include <string>

#include "tandem/expr/program.h"

namespace tandem::opencl {

/// Defines float8 angle_rest_float8(float8, int grid), or its twin for doubles, if `program` needs it; else empty.
std::string define_angle_rest(const expr::Program& program);

}  // namespace tandem::opencl
