// Copies between the host and the device, waiting for them, and what is found to have gone wrong by then.
#include <sched.h>

#include <algorithm>
#include <cstring>

#include "tandem/backend/opencl/context.h"
#include "tandem/backend/opencl/forks.h"
#include "tandem/base/event_sink.h"

namespace tandem::opencl {

/// The end of a copy, or of other work on bytes of the host. Who waits for one to the host is told when it, or the op
/// that made what it copies, has failed; from the host only the bytes there are waited for, and who reads the device's
/// copy is told.
class CopyEvent final : public EventState {
 public:
  CopyEvent(Context& context, Queue& queue, std::uint64_t number) : context_(context), queue_(queue), number_(number) {}
  CopyEvent(Context& context, const Uses& source)
      : context_(context),
        queue_(*context.copy_),
        number_(source.copy),
        to_host_(true),
        source_(source) {}
  bool done() const override { return context_.ended(queue_, number_); }
  void wait() override {
    context_.wait_for(queue_, number_);
    if (context_.has_unsaved_) context_.save_programs();
    std::lock_guard lock(context_.mutex_);
    if (!to_host_) return;
    // The copy came after the kernel that wrote its source; how that ended is only now looked at.
    context_.compute_->done(source_.written);
    context_.look_for_failures();
    context_.losses_.throw_if_lost(Losses::Command{number_, true});
    context_.losses_.throw_if_lost(source_);
  }

 private:
  Context& context_;
  Queue& queue_;
  const std::uint64_t number_;
  const bool to_host_ = false;
  const Uses source_;
};

/// The end of what writes to bytes shared with the host, also of work given to the device after this was made.
class SharedWrite final : public EventState {
 public:
  SharedWrite(Context& context, Buffer& buffer) : context_(context), buffer_(&buffer) {}
  bool done() const override {
    std::lock_guard lock(context_.mutex_);
    return context_.compute_->done(uses().written);
  }
  void wait() override {
    Uses uses;
    {
      std::lock_guard lock(context_.mutex_);
      uses = this->uses();
    }
    context_.wait_for(*context_.compute_, uses.written);
    if (context_.has_unsaved_) context_.save_programs();
    std::lock_guard lock(context_.mutex_);
    context_.losses_.throw_if_lost(uses);
    context_.show_to_host(buffer_ ? buffer_->memory : memory_, buffer_ ? buffer_->bytes : bytes_);
  }
  /// The buffer is about to go. Under the context's lock.
  void settle() {
    uses_ = buffer_->uses();
    bytes_ = buffer_->bytes;
    memory_ = std::move(buffer_->memory);
    buffer_ = nullptr;
  }

 private:
  const Uses& uses() const { return buffer_ ? buffer_->uses() : uses_; }

