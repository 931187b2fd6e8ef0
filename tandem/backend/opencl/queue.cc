#include "tandem/backend/opencl/queue.h"

namespace tandem::opencl {
namespace {

cl_int status_of(cl_event event) {
  cl_int status = CL_QUEUED;
  const cl_int asked = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr);
  return asked == CL_SUCCESS ? status : asked;
}

std::uint64_t duration(cl_event event) {
  cl_ulong begin = 0, end = 0;
  if (clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(begin), &begin, nullptr) != CL_SUCCESS ||
      clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr) != CL_SUCCESS)
    return 0;
  return end > begin ? end - begin : 0;
}

}  // namespace

Queue::Queue(cl_context context, cl_device_id device, bool timed) {
  cl_int status = CL_SUCCESS;
  queue_ = QueueHandle(clCreateCommandQueue(context, device, timed ? CL_QUEUE_PROFILING_ENABLE : 0, &status));
  check(status, "making a queue");
}

Queue::~Queue() {
  clFinish(queue_.get());
  retire_to(last_);
}

Queue::Command& Queue::make_room() {
  if (last_ - ended_ == kMost) {
    const std::uint64_t half = last_ - kMost / 2;
    clWaitForEvents(1, &at(half).event);  // a failure is found in the event's status
    retire_to(half);
  }
  return at(last_ + 1);
}

bool Queue::done(std::uint64_t number) {
  if (number <= ended_) return true;
  if (status_of(at(number).event) > CL_COMPLETE) return false;
  retire_to(number);
  return true;
}

void Queue::retire_to(std::uint64_t number) {
  while (ended_ < number) retire(++ended_);
}

void Queue::retire(std::uint64_t number) {
  Command& command = at(number);
  const cl_int status = status_of(command.event);
  if (status < 0 && failure_.number == 0) failure_ = {number, command.op, status};
  if (command.transfer != Transfer::none) add_transfer_time(command.transfer, duration(command.event));
  clReleaseEvent(std::exchange(command.event, nullptr));
}

}  // namespace tandem::opencl
