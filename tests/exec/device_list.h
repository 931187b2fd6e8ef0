// A registry of the devices that a test has made; the first is the host's.
#pragma once
#include <vector>

#include "tandem/exec/eager.h"

namespace tandem {

class DeviceList final : public DeviceRegistry {
 public:
  explicit DeviceList(std::vector<Device*> devices) : list_(std::move(devices)) {}
  Device& host_device() override { return *list_[0]; }
  Device* find(const DeviceName& name) override {
    for (Device* device : list_)
      if (device->name() == name) return device;
    return nullptr;
  }
  std::span<Device* const> known() const override { return list_; }

 private:
  std::vector<Device*> list_;
};

}  // namespace tandem
