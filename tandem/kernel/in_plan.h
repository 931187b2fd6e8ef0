// Whether the calling thread runs a plan: for kernels that share a little work out when they are called by themselves.
#pragma once
#include <utility>

namespace tandem {

/// In a plan most of what a kernel reads was written on this core just before. Work of a few microseconds then ends
/// sooner here than shared with a core that has to fetch its part.
class InPlan {
 public:
  InPlan() : before_(std::exchange(running_, true)) {}
  ~InPlan() { running_ = before_; }
  InPlan(const InPlan&) = delete;
  InPlan& operator=(const InPlan&) = delete;

  static bool running() { return running_; }

 private:
  static inline thread_local bool running_ = false;
  bool before_;
};

}  // namespace tandem
