// Whether the stages and bundles of a plan end sooner on several cores or on one: tried while it runs, now and then
// again.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace tandem {

/// Cores of a virtual machine may share a cache, or sit on dies apart: then what they exchange takes four times as
/// long, and a step of 40 µs takes 80. Nobody says which it is, and it changes. Results do not depend on it.
class StageTrial {
 public:
  /// Before the first stage of a run and after the last, on the thread that runs the plan.
  void begin();
  void end();
  /// Around each stage; ops between them take as long either way.
  std::uint64_t start() const;
  void add(std::uint64_t start) const;
  /// Do the cores go through stages together?
  bool together() const;

  /// What the stages of one run took; `together`: how it ran. For tests, as end() does it.
  void note(std::uint64_t ticks, bool together);

 private:
  void choose();

  static constexpr int kSkipped = 2,
                       kTaken = 5;  // runs of a trial: the first find their data in the other core's cache
  static constexpr int kFirstPeriod = 256, kLongestPeriod = 8192;  // runs between trials

  std::atomic<bool> together_{false};
  std::atomic<int> settled_{0};  // runs until the next trial
  std::mutex mutex_;             // of what follows; who comes second does not wait
  int seen_ = 0;
  bool before_ = false;                          // how it ran before the trial
  bool other_ = false;                           // the other way is being tried
  int period_ = kFirstPeriod / 2;
  std::array<std::uint64_t, kTaken> taken_ = {};
  std::array<std::uint64_t, 2> median_ = {};     // of runs on one core, and together
};

/// As measured; or, for tests, always together, in every plan, or never.
enum class StageUse { measured, together, alone };
void set_stage_use(StageUse use);
StageUse stage_use();

}  // namespace tandem
