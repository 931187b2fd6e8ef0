// The contract of a device: what the rest of the system may ask of a CPU, a GPU or a simulated one.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/ref.h"

namespace tandem {

class KernelTable;  // tandem/kernel/kernel.h

/// "/GPU:1". The kind is upper case; the index counts devices of that kind.
struct DeviceName {
  std::string kind = "CPU";
  int index = 0;

  std::string short_name() const;  // "/GPU:1"
  std::string long_name() const;   // "/job:localhost/replica:0/task:0/device:GPU:1"
  /// Every spelling TensorFlow accepts: "/GPU:0", "gpu:0", "/device:GPU:0", the long form, "CPU", "GPU:*" (the first).
  /// Throws unknown_device for anything else.
  static DeviceName parse(std::string_view text);
  /// The same for what a scope asks for: nothing when the text names no device ("", "/job:localhost").
  static std::optional<DeviceName> parse_request(std::string_view text);
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

/// Something that will have happened. A null Event has happened already: the CPU's inline ops need none.
class EventState : public RefCounted {
 public:
  virtual ~EventState() = default;
  virtual bool done() const = 0;
  /// Returns when done; throws what went wrong on the device, naming the op.
  virtual void wait() = 0;
};
using Event = Ref<EventState>;
inline void wait(const Event& event) {
  if (event) event->wait();
}

struct DeviceProperties {
  DeviceName name;
  std::string description;  // "AMD EPYC, AVX2, 2 cores"
  std::size_t memory_bytes = 0;
  int cores = 1;
};

/// A range of bytes a device can address: the host's memory, or a card's own.
/// Devices that share memory share one space, and nothing is copied between them.
class MemorySpace {
 public:
  virtual ~MemorySpace() = default;
  /// The device whose own memory this is; null for the host's.
  class Device* device() const { return device_; }
  void set_device(class Device* device) { device_ = device; }
  virtual std::string_view name() const = 0;
  /// Throws out_of_memory. Alignment is at least 64 bytes.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* address, std::size_t bytes) noexcept = 0;
  /// True when the address can be read by the host.
  virtual bool is_host() const = 0;
  /// Copies to and from the host; the result happens when the event does.
  virtual Event copy_from_host(void* to, const void* from, std::size_t bytes) = 0;
  virtual Event copy_to_host(void* to, const void* from, std::size_t bytes) = 0;

 private:
  class Device* device_ = nullptr;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceProperties& properties() const = 0;
  const DeviceName& name() const { return properties().name; }
  virtual MemorySpace& memory() = 0;
  /// The kernels of this device, an ordered list an op.
  virtual const KernelTable& kernels() const = 0;
  /// Returns when everything given to the device has ended; throws the first unreported failure.
  virtual void synchronize() = 0;
  /// True once it has disappeared: nothing may be given to it any more.
  bool lost() const { return lost_.load(std::memory_order_relaxed); }

 protected:
  std::atomic<bool> lost_{false};
};

}  // namespace tandem
