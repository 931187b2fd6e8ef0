#include "tandem/backend/sim/sim_device.h"

#include <cstdlib>
#include <cstring>

#include "tandem/op/records.h"

namespace tandem::sim {
namespace {

class Memory final : public MemorySpace {
 public:
  Memory(std::string name, const Costs& costs, Clock& clock) : name_(std::move(name)), costs_(costs), clock_(clock) {}
  std::string_view name() const override { return name_; }
  void* allocate(std::size_t bytes) override { return std::aligned_alloc(64, (bytes + 64) / 64 * 64); }
  void free(void* address, std::size_t) noexcept override { std::free(address); }
  Event copy_from_host(void* to, const void* from, std::size_t bytes, bool) override {
    return copy(to, from, bytes, costs_.to_device(bytes));
  }
  Event copy_to_host(void* to, const void* from, std::size_t bytes) override {
    return copy(to, from, bytes, costs_.to_host(bytes));
  }

 private:
  Event copy(void* to, const void* from, std::size_t bytes, double us) {
    std::memcpy(to, from, bytes);
    clock_.now_us += us;
    ++clock_.copies;
    return {};
  }
  std::string name_;
  const Costs& costs_;
  Clock& clock_;
};

class SimDevice final : public Device {
 public:
  SimDevice(const DeviceName& name, Costs costs, Clock& clock, MemorySpace* host)
      : properties_{.name = name, .description = "simulated"},
        costs_(std::move(costs)),
        clock_(clock),
        own_(name.short_name(), costs_, clock),
        memory_(host ? *host : own_) {
    const Kernel kernel{.name = "sim", .prepare = [](const KernelCall& call) {
                          return static_cast<SimDevice&>(*call.device).prepare(call);
                        }};
    for (const OpDef* op : op_list()) kernels_.set(*op, {kernel});
  }
  const DeviceProperties& properties() const override { return properties_; }
  MemorySpace& memory() override { return memory_; }
  const KernelTable& kernels() const override { return kernels_; }
  void synchronize() override {}

 private:
  Prepared prepare(const KernelCall& call) {
    return prepared([this, us = costs_.op(call)](const KernelArgs&) {
      clock_.now_us += us;
      ++clock_.ops;
    });
  }
  DeviceProperties properties_;
  Costs costs_;
  Clock& clock_;
  Memory own_;
  MemorySpace& memory_;
  KernelTable kernels_;
};

}  // namespace

std::unique_ptr<Device> make_device(const DeviceName& name, Costs costs, Clock& clock, MemorySpace* host) {
  return std::make_unique<SimDevice>(name, std::move(costs), clock, host);
}

}  // namespace tandem::sim
