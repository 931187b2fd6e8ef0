// The GPUs of the machine, looked for once in a process, and what was to be settled before.
#pragma once
#include <functional>
#include <memory>

#include "tandem/backend/opencl/discovery.h"

namespace tandem {

struct PhysicalGpus {
  opencl::Options options;
  std::shared_ptr<const opencl::Discovery> discovery;
};

/// Looks for them the first time it is called, or the first time after the options changed.
PhysicalGpus physical_gpus();

/// A device that was found turns out to be of no use: it is a physical device no more, and listed with the reason.
void turn_down(const opencl::FoundDevice& device, std::string reason, std::string remedy);

/// The options as they are; at first what the environment says.
opencl::Options opencl_options();
/// Changes them; what was found is then looked for anew when it is next asked for.
void change_opencl_options(const std::function<void(opencl::Options&)>& change);
/// True once drivers have been loaded: what they read when they start is settled.
bool drivers_loaded();

}  // namespace tandem
