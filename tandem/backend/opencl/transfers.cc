// Copies between the host and the device, waiting for them, and what is found to have gone wrong by then.
#include <algorithm>
#include <cstring>

#include "tandem/backend/opencl/context.h"
#include "tandem/backend/opencl/error_tag.h"

namespace tandem::opencl {

/// The end of a copy. A failure of the op whose result was copied stays in it: everybody who waits is told.
class CopyEvent final : public EventState {
 public:
  CopyEvent(Context& context, std::uint64_t copy, std::uint64_t written) : context_(context), copy_(copy), written_(written) {}
  bool done() const override { return context_.ended(*context_.copy_, copy_); }
  void wait() override {
    context_.wait_for(*context_.copy_, copy_);
    if (context_.has_unsaved_) context_.save_programs();
    std::lock_guard lock(context_.mutex_);
    context_.throw_if_lost(written_);
  }

 private:
  Context& context_;
  std::uint64_t copy_, written_;
};

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
  uses.copy = copy_->enqueue(
      "copying from the host", compute_->pending(uses.compute), nullptr, Transfer::to_device,
      [&](cl_uint count, const cl_event* after, cl_event* event) {
        return clEnqueueWriteBuffer(copy_->get(), to.memory.get(), CL_FALSE, 0, bytes, staged ? staged : from, count, after, event);
      });
  uses.written = 0;
  if (staged) return staging_->taken_by(uses.copy), Event();
  return Event(new CopyEvent(*this, uses.copy, 0));
}

Event Context::download(void* to, const Buffer& from, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  Uses& uses = from.uses();
  if (bytes)
    uses.copy = copy_->enqueue("copying to the host", compute_->pending(uses.compute), nullptr, Transfer::to_host,
                               [&](cl_uint count, const cl_event* after, cl_event* event) {
                                 return clEnqueueReadBuffer(copy_->get(), from.memory.get(), CL_FALSE, 0, bytes, to, count,
                                                            after, event);
                               });
  return Event(new CopyEvent(*this, uses.copy, uses.written));
}

void Context::fill(Buffer& to, const void* pattern, std::size_t pattern_bytes, std::size_t bytes) {
  if (!bytes) return;
  std::lock_guard lock(mutex_);
  Uses& uses = to.uses();
  uses.compute = uses.written = compute_->enqueue(
      "filling a buffer", copy_->pending(uses.copy), running(), Transfer::none,
      [&](cl_uint count, const cl_event* after, cl_event* event) {
        return clEnqueueFillBuffer(compute_->get(), to.memory.get(), pattern, pattern_bytes, 0, bytes, count, after, event);
      });
}

void Context::synchronize() {
  std::uint64_t computed, copied;
  {
    std::lock_guard lock(mutex_);
    computed = compute_->last();
    copied = copy_->last();
  }
  wait_for(*compute_, computed);
  wait_for(*copy_, copied);
  if (has_unsaved_) save_programs();
  std::lock_guard lock(mutex_);
  for (Lost& lost : lost_)
    if (!std::exchange(lost.reported, true)) throw Error(lost.code, lost.message);
}

bool Context::ended(Queue& queue, std::uint64_t number) {
  std::lock_guard lock(mutex_);
  return queue.done(number);
}

void Context::wait_for(Queue& queue, std::uint64_t number) {
  cl_event event = nullptr;
  {
    std::lock_guard lock(mutex_);
    event = queue.pending(number);
    if (event) clRetainEvent(event);  // another thread may see its end first
  }
  if (event) {
    clWaitForEvents(1, &event);  // a failure is found in the event's status
    clReleaseEvent(event);
  }
  std::lock_guard lock(mutex_);
  queue.done(number);
  look_for_failures();
}

void Context::look_for_failures() {
  if (const Queue::Failure failed = compute_->take_failure(); failed.number)
    note_loss(failed.number, ErrorCode::device_failed,
              text(failed.op ? failed.op->op : "a kernel", " failed on ", device_name_, ": ", status_text(failed.status)));
  if (const Queue::Failure failed = copy_->take_failure(); failed.number)
    note_loss(0, ErrorCode::device_failed, text("a copy failed on ", device_name_, ": ", status_text(failed.status)));
  // Before a launch that may report has ended the word says nothing about it.
  if (!reporters_.empty() && compute_->done(reporters_.front().number)) read_error_word();
}

void Context::read_error_word() {
  ErrorReport report{};
  std::size_t finished = 0;
  while (finished < reporters_.size() && compute_->done(reporters_[finished].number)) ++finished;
  check(clEnqueueReadBuffer(reports_.get(), error_word_.memory.get(), CL_TRUE, 0, sizeof(report), &report, 0, nullptr, nullptr),
        "reading the error word");
  if (report.tag) note_report(report);
  reporters_.erase(reporters_.begin(), reporters_.begin() + static_cast<std::ptrdiff_t>(finished));
}

void Context::note_report(const ErrorReport& report) {
  const auto found = std::ranges::find(reporters_, report.tag, [](const Reporter& r) { return error_tag(r.number); });
  TANDEM_CHECK(found != reporters_.end(), "no launch is known as ", report.tag);
  note_loss(found->number, ErrorCode::index_out_of_range,
            text(sites_[static_cast<std::size_t>(found->site) - 1], ": index ", report.value, " at position ", report.position,
                 " is outside 0..", report.limit - 1, " (on ", device_name_, ")"));
  const ErrorReport zeros{};
  check(clEnqueueWriteBuffer(reports_.get(), error_word_.memory.get(), CL_TRUE, 0, sizeof(zeros), &zeros, 0, nullptr, nullptr),
        "clearing the error word");
}

void Context::note_loss(std::uint64_t first, ErrorCode code, std::string message) {
  constexpr std::size_t kMostRemembered = 64;
  if (lost_.size() == kMostRemembered) lost_.erase(lost_.begin());
  lost_.push_back({first, compute_->last(), code, std::move(message)});
}

void Context::throw_if_lost(std::uint64_t number) {
  for (Lost& lost : lost_) {
    if (number < lost.first || number > lost.last) continue;
    lost.reported = true;
    throw Error(lost.code, lost.message);
  }
}

int Context::error_site(const std::string& op) {
  std::lock_guard lock(mutex_);
  auto found = std::find(sites_.begin(), sites_.end(), op);
  if (found == sites_.end()) found = sites_.insert(sites_.end(), op);
  return static_cast<int>(found - sites_.begin()) + 1;
}

}  // namespace tandem::opencl
