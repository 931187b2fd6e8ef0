// Whether plans were compared while others had the cores, and when these have gone: then it is worth doing again.
#pragma once
#include <functional>

namespace tandem {

class TrialWatch {
 public:
  /// The share of the cores' time that others had since it was asked last.
  using OthersShare = std::function<double()>;
  explicit TrialWatch(OthersShare others);
  /// Of this process's cores.
  TrialWatch();

  /// Between two steps; `comparing`: plans are being tried. True once it is quiet again after trials that were not.
  bool quiet_again(bool comparing, double now_s);

 private:
  enum class State { trusting, comparing, doubtful };
  OthersShare others_;
  State state_ = State::trusting;
  double asked_s_ = 0;
};

}  // namespace tandem
