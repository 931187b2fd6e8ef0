// A command queue whose commands have numbers: in order, so that a number says all that came before it.
#pragma once
#include <array>
#include <deque>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tandem/backend/opencl/cl.h"
#include "tandem/backend/opencl/opencl_device.h"
#include "tandem/base/decision.h"
#include "tandem/base/fault.h"
#include "tandem/core/transfer_count.h"

namespace tandem::opencl {

/// The last commands that touch some bytes: of the compute queue, any and the last that wrote; of the copy queue, any
/// and the upload that the contents come from (0: a kernel wrote them). Bytes that are freed keep them, so that whoever
/// gets the bytes next stands behind those commands.
struct Uses {
  std::uint64_t compute = 0, written = 0, copy = 0, uploaded = 0;
  void merge(const Uses& other) {
    compute = std::max(compute, other.compute);
    written = std::max(written, other.written);
    copy = std::max(copy, other.copy);
    uploaded = std::max(uploaded, other.uploaded);
  }
};

/// Guarded by the lock of the context it belongs to.
class Queue {
 public:
  Queue(cl_context context, cl_device_id device, bool timed, const Health& health);
  ~Queue();

  cl_command_queue get() const { return timing_ ? timed_.get() : queue_.get(); }
  void finish() const;
  /// The number the next command will have.
  std::uint64_t next() const { return last_ + 1; }
  std::uint64_t last() const { return last_; }
  /// All up to this one are known to have ended.
  std::uint64_t ended() const { return ended_; }

  /// Enqueues one command after `after` (null: none), an event of the other queue, and flushes. `start` is called with
  /// the number of events to wait for, the events, and where to put the new one, as OpenCL's functions have them.
  /// `before`: the last command of the other queue, which cannot depend on this one.
  template <class Start>
  std::uint64_t enqueue(std::string_view doing, cl_event after, const Decision* op, Transfer transfer,
                        std::uint64_t before, Start start) {
    health_.check_alive(doing);
    Command& command = make_room();
    const bool copies = transfer != Transfer::none;
    if ((copies || op) && fault(copies ? Fault::opencl_copy : Fault::opencl_launch))
      health_.check(CL_INVALID_COMMAND_QUEUE, doing);
    health_.check(start(after ? 1u : 0u, after ? &after : nullptr, &command.event), doing);
    command.op = op;
    command.transfer = transfer;
    command.before = before;
    command.timed = timing_;
    command.counted = copies && !UncountedTransfers::now();
    ++last_;
    health_.check(clFlush(get()), doing);
    return last_;
  }

  /// True when the command has ended, well or not.
  bool done(std::uint64_t number);
  /// The event of a command; null when it has ended.
  cl_event pending(std::uint64_t number) { return done(number) ? nullptr : at(number).event; }

  /// Commands between the two are timed by the device: they go to a second queue, each behind all that came before, so
  /// that nobody pays who does not ask. Returns the timing's number; 0: another is under way.
  std::uint64_t start_timing();
  void stop_timing();
  /// Null until the last command has ended; then once what was measured; later, and when it was not fetched for long,
  /// an empty one.
  std::optional<DeviceTiming> take_timing(std::uint64_t number);

  /// The op of the last command up to `number`, or the first from there on, that has one (those around a timing have
  /// none); null when it is no longer known.
  const Decision* op_until(std::uint64_t number) const;
  const Decision* op_from(std::uint64_t number) const;

  /// A command that failed on the device.
  struct Failure {
    std::uint64_t number = 0;
    const Decision* op = nullptr;
    Transfer transfer = Transfer::none;
    std::uint64_t before = 0;
    cl_int status = CL_SUCCESS;
  };
  /// Those since it was last asked for.
  std::vector<Failure> take_failures() { return std::exchange(failures_, {}); }

 private:
  struct Command {
    cl_event event = nullptr;
    const Decision* op = nullptr;
    Transfer transfer = Transfer::none;
    bool timed = false;
    bool counted = false;  // its time is one of the program's transfers
    std::uint64_t before = 0;
  };
  /// How far the host may run ahead of the device.
  static constexpr std::uint64_t kMost = 1024;

  Command& at(std::uint64_t number) const { return (*commands_)[number % kMost]; }
  Command& make_room();
  void retire_to(std::uint64_t number);
  void retire(std::uint64_t number);
  void note_time(const Command& command);
  void end_timing();
  void stand_behind(const char* doing, cl_event last);

  /// What is known of a timing that has not been fetched.
  struct Timed {
    std::uint64_t number = 0;
    std::uint64_t last = 0;  // command after which all is known; 0: not stopped yet
    cl_ulong begin = 0, end = 0;  // ns of the device's clock; begin 0: the first command has not ended
    DeviceTiming timing;
  };

  const Health& health_;
  cl_context context_;
  cl_device_id device_;
  QueueHandle queue_, timed_;  // timed_: made at the first timing
  bool timing_ = false;
  std::optional<Timed> times_;  // under way
  std::deque<Timed> timed_before_;  // not fetched
  std::uint64_t timings_ = 0;
  std::unique_ptr<std::array<Command, kMost>> commands_ = std::make_unique<std::array<Command, kMost>>();
  std::uint64_t last_ = 0, ended_ = 0;
  std::vector<Failure> failures_;
};

}  // namespace tandem::opencl
