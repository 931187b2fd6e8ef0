// Devices that run nothing and keep virtual time: for tests of what is decided by cost.
#pragma once
#include <functional>
#include <memory>

#include "tandem/kernel/kernel.h"

namespace tandem::sim {

/// Virtual microseconds since the beginning. One program, one thing at a time.
struct Clock {
  double now_us = 0;
  int ops = 0, copies = 0;
};

/// What things take, in µs.
struct Costs {
  std::function<double(const KernelCall&)> op;
  std::function<double(std::size_t bytes)> to_device, to_host;  // for a device with a memory of its own
};

/// A device with a kernel for every op, which leaves its results as they are. With `host` it computes in that memory,
/// without in one of its own. The clock must outlive it.
std::unique_ptr<Device> make_device(const DeviceName& name, Costs costs, Clock& clock, MemorySpace* host = nullptr);

}  // namespace tandem::sim
