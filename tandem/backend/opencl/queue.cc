#include "tandem/backend/opencl/queue.h"

#include <algorithm>

#include "tandem/backend/opencl/forks.h"

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

Queue::Queue(cl_context context, cl_device_id device, bool timed, const Health& health)
    : health_(health),
      context_(context),
      device_(device) {
  cl_int status = CL_SUCCESS;
  queue_ = QueueHandle(clCreateCommandQueue(context, device, timed ? CL_QUEUE_PROFILING_ENABLE : 0, &status));
  health_.check(status, "making a queue");
}

Queue::~Queue() {
  finish();
  retire_to(last_);
}

void Queue::finish() const {
  if (left_behind()) return;
  clFinish(queue_.get());
  if (timed_.get()) clFinish(timed_.get());
}

/// A command of its own, so that what follows stands behind what the other queue was given.
void Queue::stand_behind(const char* doing, cl_event last) {
  enqueue(doing, last, nullptr, Transfer::none, 0, [&](cl_uint count, const cl_event* after, cl_event* event) {
    return clEnqueueBarrierWithWaitList(get(), count, after, event);
  });
}

std::uint64_t Queue::start_timing() {
  end_timing();
  if (times_) return 0;
  if (!timed_.get()) {
    cl_int status = CL_SUCCESS;
    timed_ = QueueHandle(clCreateCommandQueue(context_, device_, CL_QUEUE_PROFILING_ENABLE, &status));
    health_.check(status, "making a queue");
  }
  const cl_event before = pending(last_);
  times_ = Timed{.number = ++timings_};
  timing_ = true;
  stand_behind("starting to time", before);
  return timings_;
}

void Queue::stop_timing() {
  const cl_event before = pending(last_);
  timing_ = false;
  stand_behind("ending to time", before);
  times_->last = last_;
}

const Decision* Queue::op_until(std::uint64_t number) const {
  for (; number && number <= last_ && last_ - number < kMost; --number)
    if (const Decision* op = at(number).op) return op;
  return nullptr;
}

const Decision* Queue::op_from(std::uint64_t number) const {
  for (; number && number <= last_ && last_ - number < kMost; ++number)
    if (const Decision* op = at(number).op) return op;
  return nullptr;
}

/// Makes room for the next timing if all commands of this one have ended.
void Queue::end_timing() {
  constexpr std::size_t kMostKept = 16;
  if (!times_ || !times_->last || !done(times_->last)) return;
  timed_before_.push_back(std::move(*times_));
  times_.reset();
  if (timed_before_.size() > kMostKept) timed_before_.pop_front();
}

std::optional<DeviceTiming> Queue::take_timing(std::uint64_t number) {
  end_timing();
  if (times_ && times_->number == number) return std::nullopt;
  const auto found = std::ranges::find(timed_before_, number, &Timed::number);
  if (found == timed_before_.end()) return DeviceTiming{};
  DeviceTiming timing = std::move(found->timing);
  timing.span_us = static_cast<double>(found->end - found->begin) / 1e3;
  timed_before_.erase(found);
  return timing;
}

/// The first command timed is the barrier: it ends when the device is free for what follows.
void Queue::note_time(const Command& command) {
  cl_ulong begin = 0, end = 0;
  if (clGetEventProfilingInfo(command.event, CL_PROFILING_COMMAND_START, sizeof(begin), &begin, nullptr) !=
          CL_SUCCESS ||
      clGetEventProfilingInfo(command.event, CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr) != CL_SUCCESS)
    return;
  if (times_->begin == 0) {
    times_->begin = times_->end = end;
    return;
  }
  times_->end = std::max(times_->end, end);
  times_->timing.ops.emplace_back(command.op, static_cast<double>(end - std::min(begin, end)) / 1e3);
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
  cl_int status = status_of(command.event);
  const bool copies = command.transfer != Transfer::none;
  if ((copies || command.op) && fault(copies ? Fault::opencl_transfer : Fault::opencl_run))
    status = CL_OUT_OF_RESOURCES;
  if (status < 0) failures_.push_back({number, command.op, command.transfer, command.before, status});
  if (command.timed && times_) note_time(command);
  if (command.counted) add_transfer_time(command.transfer, duration(command.event));
  clReleaseEvent(std::exchange(command.event, nullptr));
}

}  // namespace tandem::opencl
