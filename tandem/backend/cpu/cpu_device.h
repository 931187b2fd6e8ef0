// The CPU as a device: its kernels run inline on the caller's thread and the pool.
#pragma once
#include <cstddef>
#include <memory>

#include "tandem/core/device.h"
#include "tandem/kernel/kernel.h"

namespace tandem::cpu {

/// /CPU:`index`. Several share the cores and the host's memory.
std::unique_ptr<Device> make_device(MemorySpace& host, std::size_t memory_bytes, int index = 0);

/// The ordered kernels of every op.
KernelTable kernel_table();

}  // namespace tandem::cpu