  Context& context_;
  Buffer* buffer_;  // null: settled
  Uses uses_;
  MemoryHandle memory_;
  std::size_t bytes_ = 0;
};

Event Context::written(Buffer& shared) {
  std::lock_guard lock(mutex_);
  if (!shared.written) shared.written = Event(new SharedWrite(*this, shared));
  return shared.written;
}

Event Context::last_use(const Buffer& shared) {
  std::lock_guard lock(mutex_);
  const std::uint64_t number = shared.uses().compute;
  return compute_->done(number) ? Event() : Event(new CopyEvent(*this, *compute_, number));
}

void Context::free(Buffer* buffer) noexcept {
  if (buffer->shared) {
    std::lock_guard lock(mutex_);
    if (buffer->written) static_cast<SharedWrite&>(*buffer->written).settle();
  }
  pool_->free(buffer);
}

/// Drivers need not keep what the host sees up to date but for the time it is mapped.
void Context::show_to_host(const MemoryHandle& shared, std::size_t bytes) {
  if (bytes == 0 || left_behind()) return;
  cl_int status = CL_SUCCESS;
  void* at =
      clEnqueueMapBuffer(reports_.get(), shared.get(), CL_TRUE, CL_MAP_READ, 0, bytes, 0, nullptr, nullptr, &status);
  check(status, "showing a buffer to the host");
  check(clEnqueueUnmapMemObject(reports_.get(), shared.get(), at, 0, nullptr, nullptr), "showing a buffer to the host");
  check(clFinish(reports_.get()), "showing a buffer to the host");
}

Event Context::upload(Buffer& to, const void* from, std::size_t bytes, bool pending) {
  if (!bytes) return {};
  std::lock_guard lock(mutex_);
  void* staged = nullptr;
  if (bytes <= Staging::kLongest && !pending) {
    if (!staging_) staging_ = std::make_unique<Staging>(context_.get(), *copy_);
    staged = staging_->take(bytes);
    if (staged) std::memcpy(staged, from, bytes);
  }
  Uses& uses = to.uses();
  uses.copy = copy_->enqueue("copying from the host", compute_->pending(uses.compute), nullptr, Transfer::to_device,
                             compute_->last(), [&](cl_uint count, const cl_event* after, cl_event* event) {
                               return clEnqueueWriteBuffer(copy_->get(), to.memory.get(), CL_FALSE, 0, bytes,
                                                           staged ? staged : from, count, after, event);
                             });
  if (pending)
    if (const Losses::Command source = losses_.arriving_at(from); source.number)
      losses_.depends({uses.copy, true}, source);
  uses.written = 0;
  uses.uploaded = uses.copy;
  if (staged) return staging_->taken_by(uses.copy), Event();
  return Event(new CopyEvent(*this, *copy_, uses.copy));
}

Event Context::download(void* to, const Buffer& from, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  Uses& uses = from.uses();
  if (bytes) ask_for_reports(uses.compute);
  if (bytes)
    uses.copy = copy_->enqueue("copying to the host", compute_->pending(uses.compute), nullptr, Transfer::to_host,
                               compute_->last(), [&](cl_uint count, const cl_event* after, cl_event* event) {
                                 return clEnqueueReadBuffer(copy_->get(), from.memory.get(), CL_FALSE, 0, bytes, to,
                                                            count, after, event);
                               });
  if (bytes) losses_.depends({uses.copy, true}, uses, to);
  return Event(new CopyEvent(*this, uses));
}

bool Context::is_whole(const Buffer& buffer) {
  if (health_.is_lost()) return false;
  Uses uses;
  {
    std::lock_guard lock(mutex_);
    uses = buffer.uses();
  }
  wait_for(*compute_, uses.written);
  wait_for(*copy_, uses.uploaded);
  std::lock_guard lock(mutex_);
  return !losses_.has(uses);
}

void Context::wait_for_all() {
  std::uint64_t computed, copied;
  {
    std::lock_guard lock(mutex_);
    computed = compute_->last();
    copied = copy_->last();
  }
  wait_for(*compute_, computed);
  wait_for(*copy_, copied);
  if (has_unsaved_) save_programs();
}

void Context::synchronize() {
  wait_for_all();
  std::lock_guard lock(mutex_);
  losses_.throw_unreported();
}

bool Context::ended(Queue& queue, std::uint64_t number) {
  std::lock_guard lock(mutex_);
  return queue.done(number);
}

/// Looks for the end of a command for a short while: to sleep and to be woken takes longer than many waits.
template <class Ended>
static void await_briefly(Ended ended) {
  constexpr std::uint64_t kLooking = 150'000;  // ticks: about 50 microseconds
  const std::uint64_t begin = ticks();
  while (!ended() && ticks() - begin < kLooking) sched_yield();
}

void Context::wait_for(Queue& queue, std::uint64_t number) {
  await_briefly([&] { return ended(queue, number); });
  cl_event event = nullptr;
  {
    std::lock_guard lock(mutex_);
    event = queue.pending(number);
    if (event) clRetainEvent(event);  // another thread may see its end first
  }
  if (event) {
    if (left_behind()) health_.check_alive("waiting for it");
    clWaitForEvents(1, &event);  // a failure is found in the event's status
    clReleaseEvent(event);
  }
  std::lock_guard lock(mutex_);
  queue.done(number);
  look_for_failures();
  if (&queue == compute_.get()) look_for_reports();
}

void Context::look_for_failures() {
  for (const Queue::Failure& failed : compute_->take_failures())
    losses_.add(
        {{failed.number}}, ErrorCode::device_failed,
        text(failed.op ? failed.op->op : "a kernel", " failed on ", health_.device, ": ", status_text(failed.status)));
  for (const Queue::Failure& failed : copy_->take_failures()) note_failed_copy(failed);
  take_reports();
}

void Context::settle_losses() {
  const std::uint64_t computed = compute_->ended(), copied = copy_->ended();  // while one looks, more of them end
  look_for_failures();
  look_for_reports();
  losses_.settle(reporters_.empty() ? computed : std::min(computed, reporters_.front().number - 1), copied);
}

void Context::note_failed_copy(const Queue::Failure& failed) {
  const bool up = failed.transfer == Transfer::to_device;
  const Decision* const op = up ? compute_->op_from(failed.before + 1) : compute_->op_until(failed.before);
  const std::string near = op ? text(up ? " before " : " after ", op->op) : "";
  losses_.add({{failed.number, true}}, ErrorCode::device_failed,
              up ? text("a copy from the host to ", health_.device, near, " failed: ", status_text(failed.status))
                 : text("a copy from ", health_.device, " to the host", near, " failed: ", status_text(failed.status)));
}

int Context::error_site(const std::string& op) {
  std::lock_guard lock(mutex_);
  auto found = std::find(sites_.begin(), sites_.end(), op);
  if (found == sites_.end()) found = sites_.insert(sites_.end(), op);
  return static_cast<int>(found - sites_.begin()) + 1;
}

}  // namespace tandem::opencl
