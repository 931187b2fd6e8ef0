// What was asked of the driver about a device.
#pragma once
#include <cstddef>
#include <string>

#include "tandem/backend/opencl/cl.h"

namespace tandem::opencl {

struct Traits {
  std::string platform, name, driver;
  bool cpu_type = false;        // wants few long work-items with explicit vectors, not many short ones
  bool fp64 = false;
  bool clblast = false;         // matrix products by CLBlast: a GPU
  bool shared_memory = false;   // works on the host's own bytes: an integrated GPU
  bool in_host_memory = false;  // what it takes for buffers is the host's, too
  bool exact_division = false;  // takes -cl-fp32-correctly-rounded-divide-sqrt
  int units = 1;
  int native_lanes = 1;  // floats that a register holds
  std::size_t memory_bytes = 0;
  std::size_t largest_buffer = 0;
  std::size_t alignment = 128;  // of parts of a buffer, bytes

  /// Floats that a vector of a loop has in the text of kernels. A GPU's lanes are its work-items.
  int lanes() const { return cpu_type && native_lanes >= 16 ? 16 : 8; }
};
Traits traits_of(cl_device_id device);

}  // namespace tandem::opencl
