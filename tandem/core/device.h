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
struct Decision;    // tandem/base/decision.h
struct DeviceCopy;  // tandem/core/storage.cc

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

struct MemoryInfo {
  std::size_t current = 0;  // bytes handed out
  std::size_t peak = 0;  // most bytes handed out at once since the last reset_peak()
  std::size_t limit = 0;
};

/// What a block of memory is for: one to be copied into is best taken where no kernel is at work.
enum class Purpose { compute, copy };

/// A range of bytes a device can address: the host's memory, or a card's own.
/// Devices that share memory share one space, and nothing is copied between them.
class MemorySpace {
 public:
  enum class Kind { host, device };
  explicit MemorySpace(Kind kind = Kind::device) : kind_(kind) {}
  virtual ~MemorySpace() = default;
  /// The device whose own memory this is; null for the host's.
  class Device* device() const { return device_; }
  void set_device(class Device* device) { device_ = device; }
  virtual std::string_view name() const = 0;
  /// True when the address can be read by the host.
  bool is_host() const { return kind_ == Kind::host; }

  /// Throws out_of_memory. Alignment is at least 64 bytes.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Null when the memory does not suffice as things are.
  virtual void* try_allocate(std::size_t bytes, Purpose purpose);
  /// Work that was given to the device may still use the bytes: it stands before whatever uses them next.
  virtual void free(void* address, std::size_t bytes) noexcept = 0;
  /// The address of a part of an allocation. `offset` is a multiple of kSliceAlignment; the allocation must live on.
  virtual void* slice(void* address, std::size_t offset, std::size_t bytes);
  virtual void free_slice(void* slice) noexcept;
  static constexpr std::size_t kSliceAlignment = 128;

  /// Copies to and from the host start after what the device was given before and return at once. What the device is
  /// given later sees the bytes; the event says when the host may change, or read, its side.
  /// `pending`: the bytes at `from` are still being written by a copy_to_host of this space.
  virtual Event copy_from_host(void* to, const void* from, std::size_t bytes, bool pending = false) = 0;
  virtual Event copy_to_host(void* to, const void* from, std::size_t bytes) = 0;

  virtual MemoryInfo info() const { return {}; }
  virtual void reset_peak() {}

  /// The copies that lie here, least recently used first; kept by the storages they belong to.
  struct Residents {
    DeviceCopy* oldest = nullptr;
    DeviceCopy* newest = nullptr;
  };
  Residents& residents() { return residents_; }

 private:
  class Device* device_ = nullptr;
  Residents residents_;
  const Kind kind_;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceProperties& properties() const = 0;
  const DeviceName& name() const { return properties().name; }
  virtual MemorySpace& memory() = 0;
  /// The kernels of this device, an ordered list an op.
  virtual const KernelTable& kernels() const = 0;
  /// The op whose work this thread gives to the device from now on: what goes wrong there is told by its name.
  virtual void set_running(const Decision*) {}
  /// Returns when everything given to the device has ended; throws the first unreported failure.
  virtual void synchronize() = 0;
  /// True once it has disappeared: nothing may be given to it any more.
  bool lost() const { return lost_.load(std::memory_order_relaxed); }

 protected:
  std::atomic<bool> lost_{false};
};

}  // namespace tandem
