// GPUs for one test, with as much memory as it likes: ops of its thread that ask for /GPU:n run there.
#pragma once
#include "tandem/backend/opencl/discovery.h"
#include "tandem/exec/eager.h"
#include "tandem/tandem.h"
#include "tests/exec/device_list.h"

namespace tandem {

class SmallGpu {
 public:
  using Memory = opencl::LogicalDeviceConfiguration;
  /// One physical device that serves as several.
  explicit SmallGpu(const std::vector<Memory>& logical) : SmallGpu(opencl::Options{}, logical) {}
  SmallGpu(const opencl::Options& options, const std::vector<Memory>& logical)
      : devices_(make_devices(logical, options)),
        registry_(with_host(devices_)),
        dispatcher_(registry_),
        here_(*this) {}
  explicit SmallGpu(std::size_t limit) : SmallGpu(std::vector<Memory>{{.memory_limit = limit}}) {}

  static std::vector<std::unique_ptr<Device>> make_devices(const std::vector<Memory>& logical,
                                                           const opencl::Options& options = {}) {
    static const opencl::Discovery discovery = opencl::discover({.cpu_as_gpu = 1});
    std::vector<std::unique_ptr<Device>> made;
    for (const Memory& memory : logical)
      made.push_back(opencl::make_device(*discovery.usable().at(0), static_cast<int>(made.size()), memory, options));
    return made;
  }

  /// Lets the ops of another thread run here too.
  class OnThread final : public Dispatcher {
   public:
    explicit OnThread(SmallGpu& gpu) : gpu_(gpu) { DispatchStack::push(*this); }
    ~OnThread() override { DispatchStack::remove(*this); }
    void run(OpCall& call) override { gpu_.dispatcher_.run(call); }

   private:
    SmallGpu& gpu_;
  };

  Device& device(std::size_t index = 0) { return *devices_.at(index); }
  MemoryInfo memory() { return device().memory().info(); }

 private:
  static std::vector<Device*> with_host(const std::vector<std::unique_ptr<Device>>& devices) {
    std::vector<Device*> list{default_runtime().devices()[0]};
    for (const auto& device : devices) {
      device->memory().set_device(device.get());
      list.push_back(device.get());
    }
    return list;
  }

  std::vector<std::unique_ptr<Device>> devices_;
  DeviceList registry_;
  EagerDispatcher dispatcher_;
  OnThread here_;
};

}  // namespace tandem
