#include "tandem/backend/cpu/cpu_device.h"

#include <cpuid.h>

#include <array>
#include <cstring>

#include "tandem/base/cores.h"
#include "tandem/base/text.h"
#include "tandem/backend/cpu/loop.h"
#include "tandem/backend/cpu/openblas_core.h"

namespace tandem::cpu {
namespace {

std::string processor_name() {
  std::array<unsigned, 12> words{};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* w = words.data() + leaf * 4;
    if (!__get_cpuid(0x80000002u + leaf, w, w + 1, w + 2, w + 3)) return "x86-64 processor";
  }
  char name[49] = {};
  std::memcpy(name, words.data(), 48);
  std::string trimmed(name);
  while (!trimmed.empty() && trimmed.back() == ' ') trimmed.pop_back();
  return trimmed.substr(std::min(trimmed.find_first_not_of(' '), trimmed.size()));
}

class CpuDevice final : public Device {
 public:
  CpuDevice(MemorySpace& host, std::size_t memory_bytes, int index) : host_(host), kernels_(kernel_table()) {
    choose_openblas_core();
    properties_.name.index = index;
    properties_.cores = usable_cores();
    properties_.memory_bytes = memory_bytes;
    properties_.description = text(processor_name(), ", generated code: ", jit_target());
  }
  const DeviceProperties& properties() const override { return properties_; }
  MemorySpace& memory() override { return host_; }
  const KernelTable& kernels() const override { return kernels_; }
  void synchronize() override {}  // ops have ended when they return

 private:
  MemorySpace& host_;
  KernelTable kernels_;
  DeviceProperties properties_;
};

}  // namespace

std::unique_ptr<Device> make_device(MemorySpace& host, std::size_t memory_bytes, int index) {
  return std::make_unique<CpuDevice>(host, memory_bytes, index);
}

}  // namespace tandem::cpu
