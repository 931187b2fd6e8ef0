// What a thread does while the devices it has given work to compute: gathering the next batch, for one.
#pragma once
#include <functional>

namespace tandem {

/// While it lives, the first plan that this thread runs calls `task` once: when devices with memory of their own have got
/// their work, and before the host waits for what they make. A plan without such a point never calls it.
class Meanwhile {
 public:
  explicit Meanwhile(std::function<void()> task);
  ~Meanwhile();
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;

  /// Now is the time.
  static void call();

 private:
  std::function<void()> task_;
  Meanwhile* outer_;
};

}  // namespace tandem
