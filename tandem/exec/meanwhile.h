// What a thread does while the devices it has given work to compute: gathering the next batch, for one.
#pragma once
#include <functional>

namespace tandem {

class Plan;

/// While it lives, the first plan that this thread runs calls `task` once, with itself: when devices with memory of
/// their own have got their work, and before the host waits for what they make. A plan without such a point never calls
/// it.
class Meanwhile {
 public:
  using Task = std::function<void(const Plan&)>;
  explicit Meanwhile(Task task);
  ~Meanwhile();
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;

  /// Now is the time.
  static void call(const Plan& running);
  /// Has this thread a task that no plan has called yet?
  static bool has_task();

 private:
  Task task_;
  Meanwhile* outer_;
};

}  // namespace tandem
