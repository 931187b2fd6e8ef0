// Where random numbers come from: a seed and a count of calls. Sample i of call c is Philox(seed, c, i), whatever
// the device, the thread count and the sharding.
#pragma once
#include <atomic>
#include <cstdint>

#include "tandem/base/error.h"

namespace tandem {

class RandomState {
 public:
  /// The words of one random call: two of key, two of counter.
  struct Call {
    std::int64_t key;
    std::int64_t counter;
  };
  /// `initial`: the seed of a user who has set none.
  explicit RandomState(std::uint64_t initial = 0) : seed_(static_cast<std::int64_t>(initial)) {}
  void set_seed(std::uint64_t seed) {
    seed_.store(static_cast<std::int64_t>(seed));
    calls_.store(0);
    seeded_.store(true);
  }
  /// Where the numbers stand: what a training that was interrupted goes on from.
  struct Position {
    std::int64_t seed, calls;
  };
  Position position() const { return {seed_.load(), calls_.load()}; }
  void set_position(Position position) {
    set_seed(static_cast<std::uint64_t>(position.seed));
    calls_.store(position.calls);
  }
  /// From now on next() throws seed_needed when neither the user nor the op has set a seed.
  void require_seed() { seed_required_.store(true); }
  /// `op_seed` distinguishes ops that the user seeded apart. While a function is traced nothing is drawn: the words
  /// name the op, and each run of the graph takes draw(key) for them.
  Call next(std::int64_t op_seed = 0) {
    if (seed_required_.load() && !seeded_.load() && op_seed == 0) [[unlikely]]
      fail(ErrorCode::seed_needed,
           "Random ops require a seed to be set when determinism is enabled. Please set a seed before "
           "running the op, e.g. by calling tf.random.set_seed(1).");
    const std::int64_t key = op_seed * 0x5851F42D4C957F2D;
    return tracing() ? Call{key, 0} : draw(key);
  }
  /// The words of a call whose op has this key, seed and counter of the process included.
  Call draw(std::int64_t key) { return {seed_.load() ^ key, calls_.fetch_add(1)}; }

  /// True on a thread that traces.
  static bool& tracing() {
    thread_local bool on = false;
    return on;
  }

 private:
  std::atomic<std::int64_t> seed_{0};
  std::atomic<std::int64_t> calls_{0};
  std::atomic<bool> seeded_{false}, seed_required_{false};
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
