#include "tandem/backend/opencl/cl.h"

#include "tandem/backend/opencl/forks.h"
#include "tandem/base/fault.h"
#include "tandem/core/fallible_space.h"

namespace tandem::opencl {

std::string status_text(cl_int status) {
  struct Name {
    cl_int status;
    const char* name;
  };
  static constexpr Name kNames[] = {
      {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
      {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
      {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
      {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
      {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
      {CL_DEVICE_PARTITION_FAILED, "CL_DEVICE_PARTITION_FAILED"},
      {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
      {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
      {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
      {CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
      {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
      {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
      {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
      {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
      {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
      {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
      {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
      {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
      {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
  };
  for (const Name& known : kNames)
    if (known.status == status) return text(known.name, " (", status, ")");
  return text("OpenCL error ", status);
}

bool is_out_of_memory(cl_int status) {
  return status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
         status == CL_OUT_OF_HOST_MEMORY || status == CL_INVALID_BUFFER_SIZE;
}

void check(cl_int status, std::string_view doing) {
  if (status == CL_SUCCESS) return;
  fail(is_out_of_memory(status) ? ErrorCode::out_of_memory : ErrorCode::device_failed, doing,
       " failed: ", status_text(status));
}

void Health::check_alive(std::string_view doing) const {
  if (is_lost() || fault(Fault::opencl_lost)) [[unlikely]]
    raise(CL_DEVICE_NOT_AVAILABLE, doing);
}

constexpr std::string_view kForked =
    ". This process was forked from one that used the device, and drivers do not follow there: read values before the "
    "fork, or start "
    "processes anew (in Python with multiprocessing's \"spawn\")";

void Health::raise(cl_int status, std::string_view doing) const {
  if (status == CL_DEVICE_NOT_AVAILABLE) {
    const bool before = lost && lost->exchange(true);
    note_device_loss();
    fail(ErrorCode::device_lost, device, " was lost ", before ? "before " : "while ", doing, ": ", status_text(status),
         "; values of which it held the only copy cannot be read any more", left_behind() ? kForked : "");
  }
  fail(is_out_of_memory(status) ? ErrorCode::out_of_memory : ErrorCode::device_failed, device, ": ", doing,
       " failed: ", status_text(status));
}

}  // namespace tandem::opencl
