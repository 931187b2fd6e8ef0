// OpenCL's C interface at the version we ask for, with errors as exceptions and handles that release themselves.
#pragma once
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <atomic>
#include <string>
#include <utility>

#include "tandem/base/error.h"

namespace tandem::opencl {

/// "CL_OUT_OF_RESOURCES (-5)"
std::string status_text(cl_int status);
bool is_out_of_memory(cl_int status);

/// Throws out_of_memory or device_failed, naming what was being done.
void check(cl_int status, std::string_view doing);

/// Whether a device is still there; shared by all that talk to it.
struct Health {
  std::string device;                 // "/GPU:0"
  std::atomic<bool>* lost = nullptr;  // said once and for all

  bool is_lost() const { return lost && lost->load(std::memory_order_relaxed); }
  /// Throws device_lost when it is gone.
  void check_alive(std::string_view doing) const;
  /// As check() above, but names the device and notices when it is gone.
  void check(cl_int status, std::string_view doing) const {
    if (status != CL_SUCCESS) [[unlikely]]
      raise(status, doing);
  }

 private:
  [[noreturn]] void raise(cl_int status, std::string_view doing) const;
};

/// Owns one OpenCL object.
template <class T, cl_int (*kRelease)(T)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T object) : object_(object) {}
  Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_) kRelease(object_);
  }
  T get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T object_ = nullptr;
};
using ContextHandle = Handle<cl_context, clReleaseContext>;
using QueueHandle = Handle<cl_command_queue, clReleaseCommandQueue>;
using ProgramHandle = Handle<cl_program, clReleaseProgram>;
using KernelHandle = Handle<cl_kernel, clReleaseKernel>;
using MemoryHandle = Handle<cl_mem, clReleaseMemObject>;

}  // namespace tandem::opencl
