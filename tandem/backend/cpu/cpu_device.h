// The CPU as a device: its kernels run inline on the caller's thread and the pool.
#pragma once
#include <cstddef>
#include <memory>

#include "tandem/core/device.h"
#include "tandem/kernel/kernel.h"

namespace tandem::cpu {

std::unique_ptr<Device> make_device(MemorySpace& host, std::size_t memory_bytes);

/// The ordered kernels of every op.
KernelTable kernel_table();

}  // namespace tandem::cpu
