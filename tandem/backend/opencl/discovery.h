// Which OpenCL devices there are: every platform, every device with what became of it, and what stands in the way.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "tandem/backend/opencl/opencl_device.h"

struct _cl_device_id;  // OpenCL's cl_device_id points to it

namespace tandem::opencl {

struct FoundPlatform {
  std::string name, vendor, version;
  int devices = 0;
};

enum class Status { usable, hidden, rejected };

struct FoundDevice {
  std::string platform, name, driver;
  std::string type;  // "GPU", "CPU" or "accelerator", as the driver says; "unknown" when it does not say
  int units = 0;
  std::size_t memory_bytes = 0;
  bool fp64 = false;
  std::vector<int> cores{};  // of the host, on which a CPU-type device computes
  Status status = Status::usable;
  std::string reason, remedy;    // why it is not usable, and what could be done
  _cl_device_id* id = nullptr;
};

/// Something wrong with a driver rather than with a device.
struct Problem {
  std::string where;  // "/etc/OpenCL/vendors/amd.icd", the name of a platform
  std::string reason, remedy;
};

struct Discovery {
  std::vector<FoundPlatform> platforms;
  std::vector<FoundDevice> devices;
  std::vector<Problem> problems;

  /// The devices that may be used, in their order: the first is the physical device GPU:0.
  std::vector<const FoundDevice*> usable() const;
  /// How many more there would be if the environment hid none.
  int hidden() const;
};

/// Asks every driver for its devices and proves each by running a kernel, which takes a few bytes on the device for a
/// moment and nothing else. Drivers are loaded by the first call, not before; what the environment tells them (threads,
/// cores) is settled then. A device about which the driver does not answer is rejected, and stops no other. Throws
/// invalid_argument when the options cannot be met.
Discovery discover(const Options& options);

/// Where the system keeps what drivers need; tests put up their own.
struct SystemPaths {
  std::string drivers;  // a folder of .icd files, or one such file; empty: the loader's own
  std::string nodes = "/dev/dri";  // renderD128, …
  std::string cards = "/sys/class/drm";  // the same names, with what is known about the card
};
/// What drivers were found to offer.
struct Offered {
  bool platform = false, gpu = false;
};
/// Driver files that are of no use, cards that may not be opened, cards without a driver.
std::vector<Problem> driver_problems(const SystemPaths& paths, Offered offered);

}  // namespace tandem::opencl
