#include "tandem/exec/plan.h"

#include "tandem/exec/frame.h"

namespace tandem {

Plan::Plan() = default;
Plan::~Plan() = default;

void Plan::run(std::span<const TensorRef> arguments, std::span<Tensor> results, RunTimes* times) const {
  struct Lease {
    const Plan& plan;
    std::unique_ptr<Frame> frame = plan.take_frame();
    ~Lease() {
      frame->clear();
      plan.give_back(std::move(frame));
    }
  } lease{*this};
  lease.frame->run(arguments, results, times);
}

void Plan::drop_frames() const {
  std::vector<std::unique_ptr<Frame>> dropped;
  std::lock_guard lock(mutex_);
  dropped.swap(frames_);
}

std::unique_ptr<Frame> Plan::take_frame() const {
  {
    std::lock_guard lock(mutex_);
    if (!frames_.empty()) {
      auto frame = std::move(frames_.back());
      frames_.pop_back();
      return frame;
    }
  }
  return std::make_unique<Frame>(*this);
}

void Plan::give_back(std::unique_ptr<Frame> frame) const {
  std::lock_guard lock(mutex_);
  frames_.push_back(std::move(frame));
}

std::size_t Plan::arena_bytes() const {
  std::size_t bytes = 0;
  for (const Arena& arena : arenas_) bytes += arena.bytes;
  return bytes;
}

std::vector<const Decision*> Plan::decisions() const {
  std::vector<const Decision*> decisions;
  for (const Instruction& instruction : instructions_) decisions.push_back(instruction.call->decision);
  return decisions;
}

}  // namespace tandem
