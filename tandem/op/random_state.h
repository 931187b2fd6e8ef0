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

/// The process's; its first seed is drawn from the system. Defined by the runtime.
RandomState& random_state();

}  // namespace tandem
