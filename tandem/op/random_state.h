// Where random numbers come from: a seed and a count of calls. Sample i of call c is Philox(seed, c, i), whatever
// the device, the thread count and the sharding.
#pragma once
#include <atomic>
#include <cstdint>

namespace tandem {

class RandomState {
 public:
  /// The words of one random call: two of key, two of counter.
  struct Call {
    std::int64_t key;
    std::int64_t counter;
  };
  void set_seed(std::uint64_t seed) {
    seed_.store(static_cast<std::int64_t>(seed));
    calls_.store(0);
  }
  /// `op_seed` distinguishes ops that the user seeded apart.
  Call next(std::int64_t op_seed = 0) {
    return {seed_.load() ^ (op_seed * 0x5851F42D4C957F2D), calls_.fetch_add(1)};
  }

 private:
  std::atomic<std::int64_t> seed_{0};
  std::atomic<std::int64_t> calls_{0};
};

/// While it lives, random ops of this thread draw from a state of its own: what a worker of an input pipeline makes
/// depends on the element only, whichever thread makes it.
class ScopedRandomState {
 public:
  explicit ScopedRandomState(std::uint64_t seed) : outer_(current_) {
    state_.set_seed(seed);
    current_ = &state_;
  }
  ~ScopedRandomState() { current_ = outer_; }
  ScopedRandomState(const ScopedRandomState&) = delete;
  ScopedRandomState& operator=(const ScopedRandomState&) = delete;
  static RandomState* current() { return current_; }

 private:
  static inline thread_local RandomState* current_ = nullptr;
  RandomState state_;
  RandomState* outer_;
};

/// The thread's, or the process's; the first seed of that is drawn from the system. Defined by the runtime.
RandomState& random_state();

}  // namespace tandem
